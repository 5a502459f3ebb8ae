-- What was asked of an exposed port, by all its names: as nginx counted it.

CREATE TABLE port_hits (
	sandbox_id TEXT NOT NULL,
	port INTEGER NOT NULL,
	requests INTEGER NOT NULL,
	bytes_in INTEGER NOT NULL,
	bytes_out INTEGER NOT NULL,
	upstream_errors INTEGER NOT NULL,
	last_hit_at INTEGER NOT NULL,
	PRIMARY KEY (sandbox_id, port)
) STRICT, WITHOUT ROWID;
