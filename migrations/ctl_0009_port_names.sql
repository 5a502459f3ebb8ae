-- A port may have more names than its own, each with a token, access and time
-- of its own. alias: '' for the port's own, with which the others end.
-- wait_ms: how long a request is held until something listens.

CREATE TABLE ports_new (
	sandbox_id TEXT NOT NULL REFERENCES sandboxes (id) ON DELETE CASCADE,
	port INTEGER NOT NULL,
	alias TEXT NOT NULL,
	token TEXT NOT NULL, -- secret
	name TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	access TEXT NOT NULL,
	expires_at INTEGER NOT NULL,
	keep_host INTEGER NOT NULL,
	wait_ms INTEGER NOT NULL,
	PRIMARY KEY (sandbox_id, port, alias),
	UNIQUE (sandbox_id, port, token)
) STRICT;

INSERT INTO ports_new (sandbox_id, port, alias, token, name, created_at,
	access, expires_at, keep_host, wait_ms)
SELECT sandbox_id, port, '', token, name, created_at, access, expires_at,
	keep_host, 0
FROM ports;

DROP TABLE ports;

ALTER TABLE ports_new RENAME TO ports;
