-- What runs and ran on this node. Workers insert, the recorder sets the end.
-- state is 'running' or 'ended'; reason is one of the closed set, '' before.

CREATE TABLE executions (
	sandbox_id TEXT NOT NULL,
	id TEXT NOT NULL,
	kind TEXT NOT NULL, -- exec, fs, git or run
	context_id TEXT NOT NULL, -- of a run, else ''
	state TEXT NOT NULL,
	command TEXT NOT NULL,
	cwd TEXT NOT NULL,
	started_at INTEGER NOT NULL,
	exit_code INTEGER NOT NULL DEFAULT 0,
	reason TEXT NOT NULL DEFAULT '',
	ended_at INTEGER NOT NULL DEFAULT 0,
	duration_ms INTEGER NOT NULL DEFAULT 0,
	stdout_bytes INTEGER NOT NULL DEFAULT 0,
	stderr_bytes INTEGER NOT NULL DEFAULT 0,
	dropped_bytes INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (sandbox_id, id)
) STRICT;

CREATE INDEX executions_time ON executions (sandbox_id, started_at);
CREATE INDEX executions_running ON executions (sandbox_id)
	WHERE state = 'running';

CREATE TABLE processes (
	sandbox_id TEXT NOT NULL,
	id TEXT NOT NULL,
	state TEXT NOT NULL,
	pid INTEGER NOT NULL DEFAULT 0,
	auto_cleanup INTEGER NOT NULL,
	command TEXT NOT NULL,
	cwd TEXT NOT NULL,
	started_at INTEGER NOT NULL,
	exit_code INTEGER NOT NULL DEFAULT 0,
	reason TEXT NOT NULL DEFAULT '',
	ended_at INTEGER NOT NULL DEFAULT 0,
	duration_ms INTEGER NOT NULL DEFAULT 0,
	stdout_bytes INTEGER NOT NULL DEFAULT 0,
	stderr_bytes INTEGER NOT NULL DEFAULT 0,
	dropped_bytes INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (sandbox_id, id)
) STRICT;

CREATE INDEX processes_time ON processes (sandbox_id, started_at);
CREATE INDEX processes_running ON processes (sandbox_id)
	WHERE state = 'running';

CREATE TABLE contexts (
	sandbox_id TEXT NOT NULL,
	id TEXT NOT NULL,
	kernel_id TEXT NOT NULL, -- the keeper's id of its present kernel
	language TEXT NOT NULL,
	state TEXT NOT NULL, -- of that kernel, as all that follows
	pid INTEGER NOT NULL DEFAULT 0,
	cwd TEXT NOT NULL,
	env TEXT NOT NULL, -- a JSON object; secret
	created_at INTEGER NOT NULL,
	started_at INTEGER NOT NULL,
	exit_code INTEGER NOT NULL DEFAULT 0,
	reason TEXT NOT NULL DEFAULT '',
	ended_at INTEGER NOT NULL DEFAULT 0,
	duration_ms INTEGER NOT NULL DEFAULT 0,
	stdout_bytes INTEGER NOT NULL DEFAULT 0,
	stderr_bytes INTEGER NOT NULL DEFAULT 0,
	dropped_bytes INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (sandbox_id, id),
	UNIQUE (sandbox_id, kernel_id)
) STRICT;

CREATE INDEX contexts_time ON contexts (sandbox_id, created_at);
CREATE INDEX contexts_running ON contexts (sandbox_id)
	WHERE state = 'running';
