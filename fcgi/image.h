/* Which images there are: the directories of D/images. */
#ifndef FCGI_IMAGE_H
#define FCGI_IMAGE_H

#include <stdbool.h>

#include "fcgi/route.h"

/** image_there(rq, name): There is one of that name, which is well formed.
 * Blocks: for one look at a directory. */
bool image_there(const struct request *rq, const char *name);

/** image_unknown(rq, e): VALIDATION_FAILED that names those that are there. */
enum err image_unknown(struct request *rq, struct errinfo *e);

#endif
