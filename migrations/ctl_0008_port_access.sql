-- Who may see a preview, until when, and the Host that its program gets.

ALTER TABLE ports ADD COLUMN access TEXT NOT NULL DEFAULT 'public';
ALTER TABLE ports ADD COLUMN expires_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ports ADD COLUMN keep_host INTEGER NOT NULL DEFAULT 0;
