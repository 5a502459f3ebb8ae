-- Backups of directories. state: 'making', 'ready', 'deleting' (its owner does
-- not want it), 'expiring' (its time is over), 'expired' (nothing is stored any
-- more; what was asked for is known for a while). size_bytes counts against
-- its tenant's backup_bytes, in every state; while it is made it is what was
-- reserved so far. A backup outlives the sandbox that it was made of.
CREATE TABLE backups (
	id TEXT NOT NULL PRIMARY KEY,
	tenant_id TEXT NOT NULL REFERENCES tenants (id),
	sandbox_id TEXT NOT NULL, -- maybe gone
	sandbox_name TEXT NOT NULL,
	state TEXT NOT NULL,
	place TEXT NOT NULL, -- 'file' or 's3'
	dir BLOB NOT NULL,
	name TEXT NOT NULL,
	archive_path TEXT NOT NULL, -- what the caller calls it in its sandbox
	size_bytes INTEGER NOT NULL,
	entries INTEGER NOT NULL,
	content_bytes INTEGER NOT NULL, -- of its files
	hash BLOB NOT NULL, -- SHA-256 of the archive
	created_at INTEGER NOT NULL,
	expires_at INTEGER NOT NULL
) STRICT;

CREATE INDEX backups_tenant ON backups (tenant_id, size_bytes);
CREATE INDEX backups_time ON backups (tenant_id, created_at, id);
CREATE INDEX backups_path ON backups (sandbox_id, archive_path);
CREATE INDEX backups_state ON backups (state, expires_at);

-- How much a tenant may have stored. 0 of a tenant: as its plan.
ALTER TABLE plans ADD COLUMN backup_bytes INTEGER NOT NULL DEFAULT 10737418240;
ALTER TABLE tenant_limits ADD COLUMN backup_bytes INTEGER NOT NULL DEFAULT 0;
