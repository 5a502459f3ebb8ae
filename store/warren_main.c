/* warren: the operator's command; see warren_cli.h. */
#include <getopt.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/id.h"
#include "base/log.h"
#include "store/warren_cli.h"

static const char cli_usage[] =
    "usage: warren [--data DIR] COMMAND\n"
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
    "  sql TEXT [--json]            one SELECT over tenants, keys,\n"
    "                               sandboxes, executions, processes,\n"
    "                               contexts, process_logs,\n"
    "                               execution_logs, ports, plans,\n"
    "                               limits, denials, audit\n"
    "  migrate                      make the databases, or bring them to\n"
    "                               this program's schema\n"
    "  doctor [--json]              what this machine and DIR lack, and how\n"
    "                               to get it; 1 if anything is missing\n"
    "  selftest [--url URL --key KEY] [--json]\n"
    "                               try to break out of a sandbox of the\n"
    "                               running service, then start 100 at once\n"
    "\n"
    "DIR is " WARREN_DATA " unless given.\n";

static const struct {
	const char *words[2];
	int nargs;
	cli_fn *fn;
} cli_commands[] = {
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
    {{"sql", NULL}, 1, warren_sql},
    {{"migrate", NULL}, 0, warren_migrate},
    {{"doctor", NULL}, 0, warren_doctor},
    {{"selftest", NULL}, 0, warren_selftest},
};

#define COMMANDS (sizeof(cli_commands) / sizeof(cli_commands[0]))

static cli_fn *cli_find(struct cli *cli, int argc, char **argv)
{
	for (size_t i = 0; i < COMMANDS; i++) {
		const char *const *w = cli_commands[i].words;
		int n = w[1] != NULL ? 2 : 1;

		if (argc != n + cli_commands[i].nargs ||
		    strcmp(argv[0], w[0]) != 0)
			continue;
		if (n == 2 && strcmp(argv[1], w[1]) != 0)
			continue;
		cli->args = argv + n;
		return cli_commands[i].fn;
	}
	return NULL;
}

static cli_fn *cli_parse(struct cli *cli, int argc, char **argv)
{
	static const struct option options[] = {
	    {"data", required_argument, NULL, 'd'},
	    {"scope", required_argument, NULL, 's'},
	    {"url", required_argument, NULL, 'u'},
	    {"key", required_argument, NULL, 'k'},
	    {"plan", required_argument, NULL, 'p'},
	    {"limit", required_argument, NULL, 'l'},
	    {"json", no_argument, NULL, 'j'},
	    {"help", no_argument, NULL, 'h'},
	    {NULL, 0, NULL, 0}};
	int o;

	while ((o = getopt_long(argc, argv, "d:s:jh", options, NULL)) != -1) {
		switch (o) {
		case 'd':
			cli->data = optarg;
			break;
		case 's':
			cli->scope = optarg;
			break;
		case 'u':
			cli->url = optarg;
			break;
		case 'k':
			cli->key = optarg;
			break;
		case 'p':
			cli->plan = optarg;
			break;
		case 'l':
			if (cli->nlimits == CLI_LIMITS_MAX)
				return NULL;
			cli->limits[cli->nlimits++] = optarg;
			break;
		case 'j':
			cli->json = true;
			break;
		case 'h':
			fputs(cli_usage, stdout);
			exit(0);
		default:
			return NULL;
		}
	}
	return optind < argc ? cli_find(cli, argc - optind, argv + optind)
			     : NULL;
}

int main(int argc, char **argv)
{
	struct cli cli = {.data = WARREN_DATA, .scope = "manage"};
	struct errinfo e = {.code = ERR_NONE};
	cli_fn *fn;
	int n;

	log_open("warren", LOG_INFO);
	id_init();
	umask(077);
	setlocale(LC_CTYPE, "C.UTF-8");
	fn = cli_parse(&cli, argc, argv);
	if (fn == NULL) {
		fputs(cli_usage, stderr);
		return 2;
	}
	n = snprintf(cli.db_dir, sizeof(cli.db_dir), "%s/db", cli.data);
	if (n < 0 || (size_t)n >= sizeof(cli.db_dir)) {
		fputs("warren: the data directory's name is too long\n",
		      stderr);
		return 1;
	}
	if (fn(&cli, &e) != ERR_NONE) {
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
