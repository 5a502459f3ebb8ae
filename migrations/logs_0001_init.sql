-- Output as numbered events. One row of logs for each execution, so that a
-- chunk's key is short; bytes are counted where they are bounded.

CREATE TABLE logs (
	id INTEGER NOT NULL PRIMARY KEY,
	sandbox_id TEXT NOT NULL,
	exec_id TEXT NOT NULL,
	first_seq INTEGER NOT NULL DEFAULT 1,
	last_seq INTEGER NOT NULL DEFAULT 0,
	ended INTEGER NOT NULL DEFAULT 0,
	bytes INTEGER NOT NULL DEFAULT 0,
	dropped_events INTEGER NOT NULL DEFAULT 0,
	dropped_bytes INTEGER NOT NULL DEFAULT 0,
	UNIQUE (sandbox_id, exec_id)
) STRICT;

-- The oldest log of a sandbox that still holds something.
CREATE INDEX logs_holding ON logs (sandbox_id, id) WHERE bytes > 0;

CREATE TABLE chunks (
	log_id INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	kind INTEGER NOT NULL, -- 1 stdout, 2 stderr, 3 result, 4 error, 5 done, 6 end
	at INTEGER NOT NULL,
	data BLOB NOT NULL,
	PRIMARY KEY (log_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE sandbox_logs (
	sandbox_id TEXT NOT NULL PRIMARY KEY,
	bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
