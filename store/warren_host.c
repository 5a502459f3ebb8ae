/* warren doctor: the machine. */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#include "base/own.h"
#include "store/warren_doctor.h"

#define BUILT_YEAR 2025       /* an earlier clock is wrong */
#define INOTIFY_INSTANCES 128 /* what a sandbox may have */
#define INOTIFY_WATCHES 65536

static bool host_read(const char *path, char *out, size_t size)
{
	FILE *f = fopen(path, "re");
	bool ok = f != NULL && fgets(out, (int)size, f) != NULL;

	if (f != NULL)
		fclose(f);
	if (ok)
		out[strcspn(out, "\n")] = '\0';
	return ok;
}

static long host_number(const char *path)
{
	char text[64];

	return host_read(path, text, sizeof(text)) ? strtol(text, NULL, 10)
						   : -1;
}

static void host_users(struct check_list *l)
{
	const struct passwd *pw = getpwnam(WARREN_USER);

	if (pw == NULL)
		check_add(l, CHECK_MISSING, "user",
			  "adduser --system --group " WARREN_USER,
			  "there is no user " WARREN_USER);
	else if (pw->pw_uid == 0)
		check_add(l, CHECK_MISSING, "user", "give it a uid of its own",
			  "user " WARREN_USER " is root");
	else
		check_add(l, CHECK_OK, "user", "", WARREN_USER " is uid %u",
			  pw->pw_uid);
	if (getgrnam("www-data") == NULL)
		check_add(l, CHECK_MISSING, "group",
			  "apt-get install nginx, or: addgroup --system "
			  "www-data",
			  "there is no group www-data, nginx's");
}

/* Root makes them; what is said about others is for whoever wonders. */
static void host_user_namespaces(struct check_list *l)
{
	static const char max[] = "/proc/sys/user/max_user_namespaces";
	static const char *const files[] = {
	    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
	    "/proc/sys/kernel/unprivileged_userns_clone"};
	static const long restricts[] = {1, 0};

	if (host_number(max) == 0) {
		check_add(l, CHECK_MISSING, "user namespaces",
			  "sysctl user.max_user_namespaces=65536",
			  "their number is limited to 0");
		return;
	}
	for (size_t i = 0; i < 2; i++)
		if (host_number(files[i]) == restricts[i]) {
			check_add(l, CHECK_OK, "user namespaces", "",
				  "refused to others than root by %s: no "
				  "matter here, the broker is root",
				  strrchr(files[i], '/') + 1);
			return;
		}
	check_add(l, CHECK_OK, "user namespaces", "", "at most %ld",
		  host_number(max));
}

static void host_core_pattern(struct check_list *l)
{
	char text[256] = "";

	host_read("/proc/sys/kernel/core_pattern", text, sizeof(text));
	if (text[0] == '|' || text[0] == '@')
		check_add(l, CHECK_WARN, "core pattern",
			  "sysctl kernel.core_pattern=core (and in "
			  "/etc/sysctl.d), or serve --allow-core-handler",
			  "a crash starts a program as root outside of "
			  "sandboxes, so serve does not start: %.100s",
			  text);
	else
		check_add(l, CHECK_OK, "core pattern", "",
			  "a file, which sandboxes may not write: %.100s",
			  text);
}

/* 1 is for debugging: a program that changed its user, as ours do and sudo
 * does, can be traced and dumped by whoever it became. */
static void host_suid_dumpable(struct check_list *l)
{
	long n = host_number("/proc/sys/fs/suid_dumpable");

	if (n == 1)
		check_add(l, CHECK_WARN, "suid dumpable",
			  "sysctl fs.suid_dumpable=0 (and in /etc/sysctl.d)",
			  "programs that changed their user can be traced");
	else
		check_add(l, CHECK_OK, "suid dumpable", "", "%ld", n);
}

static void host_inotify(struct check_list *l)
{
	long instances = host_number("/proc/sys/fs/inotify/max_user_instances");
	long watches = host_number("/proc/sys/fs/inotify/max_user_watches");

	/* Counted for an id that each sandbox has alone. */
	if (instances < INOTIFY_INSTANCES || watches < INOTIFY_WATCHES)
		check_add(l, CHECK_WARN, "inotify",
			  "sysctl fs.inotify.max_user_instances=128 "
			  "fs.inotify.max_user_watches=65536",
			  "a sandbox gets %ld instances and %ld watches only",
			  instances, watches);
	else
		check_add(l, CHECK_OK, "inotify", "",
			  "%d instances and %d watches for each sandbox",
			  INOTIFY_INSTANCES, INOTIFY_WATCHES);
}

static void host_clock(struct check_list *l)
{
	struct timex t = {.modes = 0};
	time_t now = time(NULL);
	struct tm tm;

	gmtime_r(&now, &tm);
	if (tm.tm_year + 1900 < BUILT_YEAR)
		check_add(l, CHECK_MISSING, "clock",
			  "set it: timedatectl set-ntp true",
			  "it says the year %d", tm.tm_year + 1900);
	else if (adjtimex(&t) == TIME_ERROR || (t.status & STA_UNSYNC) != 0)
		check_add(l, CHECK_WARN, "clock",
			  "timedatectl set-ntp true (or whatever sets this "
			  "machine's clock)",
			  "no program of this machine keeps it right");
	else
		check_add(l, CHECK_OK, "clock", "", "synchronised");
}

/* The first line that a command says, stderr too; its exit status. */
static int host_ask(const char *command, char *out, size_t size)
{
	FILE *f = popen(command, "re");

	out[0] = '\0';
	if (f == NULL)
		return -1;
	if (fgets(out, (int)size, f) == NULL)
		out[0] = '\0';
	out[strcspn(out, "\n")] = '\0';
	while (getc(f) != EOF)
		continue;
	return pclose(f);
}

static void host_nginx(struct check_list *l)
{
	char text[256];

	if (host_ask("nginx -v 2>&1", text, sizeof(text)) != 0)
		check_add(l, CHECK_MISSING, "nginx", "apt-get install nginx",
			  "not installed");
	else
		check_add(l, CHECK_OK, "nginx", "", "%.200s", text);
}

void warren_host(struct doctor *d)
{
	host_users(&d->list);
	host_user_namespaces(&d->list);
	host_core_pattern(&d->list);
	host_suid_dumpable(&d->list);
	host_inotify(&d->list);
	host_clock(&d->list);
	host_nginx(&d->list);
}
