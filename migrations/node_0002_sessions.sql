-- What sessions were made with (their state is the keeper's), the answers that
-- a retried call gets again, and processes whose ids may be used anew.

CREATE TABLE sessions (
	sandbox_id TEXT NOT NULL,
	id TEXT NOT NULL,
	cwd TEXT NOT NULL,
	env TEXT NOT NULL, -- a JSON object; secret
	command_timeout_ms INTEGER NOT NULL, -- 0: none
	created_at INTEGER NOT NULL,
	PRIMARY KEY (sandbox_id, id)
) STRICT;

CREATE TABLE idempotency (
	sandbox_id TEXT NOT NULL, -- or the tenant's, of calls without a sandbox
	key TEXT NOT NULL,
	hash BLOB NOT NULL, -- of the route and body; secret
	made TEXT NOT NULL, -- the id of what the call makes
	answer TEXT NOT NULL, -- '' until there is one; secret
	created_at INTEGER NOT NULL,
	PRIMARY KEY (sandbox_id, key)
) STRICT;

CREATE INDEX idempotency_time ON idempotency (sandbox_id, created_at);

-- A process' name among keepers and logs: never used twice, unlike its id.
ALTER TABLE processes ADD COLUMN exec_id TEXT NOT NULL DEFAULT '';
ALTER TABLE processes ADD COLUMN session_id TEXT NOT NULL DEFAULT '';
-- Why it did not start; '' for one that did.
ALTER TABLE processes ADD COLUMN failure TEXT NOT NULL DEFAULT '';

UPDATE processes SET exec_id = id;

CREATE UNIQUE INDEX processes_exec ON processes (sandbox_id, exec_id);
