-- What a target was called: of a deleted sandbox nothing else says it.
ALTER TABLE audit ADD COLUMN name TEXT NOT NULL DEFAULT '';
