#include <errno.h>
#include <fcntl.h>
#include <linux/dqblk_xfs.h>
#include <linux/fs.h>
#include <linux/quota.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/disk_parts.h"
#include "sandbox/disk_quota.h"

#define BASIC_BLOCK 512 /* the unit of struct fs_disk_quota */
#define OWN_BYTES (UINT64_C(4096) * DISK_PARTS_DIRS)

/* By a descriptor: no block device's path is needed. */
static int quota(int dir, unsigned command, uint32_t id, void *arg)
{
	return (int)syscall(SYS_quotactl_fd, dir, QCMD(command, PRJQUOTA), id,
			    arg);
}

bool disk_quota_usable(int dir)
{
	struct fs_quota_statv s = {.qs_version = FS_QSTATV_VERSION1};

	return quota(dir, Q_XGETQSTATV, 0, &s) == 0 &&
	       (s.qs_flags & FS_QUOTA_PDQ_ENFD) != 0;
}

uint32_t disk_quota_project(int dir)
{
	struct fsxattr x;

	if (ioctl(dir, FS_IOC_FSGETXATTR, &x) < 0 ||
	    (x.fsx_xflags & FS_XFLAG_PROJINHERIT) == 0 ||
	    x.fsx_projid <= DISK_PROJECT_BASE)
		return 0;
	return x.fsx_projid;
}

int disk_quota_set(int dir, uint32_t project, const struct disk_limits *l)
{
	struct fs_disk_quota q = {
	    .d_version = FS_DQUOT_VERSION,
	    .d_flags = FS_PROJ_QUOTA,
	    .d_fieldmask = FS_DQ_BHARD | FS_DQ_IHARD,
	    .d_id = project,
	    .d_blk_hardlimit = (l->bytes + OWN_BYTES) / BASIC_BLOCK,
	    .d_ino_hardlimit = l->inodes + DISK_PARTS_DIRS,
	};
	struct fsxattr x;

	if (quota(dir, Q_XSETQLIM, project, &q) < 0 ||
	    ioctl(dir, FS_IOC_FSGETXATTR, &x) < 0)
		return -1;
	x.fsx_projid = project;
	x.fsx_xflags |= FS_XFLAG_PROJINHERIT;
	return ioctl(dir, FS_IOC_FSSETXATTR, &x);
}

bool disk_quota_usage(int dir, struct disk_usage *out)
{
	struct fs_disk_quota q = {0};
	uint32_t project = disk_quota_project(dir);

	if (project == 0 || quota(dir, Q_XGETQUOTA, project, &q) < 0)
		return false;
	*out = (struct disk_usage){
	    .limit_bytes = q.d_blk_hardlimit * BASIC_BLOCK,
	    .used_bytes = q.d_bcount * BASIC_BLOCK,
	};
	return true;
}
