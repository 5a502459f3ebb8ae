-- What ended long ago is found by its time and removed.

CREATE INDEX executions_ended ON executions (ended_at) WHERE state = 'ended';
CREATE INDEX processes_ended ON processes (ended_at) WHERE state = 'ended';
CREATE INDEX idempotency_age ON idempotency (created_at);
