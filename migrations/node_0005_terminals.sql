-- A process that is a terminal: its stdin has frames (base/pty_frame.h).

ALTER TABLE processes ADD COLUMN terminal INTEGER NOT NULL DEFAULT 0;
