-- What tenants and their sandboxes may use. A plan has a value for each
-- limit; a tenant has a plan and may differ from it; a sandbox may ask for
-- less than its tenant's. 0 and '' mean: as the plan, or the tenant, says.
-- Sizes are bytes. network is 'none' or 'internet', the most that a sandbox
-- may ask for; net_allow and net_deny are CIDRs apart by blanks.

CREATE TABLE plans (
	name TEXT NOT NULL PRIMARY KEY,
	memory_bytes INTEGER NOT NULL,
	cpu_millis INTEGER NOT NULL, -- 1000 is one core
	cpu_weight INTEGER NOT NULL, -- of 1 to 10000, when cores are short
	pids INTEGER NOT NULL,
	disk_bytes INTEGER NOT NULL,
	inodes INTEGER NOT NULL,
	open_files INTEGER NOT NULL, -- of one process
	file_size_bytes INTEGER NOT NULL,
	tmp_bytes INTEGER NOT NULL, -- /tmp, and as much again /dev/shm
	contexts INTEGER NOT NULL,
	processes INTEGER NOT NULL, -- background ones at a time
	output_bytes INTEGER NOT NULL, -- of one execution, in an answer
	log_bytes INTEGER NOT NULL, -- stored for a sandbox
	wall_ms INTEGER NOT NULL, -- the longest that an execution runs
	network TEXT NOT NULL,
	net_allow TEXT NOT NULL,
	net_deny TEXT NOT NULL
) STRICT;

INSERT INTO plans VALUES ('default', 1073741824, 1000, 100, 512, 2147483648,
	200000, 65536, 2147483648, 268435456, 64, 64, 10485760, 67108864,
	604800000, 'internet', '', '');

ALTER TABLE tenants ADD COLUMN plan TEXT NOT NULL DEFAULT 'default';

CREATE TABLE tenant_limits (
	tenant_id TEXT NOT NULL PRIMARY KEY
		REFERENCES tenants (id) ON DELETE CASCADE,
	memory_bytes INTEGER NOT NULL,
	cpu_millis INTEGER NOT NULL,
	cpu_weight INTEGER NOT NULL,
	pids INTEGER NOT NULL,
	disk_bytes INTEGER NOT NULL,
	inodes INTEGER NOT NULL,
	open_files INTEGER NOT NULL,
	file_size_bytes INTEGER NOT NULL,
	tmp_bytes INTEGER NOT NULL,
	contexts INTEGER NOT NULL,
	processes INTEGER NOT NULL,
	output_bytes INTEGER NOT NULL,
	log_bytes INTEGER NOT NULL,
	wall_ms INTEGER NOT NULL,
	network TEXT NOT NULL,
	net_allow TEXT NOT NULL,
	net_deny TEXT NOT NULL
) STRICT;

ALTER TABLE sandboxes ADD COLUMN cpu_weight INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sandboxes ADD COLUMN disk_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sandboxes ADD COLUMN inodes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sandboxes ADD COLUMN open_files INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sandboxes ADD COLUMN file_size_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sandboxes ADD COLUMN tmp_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sandboxes ADD COLUMN contexts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sandboxes ADD COLUMN processes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sandboxes ADD COLUMN output_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sandboxes ADD COLUMN log_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sandboxes ADD COLUMN wall_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sandboxes ADD COLUMN net_allow TEXT NOT NULL DEFAULT '';
ALTER TABLE sandboxes ADD COLUMN net_deny TEXT NOT NULL DEFAULT '';
