/* display(): results, from a program in the shell to the kernel. */
#ifndef KERNEL_SHOW_H
#define KERNEL_SHOW_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

#define SHOW_NAME_MAX 64

struct show {
	char name[SHOW_NAME_MAX]; /* of the socket, in the abstract space */
	int door;
	int client; /* who shows something now; -1 */
	struct buf in;
};

/* Something that was shown. */
struct shown {
	uint32_t run;
	const struct show_kind *kind;
	const char *data;
	size_t len;
};

/** show_open(s): Listen. Errors: false with errno. */
bool show_open(struct show *s);

/** show_accept(s): Take the next client, if none is there. */
void show_accept(struct show *s);

/**
 * show_read(s, got):
 * Read from the client; true when all of it has come. One that says
 * nonsense is dropped. ${got} is valid until show_answer().
 */
bool show_read(struct show *s, struct shown *got);

/** show_mime(got): The MIME bundle, or NULL if it is not what it claims. */
struct json_object *show_mime(const struct shown *got);

/** show_answer(s, ok): Let the client go. */
void show_answer(struct show *s, bool ok);

/** show_main(argc, argv): The program: AT RUN KIND [TEXT...]. */
int show_main(int argc, char **argv);

/** show_text(p, n): ${n} bytes as a JSON text, valid UTF-8 in any case. */
struct json_object *show_text(const char *p, size_t n);

#endif
