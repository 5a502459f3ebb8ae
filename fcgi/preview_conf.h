/* [preview] of D/warren.ini: what holds for all previews of the machine. */
#ifndef FCGI_PREVIEW_CONF_H
#define FCGI_PREVIEW_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define PREVIEW_RESERVED_MAX 64

struct preview_conf {
	/* reservedPorts = 22, 3000: those that no tenant may expose. */
	uint16_t reserved[PREVIEW_RESERVED_MAX];
	size_t nreserved;
	/* bytesPerSecond = N: of one port by one of its names; 0: no bound. */
	uint64_t bytes_per_s;
	/* pathPort = N: also by path, on that port; 0: not. */
	uint16_t path_port;
	bool closed; /* all are: the file could not be read */
};

/**
 * preview_conf_read(data_dir, out, e):
 * What the file says, or its defaults. Errors: those of conf_read().
 */
FALLIBLE enum err preview_conf_read(const char *data_dir,
				    struct preview_conf *out,
				    struct errinfo *e);

/** preview_conf_reserved(c, port): No tenant may expose it. */
bool preview_conf_reserved(const struct preview_conf *c, int64_t port);

#endif
