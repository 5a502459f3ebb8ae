-- Stored output is bounded for each execution, each sandbox (log_bytes) and
-- each tenant. 0 of a tenant or sandbox: as the plan, or the tenant, says.
ALTER TABLE plans ADD COLUMN process_log_bytes INTEGER NOT NULL
	DEFAULT 67108864;
ALTER TABLE plans ADD COLUMN tenant_log_bytes INTEGER NOT NULL
	DEFAULT 2147483648;
ALTER TABLE tenant_limits ADD COLUMN process_log_bytes INTEGER NOT NULL
	DEFAULT 0;
ALTER TABLE tenant_limits ADD COLUMN tenant_log_bytes INTEGER NOT NULL
	DEFAULT 0;
ALTER TABLE sandboxes ADD COLUMN process_log_bytes INTEGER NOT NULL DEFAULT 0;

-- What every installation began with; one that was changed stays.
UPDATE plans SET log_bytes = 536870912
	WHERE name = 'default' AND log_bytes = 67108864;
