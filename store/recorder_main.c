/*
 * warren-recorder --data D --run R: runs as warren, ends by SIGTERM.
 * --check --data D: says what is wrong with [history] of D/warren.ini.
 */
#include <getopt.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/id.h"
#include "base/log.h"
#include "store/recorder.h"

static bool recorder_parse(struct recorder_conf *conf, bool *check, int argc,
			   char **argv)
{
	static const struct option options[] = {
	    {"data", required_argument, NULL, 'd'},
	    {"run", required_argument, NULL, 'r'},
	    {"check", no_argument, NULL, 'c'},
	    {NULL, 0, NULL, 0}};
	int o;

	conf->data_dir = "/var/lib/warren";
	conf->run_dir = "/run/warren";
	while ((o = getopt_long(argc, argv, "d:r:", options, NULL)) != -1) {
		switch (o) {
		case 'd':
			conf->data_dir = optarg;
			break;
		case 'r':
			conf->run_dir = optarg;
			break;
		case 'c':
			*check = true;
			break;
		default:
			return false;
		}
	}
	return optind == argc;
}

static enum err recorder_main(struct recorder_conf *conf, struct errinfo *e)
{
	OWN(recorder_close) struct recorder *r = NULL;
	enum err err;

	/* Who may have asked for more must not lose it. */
	if (history_conf_read(conf->data_dir, &conf->history, e) != ERR_NONE) {
		log_err("nothing is too old until this is put right", e);
		conf->history = (struct history_conf){.count = 0};
	}
	err = recorder_open(conf, &r, e);

	if (err == ERR_NONE)
		err = recorder_watch_signals(r, e);
	return err == ERR_NONE ? recorder_run(r, e) : err;
}

static int recorder_check(struct recorder_conf *conf)
{
	struct errinfo e;

	if (history_conf_read(conf->data_dir, &conf->history, &e) == ERR_NONE)
		return 0;
	fprintf(stderr, "%s\n", e.text);
	return 1;
}

int main(int argc, char **argv)
{
	struct recorder_conf conf = RECORDER_CONF_INIT;
	struct errinfo e;
	bool check = false;

	log_open("recorder", LOG_INFO);
	id_init();
	umask(077);
	if (!recorder_parse(&conf, &check, argc, argv)) {
		fputs("usage: warren-recorder [--data DIR] [--run DIR] "
		      "[--check]\n",
		      stderr);
		return 2;
	}
	if (check)
		return recorder_check(&conf);
	if (recorder_main(&conf, &e) != ERR_NONE) {
		log_err("record", &e);
		return 1;
	}
	return 0;
}
