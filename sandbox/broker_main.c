/* warrend: see broker.h. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "sandbox/broker.h"
#include "sandbox/probe.h"

static const char usage[] =
    "usage: warrend [--data DIR] [--run DIR] [--domain NAME] [--port N]\n"
    "               [--workers N] [--disk-overcommit N]\n"
    "               [--allow-core-handler]\n"
    "N times what is free on the disk (10) is promised to sandboxes at most.\n"
    "A kernel.core_pattern that starts a program is no reason not to start\n"
    "then; sandboxes keep that program from being started (WALLS.md).\n"
    "       warrend --probe [--data DIR]\n"
    "tells what this machine gives, one line each.\n"
    "       warrend --check [--data DIR]\n"
    "tells what is wrong with sections and [network] of DIR/warren.ini.\n";

enum mode { MODE_SERVE, MODE_PROBE, MODE_CHECK };

static int parse(int argc, char **argv, struct broker_conf *c, enum mode *mode)
{
	static const struct option options[] = {
	    {"data", required_argument, NULL, 'd'},
	    {"run", required_argument, NULL, 'r'},
	    {"domain", required_argument, NULL, 'n'},
	    {"port", required_argument, NULL, 'p'},
	    {"workers", required_argument, NULL, 'w'},
	    {"disk-overcommit", required_argument, NULL, 'o'},
	    {"allow-core-handler", no_argument, NULL, 'c'},
	    {"probe", no_argument, NULL, 'P'},
	    {"check", no_argument, NULL, 'C'},
	    {NULL, 0, NULL, 0},
	};
	int o;

	while ((o = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (o) {
		case 'd':
			c->data = optarg;
			break;
		case 'r':
			c->run = optarg;
			break;
		case 'n':
			c->domain = optarg;
			break;
		case 'p':
			c->port = optarg;
			break;
		case 'w':
			c->workers = (int)strtol(optarg, NULL, 10);
			break;
		case 'o':
			c->disk_overcommit = (uint32_t)strtoul(optarg, NULL,
							       10);
			break;
		case 'c':
			c->core_handler = true;
			break;
		case 'P':
			*mode = MODE_PROBE;
			break;
		case 'C':
			*mode = MODE_CHECK;
			break;
		default:
			return -1;
		}
	}
	if (optind != argc || c->data[0] != '/' || c->run[0] != '/' ||
	    strlen(c->run) > 40 || c->workers < 1 ||
	    c->workers > BROKER_ROLES_MAX - 2 || c->disk_overcommit < 1 ||
	    c->disk_overcommit > DISK_OVERCOMMIT_MAX)
		return -1;
	return 0;
}

static int probe_main(const char *data)
{
	static struct check_list l;

	probe_all(&l, data);
	check_write(&l, stdout);
	return 0;
}

static int check_main(const char *data)
{
	struct net_conf conf;
	struct errinfo e;

	if (net_conf_read(data, &conf, &e) == ERR_NONE)
		return 0;
	fprintf(stderr, "%s\n", e.text);
	return 1;
}

int main(int argc, char **argv)
{
	struct broker_conf conf = {.data = "/var/lib/warren",
				   .run = "/run/warren",
				   .domain = "localhost",
				   .port = "8080",
				   .workers = 2,
				   .disk_overcommit = DISK_OVERCOMMIT};
	static struct broker b;
	struct errinfo e;
	enum mode mode = MODE_SERVE;

	/* Whatever the administrator's is: what others need not see has a mode
	 * of its own. */
	umask(022);
	log_open("warrend", LOG_INFO);
	if (parse(argc, argv, &conf, &mode) < 0) {
		fputs(usage, stderr);
		return 2;
	}
	if (geteuid() != 0) {
		fputs("warrend: must be started as root\n", stderr);
		return 1;
	}
	if (mode == MODE_PROBE)
		return probe_main(conf.data);
	if (mode == MODE_CHECK)
		return check_main(conf.data);
	id_init();
	if (broker_open(&b, &conf, &e) != ERR_NONE) {
		log_err("cannot start", &e);
		return 1;
	}
	puts("warrend ready");
	fflush(stdout);
	broker_run(&b);
	return 0;
}
