#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "store/warren_args.h"

static const struct option args_options[] = {
    {"data", required_argument, NULL, 'd'},
    {"scope", required_argument, NULL, 's'},
    {"url", required_argument, NULL, 'u'},
    {"key", required_argument, NULL, 'k'},
    {"plan", required_argument, NULL, 'p'},
    {"limit", required_argument, NULL, 'l'},
    {"json", no_argument, NULL, 'j'},
    {"force", no_argument, NULL, 'f'},
    {"views", no_argument, NULL, 'v'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {NULL, 0, NULL, 0}};

/* An option; the next word is its value if it needs one. */
static enum err args_option(struct cli *cli, int o, enum args_what *what,
			    const char *word, struct errinfo *e)
{
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
			return err_set(e, ERR_ARG, 0,
				       "more than %d times --limit",
				       CLI_LIMITS_MAX);
		cli->limits[cli->nlimits++] = optarg;
		break;
	case 'j':
		cli->json = true;
		break;
	case 'f':
		cli->force = true;
		break;
	case 'v':
		cli->views = true;
		break;
	case 'h':
		*what = ARGS_HELP;
		break;
	case 'V':
		*what = ARGS_VERSION;
		break;
	case ':':
		return err_set(e, ERR_ARG, 0, "%.60s needs a value", word);
	default:
		return err_set(e, ERR_ARG, 0, "there is no option %.60s", word);
	}
	return ERR_NONE;
}

static enum err args_count(const struct cli_command *c, int n,
			   const struct cli *cli, struct errinfo *e)
{
	/* Instead of a statement. */
	int want = c->fn == warren_sql && cli->views ? 0 : c->nargs;

	if (n == want)
		return ERR_NONE;
	return err_set(e, ERR_ARG, 0,
		       "%s%s%s takes %d argument%s, and %d %s given",
		       c->words[0], c->words[1] != NULL ? " " : "",
		       c->words[1] != NULL ? c->words[1] : "", want,
		       want == 1 ? "" : "s", n, n == 1 ? "is" : "are");
}

/* The second word is missing or wrong: tell those that are right. */
static enum err args_second(const struct cli_command *c, const char *first,
			    const char *second, struct errinfo *e)
{
	char list[128] = "";

	for (; c->fn != NULL; c++) {
		size_t n = strlen(list);

		if (strcmp(c->words[0], first) == 0)
			snprintf(list + n, sizeof(list) - n, "%s%s",
				 n == 0 ? "" : ", ", c->words[1]);
	}
	if (second == NULL)
		return err_set(e, ERR_ARG, 0, "after %s comes one of %s", first,
			       list);
	return err_set(e, ERR_ARG, 0, "there is no %s %.60s: %s %s", first,
		       second, first, list);
}

static enum err args_find(const struct cli_command *commands, char **words,
			  int n, struct cli *cli, cli_fn **fn,
			  struct errinfo *e)
{
	const struct cli_command *c, *near = NULL;

	if (n == 0)
		return err_set(e, ERR_ARG, 0, "no command is given");
	for (c = commands; c->fn != NULL; c++) {
		int own = c->words[1] != NULL ? 2 : 1;

		if (strcmp(c->words[0], words[0]) != 0)
			continue;
		near = c;
		if (own == 2 && (n < 2 || strcmp(c->words[1], words[1]) != 0))
			continue;
		cli->args = words + own;
		*fn = c->fn;
		return args_count(c, n - own, cli, e);
	}
	if (near == NULL)
		return err_set(e, ERR_ARG, 0, "there is no command %.60s",
			       words[0]);
	return args_second(commands, words[0], n > 1 ? words[1] : NULL, e);
}

/* A statement may begin with a comment, as an option does. */
static bool args_statement(char **words, int n, const char *next)
{
	return n == 1 && strcmp(words[0], "sql") == 0 && next != NULL &&
	       next[0] == '-' && strpbrk(next, " \t\n") != NULL;
}

enum err args_parse(char **argv, const struct cli_command *commands,
		    struct cli *cli, cli_fn **fn, enum args_what *what,
		    struct errinfo *e)
{
	/* Words are kept at the front of argv, behind those that were read. */
	char **words = argv + 1;
	int argc = 0, n = 0;
	enum err r = ERR_NONE;

	while (argv[argc] != NULL)
		argc++;
	*what = ARGS_RUN;
	opterr = 0;
	while (r == ERR_NONE && *what == ARGS_RUN) {
		int at = optind, o;

		if (args_statement(words, n, argv[at])) {
			words[n++] = argv[optind++];
			continue;
		}
		o = getopt_long(argc, argv, "-:d:s:jhV", args_options, NULL);
		if (o == -1)
			break;
		if (o == 1)
			words[n++] = optarg;
		else
			r = args_option(cli, o, what, argv[at], e);
	}
	while (optind < argc)
		words[n++] = argv[optind++];
	if (r != ERR_NONE || *what != ARGS_RUN)
		return r;
	return args_find(commands, words, n, cli, fn, e);
}
