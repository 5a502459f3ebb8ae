-- Logs are bounded by bytes for each execution, sandbox and tenant, and by
-- age. first_at is the time of a log's oldest chunk: the log with the least
-- gives way. gone: nobody may read it any more, and the recorder frees it a
-- piece at a time. data_bytes is all that was ever printed into it.

ALTER TABLE logs ADD COLUMN tenant_id TEXT NOT NULL DEFAULT '';
ALTER TABLE logs ADD COLUMN first_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE logs ADD COLUMN gone INTEGER NOT NULL DEFAULT 0;
ALTER TABLE logs ADD COLUMN data_bytes INTEGER NOT NULL DEFAULT 0;

UPDATE logs SET
	first_at = coalesce((SELECT c.at FROM chunks c WHERE c.log_id = logs.id
		ORDER BY c.seq LIMIT 1), 0),
	data_bytes = coalesce((SELECT sum(length(c.data)) FROM chunks c
		WHERE c.log_id = logs.id AND c.kind IN (1, 2)), 0);

DROP INDEX logs_holding;
CREATE INDEX logs_age ON logs (first_at) WHERE bytes > 0;
CREATE INDEX logs_sandbox_age ON logs (sandbox_id, first_at) WHERE bytes > 0;
CREATE INDEX logs_tenant_age ON logs (tenant_id, first_at) WHERE bytes > 0;
CREATE INDEX logs_gone ON logs (id) WHERE gone = 1;

CREATE TABLE tenant_logs (
	tenant_id TEXT NOT NULL PRIMARY KEY,
	bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
