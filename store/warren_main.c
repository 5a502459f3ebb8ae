/* warren: the operator's command; see warren_cli.h. */
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/id.h"
#include "base/log.h"
#include "store/warren_args.h"

static const char cli_usage[] =
    "usage: warren [--data DIR] COMMAND | --help | --version\n"
    "\n"
    "  tenant add NAME              a new tenant\n"
    "  tenant list\n"
    "  tenant remove NAME           one that has no sandboxes, and its keys\n"
    "  tenant set NAME [--plan PLAN] [--limit NAME=VALUE]...\n"
    "                               what it may; VALUE default: as its plan\n"
    "  plan list                    with all limits\n"
    "  plan add NAME [--plan FROM] [--limit NAME=VALUE]...\n"
    "                               as another (default), but for these\n"
    "  plan set NAME --limit NAME=VALUE...\n"
    "  key add TENANT [--scope S]   print a new key; S is read, exec or\n"
    "                               manage (the default: everything)\n"
    "  key list\n"
    "  key revoke PREFIX            refuse the key that begins so\n"
    "  image import NAME FILE       a root file system for sandboxes from a\n"
    "                               tar file (also .gz .bz2 .xz .zst), or -\n"
    "  image list\n"
    "  image remove NAME [--force]  one that no sandbox has, or any\n"
    "  sql TEXT [--json]            one SELECT over the views of tenants,\n"
    "                               sandboxes, executions, logs, ...\n"
    "  sql --views [--json]         these views and their columns\n"
    "  migrate                      make the databases, or bring them to\n"
    "                               this program's schema\n"
    "  doctor [--json]              what this machine and DIR lack, and how\n"
    "                               to get it; 1 if anything is missing\n"
    "  selftest [--url URL --key KEY] [--json]\n"
    "                               try to break out of a sandbox of the\n"
    "                               running service, then start 100 at once\n"
    "\n"
    "DIR is " WARREN_DATA " unless given.\n";

static const struct cli_command cli_commands[] = {
    {{"tenant", "add"}, 1, warren_tenant_add},
    {{"tenant", "list"}, 0, warren_tenant_list},
    {{"tenant", "remove"}, 1, warren_tenant_remove},
    {{"tenant", "set"}, 1, warren_tenant_set},
    {{"plan", "list"}, 0, warren_plan_list},
    {{"plan", "add"}, 1, warren_plan_add},
    {{"plan", "set"}, 1, warren_plan_set},
    {{"key", "add"}, 1, warren_key_add},
    {{"key", "revoke"}, 1, warren_key_revoke},
    {{"key", "list"}, 0, warren_key_list},
    {{"image", "import"}, 2, warren_image_import},
    {{"image", "list"}, 0, warren_image_list},
    {{"image", "remove"}, 1, warren_image_remove},
    {{"sql", NULL}, 1, warren_sql},
    {{"migrate", NULL}, 0, warren_migrate},
    {{"doctor", NULL}, 0, warren_doctor},
    {{"selftest", NULL}, 0, warren_selftest},
    {{NULL, NULL}, 0, NULL},
};

/* What is wrong with the command line, and who tells how it is to be. */
static int cli_refuse(const struct errinfo *e)
{
	fprintf(stderr, "warren: %s; see warren --help\n", e->text);
	return 2;
}

/* D may not be there yet. Other programs are told of it, too. */
static enum err cli_places(struct cli *cli, struct errinfo *e)
{
	static char data[PATH_MAX];
	char here[PATH_MAX] = "";
	int n;

	if (cli->data[0] == '\0')
		return err_set(e, ERR_ARG, 0, "--data needs a directory");
	if (cli->data[0] != '/' && realpath(cli->data, data) == NULL) {
		if (getcwd(here, sizeof(here)) == NULL)
			return err_set(e, ERR_IO, errno, "this directory");
		n = snprintf(data, sizeof(data), "%s/%s", here, cli->data);
		if (n < 0 || (size_t)n >= sizeof(data))
			data[0] = '\0';
	}
	if (cli->data[0] != '/')
		cli->data = data;
	n = snprintf(cli->db_dir, sizeof(cli->db_dir), "%s/db", cli->data);
	if (cli->data[0] == '\0' || n < 0 || (size_t)n >= sizeof(cli->db_dir))
		return err_set(e, ERR_ARG, 0,
			       "the data directory's name is too long");
	return ERR_NONE;
}

int main(int argc, char **argv)
{
	struct cli cli = {.data = WARREN_DATA, .scope = "manage"};
	struct errinfo e = {.code = ERR_NONE};
	enum args_what what;
	cli_fn *fn = NULL;
	enum err r;

	(void)argc;
	log_open("warren", LOG_INFO);
	id_init();
	umask(077);
	setlocale(LC_CTYPE, "C.UTF-8");
	if (args_parse(argv, cli_commands, &cli, &fn, &what, &e) != ERR_NONE)
		return cli_refuse(&e);
	if (what == ARGS_HELP)
		return fputs(cli_usage, stdout) < 0;
	if (what == ARGS_VERSION)
		return puts("warren " WARREN_VERSION) < 0;
	r = cli_places(&cli, &e);
	if (r == ERR_NONE)
		r = fn(&cli, &e);
	if (r != ERR_NONE) {
		fflush(stdout);
		fprintf(stderr, "warren: %s\n", e.text);
		return 1;
	}
	if (fflush(stdout) != 0) {
		fputs("warren: the output cannot be written\n", stderr);
		return 1;
	}
	return 0;
}
