/* Images beside "host": import, list, remove. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "store/sql_query.h"
#include "store/warren_image_dir.h"

/* ---- who uses it ---- */

struct users {
	const char *image;
	int64_t n;
};

static enum err users_head(void *arg, const char *const *names, size_t n,
			   struct errinfo *e)
{
	(void)arg;
	(void)names;
	return n == 2 ? ERR_NONE : err_set(e, ERR_STORE, 0, "columns");
}

static enum err users_row(void *arg, const struct sql_value *v, size_t n,
			  struct errinfo *e)
{
	struct users *u = arg;

	(void)e;
	if (n == 2 && v[0].len == strlen(u->image) &&
	    memcmp(v[0].data, u->image, v[0].len) == 0)
		u->n = v[1].i;
	return ERR_NONE;
}

/* As user warren, who alone opens the databases. */
static enum err users_ask(struct cli *cli, struct users *u, struct errinfo *e)
{
	const struct sql_caps caps = SQL_CAPS_DEFAULT;
	const struct sql_sink sink = {u, users_head, users_row};
	enum err r = warren_cli_drop(cli, e);

	return r != ERR_NONE
		   ? r
		   : sql_query_run(cli->data,
				   "SELECT image, count(*) FROM sandboxes "
				   "GROUP BY image",
				   &caps, &sink, e);
}

struct users_word {
	int64_t n;
	struct errinfo e;
};

/* We stay root. */
static enum err users_count(struct cli *cli, const char *image, int64_t *n,
			    struct errinfo *e)
{
	struct users_word w = {.e = {.code = ERR_NONE}};
	int pair[2];
	ssize_t got;
	pid_t pid;

	if (pipe(pair) != 0)
		return err_set(e, ERR_IO, errno, "pipe");
	pid = fork();
	if (pid == 0) {
		struct users u = {.image = image};

		w.e.code = users_ask(cli, &u, &w.e);
		w.n = u.n;
		_exit(write(pair[1], &w, sizeof(w)) != (ssize_t)sizeof(w));
	}
	close(pair[1]);
	got = pid > 0 ? read(pair[0], &w, sizeof(w)) : -1;
	close(pair[0]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	if (got != (ssize_t)sizeof(w))
		return err_set(e, ERR_STORE, 0, "the databases cannot be read");
	*n = w.n;
	if (w.e.code != ERR_NONE)
		*e = w.e;
	return w.e.code;
}

static enum err image_audit(struct cli *cli, const char *action,
			    struct errinfo *e)
{
	OWN(store_close) struct store_conn *c = NULL;
	enum err r = warren_cli_open(cli, &c, e);

	return r == ERR_NONE ? warren_cli_audit(c, "", action, cli->args[0], e)
			     : r;
}

/* ---- import ---- */

static void image_print(const char *name, const struct image_about *a)
{
	static const char *const has[] = {"bash", "python", "node"};
	const char *comma = "";
	char when[32] = "-";
	time_t t = (time_t)a->imported;
	struct tm tm;

	if (a->imported > 0 && gmtime_r(&t, &tm) != NULL)
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
	printf("%s\timported=%s", name, when);
	if (a->imported == 0)
		return;
	printf(
	    "\tfiles=%llu\tMiB=%llu\thas=", (unsigned long long)a->done.files,
	    (unsigned long long)(a->done.bytes >> 20));
	for (int i = 0; i < 3; i++)
		if ((a->done.has & 1U << i) != 0) {
			printf("%s%s", comma, has[i]);
			comma = ",";
		}
}

/* Into a directory that only root can enter. */
static enum err import_tree(int dir, const char *temp, int archive,
			    struct image_about *about, struct errinfo *e)
{
	OWN(own_fd) int image = -1;
	OWN(own_fd) int root = -1;
	enum err r;

