-- How many sandboxes a tenant may have at a time. 0 of a tenant: as its plan.
ALTER TABLE plans ADD COLUMN sandboxes INTEGER NOT NULL DEFAULT 1000;
ALTER TABLE tenant_limits ADD COLUMN sandboxes INTEGER NOT NULL DEFAULT 0;
