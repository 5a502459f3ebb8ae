/* Names that we make: sandboxes, executions, processes, contexts, tokens. */
#ifndef BASE_ID_H
#define BASE_ID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ID_SANDBOX_LEN 22 /* s + cell 1 + node 4 + 16 random, base32 */
#define ID_TOKEN_LEN 16
#define ID_MAX 128 /* most characters of any execution or process id */

typedef char id_sandbox_t[ID_SANDBOX_LEN + 1];
typedef char id_text_t[ID_MAX + 1];

/** id_init(): Prepare the random source; call once before all others. */
void id_init(void);

/** id_sandbox(out): A new sandbox id of cell 0, node 0. */
void id_sandbox(id_sandbox_t out);

/** id_sandbox_ok(s): ${s} has the exact form of a sandbox id. */
bool id_sandbox_ok(const char *s);

/** id_token(out): ID_TOKEN_LEN random characters of [a-z0-9]. */
void id_token(char out[ID_TOKEN_LEN + 1]);

/** id_uuid(out): A random (version 4) UUID. */
void id_uuid(id_text_t out);

/** id_stamped(prefix, out): "<prefix>_<unix ms>_<10 random>". */
void id_stamped(const char *prefix, id_text_t out);

/**
 * id_text_ok(s):
 * ${s} may name an execution, process or context: 1 to ID_MAX characters of
 * [A-Za-z0-9._-], not starting with '.' or '-'.
 */
bool id_text_ok(const char *s);

#endif
