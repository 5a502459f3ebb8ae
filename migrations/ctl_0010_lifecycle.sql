-- When an unused sandbox is stopped and deleted, beside sleep_after_ms; 0:
-- never. expires_at is the next of the three, 0 for none: the time that a
-- sweep looks for. It was the end that delete_after_ms now stands for.
ALTER TABLE sandboxes ADD COLUMN stop_after_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sandboxes ADD COLUMN delete_after_ms INTEGER NOT NULL DEFAULT 0;

UPDATE sandboxes SET delete_after_ms = expires_at - created_at
WHERE expires_at > created_at;

UPDATE sandboxes SET expires_at = CASE
	WHEN keep_alive <> 0 THEN 0
	WHEN state = 'running' AND sleep_after_ms > 0
		AND (delete_after_ms = 0 OR sleep_after_ms < delete_after_ms)
		THEN last_active_at + sleep_after_ms
	WHEN delete_after_ms > 0 THEN last_active_at + delete_after_ms
	ELSE 0 END;

CREATE INDEX sandboxes_due ON sandboxes (expires_at) WHERE expires_at > 0;
CREATE INDEX sandboxes_awake ON sandboxes (id)
	WHERE state IN ('running', 'sleeping');
