/* Hits of limits as node.db keeps them: see node_0003_hits.sql. */
#ifndef STORE_NODE_HITS_H
#define STORE_NODE_HITS_H

#include "base/keeper_hit.h"

#define NODE_HITS_TEXT_MAX (HIT_COUNT * 128 + 3)

/** node_hits_text(h, out): A JSON array; "" when no limit was hit. */
void node_hits_text(const struct keeper_hits *h, char out[NODE_HITS_TEXT_MAX]);

/** node_hits_read(text, h): What node_hits_text wrote; what is not so is
 * passed over. */
void node_hits_read(const char *text, struct keeper_hits *h);

#endif
