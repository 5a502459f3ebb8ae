-- The limits that something ran into, as a JSON array of
-- {name, limit, used?, hits}; '' for none.

ALTER TABLE executions ADD COLUMN hits TEXT NOT NULL DEFAULT '';
ALTER TABLE processes ADD COLUMN hits TEXT NOT NULL DEFAULT '';
ALTER TABLE contexts ADD COLUMN hits TEXT NOT NULL DEFAULT '';

-- What was refused to a sandbox, by which policy, how often, when last.
-- seen is the counter of the running sandbox's network as it was when last
-- looked at: that starts anew with each start, count does not.
CREATE TABLE denials (
	sandbox_id TEXT NOT NULL,
	what TEXT NOT NULL,
	policy TEXT NOT NULL,
	count INTEGER NOT NULL,
	last_at INTEGER NOT NULL,
	seen INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (sandbox_id, what, policy)
) STRICT, WITHOUT ROWID;
