/* The recorder, the terminals' server and the workers: started by the broker,
 * again when they end. */
#ifndef SANDBOX_ROLE_H
#define SANDBOX_ROLE_H

#include "sandbox/broker.h"

/** role_start_all(b, programs_dir, e): Start all of them
 * after ending those of an earlier broker. Errors: ERR_IO. */
FALLIBLE enum err role_start_all(struct broker *b, int programs_dir,
				 struct errinfo *e);

/** role_stop_all(b): SIGTERM, then SIGKILL after a grace; waits for them. */
void role_stop_all(struct broker *b);

#endif