	if (mkdirat(dir, temp, 0700) != 0)
		return err_set(e, ERR_IO, errno, "images/%s", temp);
	image = openat(dir, temp, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	if (image >= 0 && mkdirat(image, "rootfs", 0700) == 0)
		root = openat(image, "rootfs",
			      O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	if (root < 0)
		return err_set(e, ERR_IO, errno, "images/%s", temp);
	r = warren_unpack(archive, root, &about->done, e);
	about->imported = (int64_t)time(NULL);
	return r == ERR_NONE ? warren_image_dir_note(image, about, e) : r;
}

static enum err import_into(struct cli *cli, int archive,
			    struct image_about *about, struct errinfo *e)
{
	OWN(own_fd) int dir = -1;
	const char *name = cli->args[0];
	struct errinfo ignored;
	char temp[64];
	enum err r = warren_image_dir_lock(cli, &dir, e);

	if (r != ERR_NONE)
		return r;
	if (warren_image_dir_has(dir, name))
		return err_set(e, ERR_EXISTS, 0,
			       "there is an image %s: remove it first, or "
			       "choose another name",
			       name);
	warren_image_dir_temp(name, IMAGE_COMING, temp);
	r = import_tree(dir, temp, archive, about, e);
	if (r == ERR_NONE)
		r = warren_image_dir_move(dir, temp, name, e);
	if (r != ERR_NONE &&
	    warren_image_dir_remove(dir, temp, &ignored) != ERR_NONE)
		fprintf(stderr, "warren: %s\n", ignored.text);
	return r;
}

enum err warren_image_import(struct cli *cli, struct errinfo *e)
{
	OWN(own_fd) int archive = -1;
	const char *file = cli->args[1];
	struct image_about about;
	enum err r = warren_image_dir_name(cli->args[0], e);

	if (r != ERR_NONE)
		return r;
	archive = strcmp(file, "-") == 0
		      ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
		      : open(file, O_RDONLY | O_CLOEXEC);
	if (archive < 0)
		return err_set(e, ERR_NOT_FOUND, errno, "%.180s", file);
	r = import_into(cli, archive, &about, e);
	if (r != ERR_NONE)
		return r;
	image_print(cli->args[0], &about);
	printf("\n");
	if (about.done.nobody > 0)
		printf("%u files belong to nobody now: their owners' ids are "
		       "above 65535\n",
		       about.done.nobody);
	if ((about.done.has & UNPACK_BASH) == 0)
		printf("It has no /bin/bash: sessions are refused, and "
		       "commands without one run by /bin/sh\n");
	return image_audit(cli, "image.import", e);
}

/* ---- list ---- */

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_image(const struct dirent *entry)
{
	return entry->d_type == DT_DIR && entry->d_name[0] != '.' &&
	       strlen(entry->d_name) <= IMAGE_NAME_MAX &&
	       strchr(entry->d_name, '.') == NULL;
}

enum err warren_image_list(struct cli *cli, struct errinfo *e)
{
	OWN(own_fd) int dir = -1;
	struct dirent **names = NULL;
	enum err r = warren_image_dir_open(cli, &dir, e);
	int n;

	if (r != ERR_NONE)
		return r;
	n = scandirat(dir, ".", &names, is_image, by_name);
	if (n < 0)
		return err_set(e, ERR_IO, errno, "images");
	for (int i = 0; i < n; i++) {
		struct image_about about;
		int64_t users = 0;

		warren_image_dir_about(dir, names[i]->d_name, &about);
		if (r == ERR_NONE)
			r = users_count(cli, names[i]->d_name, &users, e);
		if (r == ERR_NONE) {
			image_print(names[i]->d_name, &about);
			printf("\tsandboxes=%lld\n", (long long)users);
		}
		free(names[i]);
	}
	free(names);
	return r;
}

/* ---- remove ---- */

static enum err remove_used(const char *name, int64_t users, struct errinfo *e)
{
	return err_set(e, ERR_STATE, 0,
		       "%lld sandbox%s image %s: destroy them first, or add "
		       "--force, after which they do not start any more and "
		       "those that run lose its files",
		       (long long)users, users == 1 ? " has" : "es have", name);
}

enum err warren_image_remove(struct cli *cli, struct errinfo *e)
{
	OWN(own_fd) int dir = -1;
	const char *name = cli->args[0];
	char held[64], going[64];
	int64_t users = 0;
	enum err r = warren_image_dir_name(name, e);

	if (r == ERR_NONE)
		r = warren_image_dir_lock(cli, &dir, e);
	if (r != ERR_NONE)
		return r;
	if (!warren_image_dir_has(dir, name))
		return err_set(e, ERR_NOT_FOUND, 0,
			       "there is no image %s: see warren image list",
			       name);
	/* Out of reach first: nobody begins to use it while we look. */
	warren_image_dir_temp(name, IMAGE_HELD, held);
	warren_image_dir_temp(name, IMAGE_GOING, going);
	r = warren_image_dir_move(dir, name, held, e);
	if (r == ERR_NONE)
		r = users_count(cli, name, &users, e);
	if (r == ERR_NONE && users > 0 && !cli->force)
		r = remove_used(name, users, e);
	if (r != ERR_NONE) {
		struct errinfo ignored;

		if (warren_image_dir_move(dir, held, name, &ignored) !=
		    ERR_NONE)
			fprintf(stderr, "warren: %s\n", ignored.text);
		return r;
	}
	r = warren_image_dir_move(dir, held, going, e);
	if (r == ERR_NONE)
		r = warren_image_dir_remove(dir, going, e);
	if (r != ERR_NONE)
		return r;
	if (users > 0)
		printf("%lld sandbox%s without an image now\n",
		       (long long)users, users == 1 ? " is" : "es are");
	return image_audit(cli, "image.remove", e);
}
