-- URLs that let whoever has one read or write one file, until they expire, are
-- revoked, or the key that made them is.
CREATE TABLE file_links (
	id TEXT NOT NULL PRIMARY KEY,
	tenant_id TEXT NOT NULL, -- the owner of the sandbox
	sandbox_id TEXT NOT NULL REFERENCES sandboxes (id) ON DELETE CASCADE,
	key_prefix TEXT NOT NULL, -- of the key that made it
	hash BLOB NOT NULL, -- secret
	method TEXT NOT NULL,
	path BLOB NOT NULL,
	download INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	expires_at INTEGER NOT NULL
) STRICT;

CREATE INDEX file_links_sandbox ON file_links (sandbox_id, expires_at);
