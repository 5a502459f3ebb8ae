#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/ctl_audit.h"
#include "store/warren_cli.h"

static enum err cli_become(uid_t uid, gid_t gid, struct errinfo *e)
{
	if (setgroups(0, NULL) != 0 || setresgid(gid, gid, gid) != 0 ||
	    setresuid(uid, uid, uid) != 0)
		return err_set(e, ERR_IO, errno,
			       "cannot become the owner of the databases");
	return ERR_NONE;
}

enum err warren_cli_drop(struct cli *cli, struct errinfo *e)
{
	struct stat st;

	if (stat(cli->db_dir, &st) != 0 && errno != EACCES)
		return err_set(e, ERR_NOT_FOUND, 0,
			       "there is no %.150s: run warren migrate first",
			       cli->db_dir);
	if (access(cli->db_dir, R_OK | W_OK | X_OK) != 0)
		return err_set(e, ERR_DENIED, errno,
			       "only root and " WARREN_USER
			       " may use %.120s (sudo warren ...)",
			       cli->db_dir);
	if (geteuid() != 0)
		return ERR_NONE;
	if (st.st_uid == 0)
		return err_set(e, ERR_DENIED, 0,
			       "%.120s belongs to root, but the workers are "
			       "user " WARREN_USER ": chown it",
			       cli->db_dir);
	return cli_become(st.st_uid, st.st_gid, e);
}

static enum err cli_mkdir(const char *path, mode_t mode, struct errinfo *e)
{
	if (mkdir(path, 0700) != 0) {
		if (errno == EEXIST)
			return ERR_NONE;
		return err_set(e, ERR_IO, errno, "cannot make %.180s", path);
	}
	/* Past the umask, which is for the files. */
	if (chmod(path, mode) != 0)
		return err_set(e, ERR_IO, errno, "cannot make %.180s", path);
	return ERR_NONE;
}

enum err warren_cli_make_dirs(struct cli *cli, struct errinfo *e)
{
	const struct passwd *pw = NULL;
	struct stat st;
	enum err r;

	if (stat(cli->db_dir, &st) == 0)
		return ERR_NONE;
	if (geteuid() == 0) {
		pw = getpwnam(WARREN_USER);
		if (pw == NULL)
			return err_set(e, ERR_NOT_FOUND, 0,
				       "there is no user " WARREN_USER
				       " to own the databases: adduser "
				       "--system --group " WARREN_USER);
	}
	r = cli_mkdir(cli->data, 0755, e);
	if (r == ERR_NONE)
		r = cli_mkdir(cli->db_dir, 0700, e);
	if (r != ERR_NONE || pw == NULL)
		return r;
	if (chown(cli->db_dir, pw->pw_uid, pw->pw_gid) != 0)
		return err_set(e, ERR_IO, errno, "cannot give %.180s away",
			       cli->db_dir);
	return ERR_NONE;
}

enum err warren_cli_open(struct cli *cli, struct store_conn **c,
			 struct errinfo *e)
{
	enum err r = warren_cli_drop(cli, e);

	return r == ERR_NONE ? store_open(cli->data, c, e) : r;
}

enum err warren_cli_audit(struct store_conn *c, const char *tenant,
			  const char *action, const char *target,
			  struct errinfo *e)
{
	const struct ctl_audit a = {.tenant = tenant,
				    .actor = "operator",
				    .action = action,
				    .target = target};

	return ctl_audit_add(c, &a, e);
}
