#include <errno.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/warren_doctor.h"

/* The broker's program beside this one: `warrend --probe`. */
static FILE *probe_open(const char *data)
{
	char path[PATH_MAX], line[PATH_MAX + 64];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash;

	path[n > 0 ? n : 0] = '\0';
	slash = strrchr(path, '/');
	if (slash == NULL || strchr(path, '\'') != NULL)
		return NULL;
	*slash = '\0';
	setenv("WARREN_DOCTOR_DATA", data, 1);
	if ((size_t)snprintf(line, sizeof(line),
			     "'%s/warrend' --probe --data "
			     "\"$WARREN_DOCTOR_DATA\"",
			     path) >= sizeof(line))
		return NULL;
	return popen(line, "re");
}

static void doctor_kernel(struct doctor *d)
{
	struct errinfo e = {.text = "it could not be run"};
	FILE *f;
	int status = -1;
	enum err r = ERR_IO;

	if (geteuid() != 0) {
		check_add(&d->list, CHECK_WARN, "kernel", "sudo warren doctor",
			  "only root can try what sandboxes need");
		return;
	}
	f = probe_open(d->data);
	if (f != NULL) {
		r = check_read(&d->list, f, &e);
		status = pclose(f);
	}
	if (r != ERR_NONE || status != 0)
		check_add(&d->list, CHECK_MISSING, "kernel",
			  "install warrend beside warren",
			  "warrend --probe failed: %s", e.text);
}

static void doctor_print(const struct doctor *d)
{
	for (int i = 0; i < d->list.n; i++) {
		const struct check *c = &d->list.at[i];

		printf("%-8s %-20s %s%s%s\n", check_state_name(c->state),
		       c->name, c->text, c->fix[0] != '\0' ? " -> " : "",
		       c->fix);
	}
}

static enum err json_add(struct json_object *o, const char *key,
			 const char *text)
{
	struct json_object *v = json_object_new_string(text);

	if (v == NULL || json_object_object_add(o, key, v) != 0)
		return ERR_NOMEM;
	return ERR_NONE;
}

static enum err doctor_json_one(const struct check *c, bool last)
{
	struct json_object *o = json_object_new_object();
	const char *text = NULL;
	enum err r = o != NULL ? ERR_NONE : ERR_NOMEM;

	if (r == ERR_NONE)
		r = json_add(o, "check", c->name);
	if (r == ERR_NONE)
		r = json_add(o, "state", check_state_name(c->state));
	if (r == ERR_NONE)
		r = json_add(o, "text", c->text);
	if (r == ERR_NONE && c->fix[0] != '\0')
		r = json_add(o, "fix", c->fix);
	if (r == ERR_NONE)
		text = json_object_to_json_string_ext(
		    o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
	if (text != NULL)
		printf("%s%s\n", text, last ? "]" : ",");
	json_object_put(o);
	return text != NULL ? ERR_NONE : ERR_NOMEM;
}

static enum err doctor_json(const struct doctor *d, struct errinfo *e)
{
	putchar('[');
	for (int i = 0; i < d->list.n; i++)
		if (doctor_json_one(&d->list.at[i], i + 1 == d->list.n) !=
		    ERR_NONE)
			return err_set(e, ERR_NOMEM, 0, "output");
	return ERR_NONE;
}

/* Last, since whoever looks at the databases is root no more. */
static void doctor_databases(struct doctor *d, struct cli *cli)
{
	struct errinfo e;

	if (geteuid() != 0 && access(cli->db_dir, R_OK | X_OK) != 0 &&
	    errno == EACCES)
		check_add(&d->list, CHECK_WARN, "schema", "sudo warren doctor",
			  "only root and " WARREN_USER " may look");
	else if (warren_cli_drop(cli, &e) != ERR_NONE)
		check_add(&d->list, CHECK_MISSING, "schema", "warren migrate",
			  "%s", e.text);
	else
		warren_health(d);
}

enum err warren_doctor(struct cli *cli, struct errinfo *e)
{
	static struct doctor d;
	int missing;
	enum err r;

	d.data = cli->data;
	r = warren_run_find(cli->data, &d.run, e);
	if (r != ERR_NONE)
		return r;
	doctor_kernel(&d);
	warren_host(&d);
	warren_place(&d);
	warren_alive(&d);
	doctor_databases(&d, cli);
	if (cli->json)
		r = doctor_json(&d, e);
	else
		doctor_print(&d);
	missing = check_count(&d.list, CHECK_MISSING);
	if (r == ERR_NONE && missing > 0)
		return err_set(e, ERR_STATE, 0,
			       "%d of %d checks lack something", missing,
			       d.list.n);
	return r;
}
