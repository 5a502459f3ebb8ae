-- Who owns what: tenants, their keys, sandboxes and exposed ports; audit.
-- Portable SQL: BIGINT is INTEGER here only because STRICT wants it so.
-- Times are unix milliseconds; 0 means never.

CREATE TABLE tenants (
	id TEXT NOT NULL PRIMARY KEY,
	name TEXT NOT NULL UNIQUE,
	created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE api_keys (
	prefix TEXT NOT NULL PRIMARY KEY,
	tenant_id TEXT NOT NULL REFERENCES tenants (id),
	hash BLOB NOT NULL, -- secret
	scope TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	revoked_at INTEGER NOT NULL DEFAULT 0,
	last_used_at INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX api_keys_tenant ON api_keys (tenant_id);

CREATE TABLE sandboxes (
	id TEXT NOT NULL PRIMARY KEY,
	tenant_id TEXT NOT NULL REFERENCES tenants (id),
	name TEXT NOT NULL,
	state TEXT NOT NULL,
	image TEXT NOT NULL,
	"user" TEXT NOT NULL,
	network TEXT NOT NULL,
	labels TEXT NOT NULL, -- a JSON object
	env TEXT NOT NULL, -- a JSON object; secret
	memory_bytes INTEGER NOT NULL,
	cpu_millis INTEGER NOT NULL,
	pids INTEGER NOT NULL,
	sleep_after_ms INTEGER NOT NULL,
	keep_alive INTEGER NOT NULL,
	expires_at INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	last_active_at INTEGER NOT NULL,
	UNIQUE (tenant_id, name)
) STRICT;

CREATE TABLE ports (
	sandbox_id TEXT NOT NULL REFERENCES sandboxes (id) ON DELETE CASCADE,
	port INTEGER NOT NULL,
	token TEXT NOT NULL, -- secret
	name TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	PRIMARY KEY (sandbox_id, port)
) STRICT;

CREATE TABLE audit (
	id TEXT NOT NULL PRIMARY KEY,
	at INTEGER NOT NULL,
	tenant_id TEXT NOT NULL, -- '' for the operator's own acts
	actor TEXT NOT NULL,
	action TEXT NOT NULL,
	target TEXT NOT NULL
) STRICT;

CREATE INDEX audit_at ON audit (at);
