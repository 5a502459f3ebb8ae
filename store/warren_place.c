/* warren doctor: the data directory, its disk, the address. */
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <netdb.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "store/warren_doctor.h"

#define SPACE_LEAST (UINT64_C(512) << 20)
#define SPACE_FAIR (UINT64_C(5) << 30)
#define GIB (1024.0 * 1024 * 1024)
#define SERVE "sudo nginx/serve --prepare (with the same --data)"

struct place {
	const char *name; /* below D */
	const char *owner;
	mode_t deny; /* permissions that nobody may have */
	mode_t need; /* and that must be there */
};

static bool place_path(const struct doctor *d, const char *name,
		       char out[PATH_MAX])
{
	return (size_t)snprintf(out, PATH_MAX, "%s/%s", d->data, name) <
	       PATH_MAX;
}

static bool place_owned(const struct stat *st, const char *owner)
{
	const struct passwd *pw = getpwnam(owner);

	return pw != NULL && st->st_uid == pw->pw_uid;
}

/* Appends what is wrong with one directory to ${text}. */
static void place_look(const struct doctor *d, const struct place *p,
		       char *text, size_t size)
{
	size_t n = strlen(text);
	char path[PATH_MAX];
	struct stat st;

	if (!place_path(d, p->name, path) || lstat(path, &st) != 0)
		snprintf(text + n, size - n, " %s: %s;", p->name,
			 strerrordesc_np(errno));
	else if (!S_ISDIR(st.st_mode))
		snprintf(text + n, size - n, " %s is no directory;", p->name);
	else if (!place_owned(&st, p->owner))
		snprintf(text + n, size - n, " %s is not %s's;", p->name,
			 p->owner);
	else if ((st.st_mode & p->deny) != 0 ||
		 (st.st_mode & p->need) != p->need)
		snprintf(text + n, size - n, " %s has mode %04o;", p->name,
			 st.st_mode & 07777U);
}

static void place_directories(struct doctor *d)
{
	static const struct place places[] = {
	    {".", "root", 0022, 0755},
	    {"bin", "root", 0022, 0755},
	    {"db", WARREN_USER, 0027, 0700},
	    {"sandboxes", "root", 0077, 0700},
	    {"images", "root", 0022, 0700},
	    {"images/host", "root", 0077, 0700},
	    {"nginx", "root", 0022, 0710},
	};
	char text[CHECK_TEXT_MAX] = "";

	if (access(d->data, F_OK) != 0) {
		check_add(&d->list, CHECK_MISSING, "directories", SERVE,
			  "%.150s: %s", d->data, strerrordesc_np(errno));
		return;
	}
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		place_look(d, &places[i], text, sizeof(text));
	if (text[0] == '\0')
		check_add(&d->list, CHECK_OK, "directories", "",
			  "%s and what is in it have their owners", d->data);
	else
		check_add(&d->list, CHECK_MISSING, "directories", SERVE,
			  "%.60s:%s", d->data, text);
}

static void place_space(struct doctor *d)
{
	static const char fix[] = "free some, or move --data to a larger disk";
	struct statvfs v;
	enum check_state state = CHECK_OK;
	uint64_t free_bytes;

	if (statvfs(d->data, &v) != 0)
		return; /* told already */
	free_bytes = (uint64_t)v.f_bavail * v.f_frsize;
	if (free_bytes < SPACE_LEAST || (v.f_files > 0 && v.f_favail < 10000))
		state = CHECK_MISSING;
	else if (free_bytes < SPACE_FAIR ||
		 (v.f_files > 0 && v.f_favail < v.f_files / 20))
		state = CHECK_WARN;
	check_add(&d->list, state, "disk space", fix,
		  "%.1f GiB of %.1f GiB and %llu files are free",
		  (double)free_bytes / GIB,
		  (double)v.f_blocks * (double)v.f_frsize / GIB,
		  (unsigned long long)v.f_favail);
}

/* nginx -t as nginx/serve starts it: by the broker of this directory. */
static void place_nginx(struct doctor *d)
{
	char path[PATH_MAX], line[3 * PATH_MAX], text[256] = "";
	FILE *f;
	int status;

	if (geteuid() != 0) {
		check_add(&d->list, CHECK_WARN, "nginx configuration",
			  "sudo warren doctor", "only root can read it");
		return;
	}
	if (!place_path(d, "nginx/nginx.conf", path) ||
	    access(path, R_OK) != 0) {
		check_add(&d->list, CHECK_MISSING, "nginx configuration", SERVE,
			  "%.150s/nginx/nginx.conf cannot be read", d->data);
		return;
	}
	setenv("WARREN_DOCTOR_NGINX", d->data, 1);
	snprintf(line, sizeof(line),
		 "nginx -t -q -e stderr -p \"$WARREN_DOCTOR_NGINX/nginx\" "
		 "-c \"$WARREN_DOCTOR_NGINX/nginx/nginx.conf\" 2>&1");
	f = popen(line, "re");
	if (f != NULL && fgets(text, sizeof(text), f) != NULL)
		text[strcspn(text, "\n")] = '\0';
	while (f != NULL && getc(f) != EOF)
		continue;
	status = f != NULL ? pclose(f) : -1;
	if (status == 0)
		check_add(&d->list, CHECK_OK, "nginx configuration", "",
			  "nginx accepts it");
	else
		check_add(&d->list, CHECK_MISSING, "nginx configuration", SERVE,
			  "%s", text);
}

/* Any name below the domain must lead here too: previews are such names. */
static void place_names(struct doctor *d)
{
	const char *domain = d->run.domain;
	const struct addrinfo hint = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	char name[300];

	snprintf(name, sizeof(name), "8000-s00000-check.%s", domain);
	if (getaddrinfo(name, NULL, &hint, &found) == 0) {
		freeaddrinfo(found);
		check_add(&d->list, CHECK_OK, "wildcard DNS", "",
			  "names below %s have an address", domain);
		return;
	}
	if (strcmp(domain, "localhost") == 0)
		check_add(&d->list, CHECK_OK, "wildcard DNS", "",
			  "none: previews at *.localhost open in browsers and "
			  "curl, which know these names; other programs need "
			  "a real --domain");
	else
		check_add(&d->list, CHECK_WARN, "wildcard DNS",
			  "an A (and AAAA) record for * below the domain",
			  "names below %.100s have no address: no preview "
			  "opens",
			  domain);
}

void warren_place(struct doctor *d)
{
	place_directories(d);
	place_space(d);
	place_nginx(d);
	place_names(d);
}
