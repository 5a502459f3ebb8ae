/*
 * The words of the command line: which command they name, and what is wrong
 * with them if none.
 */
#ifndef STORE_WARREN_ARGS_H
#define STORE_WARREN_ARGS_H

#include "store/warren_cli.h"

struct cli_command {
	const char *words[2]; /* the second may be NULL */
	int nargs;
	cli_fn *fn;
};

enum args_what { ARGS_RUN, ARGS_HELP, ARGS_VERSION };

/** args_parse(argv, commands, cli, fn, what, e): Fill ${cli} from the options
 * and set ${fn} to what is to be run (ARGS_RUN), of ${commands}, which end
 * with a row of zeros. ${cli} refers to ${argv}, whose order changes.
 *
 * Errors: ERR_ARG, in one sentence for the operator. */
FALLIBLE enum err args_parse(char **argv, const struct cli_command *commands,
			     struct cli *cli, cli_fn **fn, enum args_what *what,
			     struct errinfo *e);

#endif
