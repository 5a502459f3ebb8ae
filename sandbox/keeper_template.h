/*
 * The process that keepers are forked from before their sandboxes are known:
 * a copy of it is one that waits (keeper_seat.h), without an exec, which is
 * most of what a new program costs where a hypervisor has to say what the
 * processor can do. It is root, talks to the broker only (maker_order.h), and
 * never was anybody's keeper, so there is nothing in it that a copy must not
 * have. The copies share the layout of its memory; after a few it becomes a
 * new program, with another layout.
 */
#ifndef SANDBOX_KEEPER_TEMPLATE_H
#define SANDBOX_KEEPER_TEMPLATE_H

/**
 * keeper_template(argv):
 * Be it, with orders on descriptor SEAT_FD and our program on the next one.
 * It returns in each copy, which is one that waits, as its ${argv} says.
 * When the broker ends it ends. Blocks: for any time.
 */
void keeper_template(char **argv);

#endif
