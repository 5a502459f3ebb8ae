/* Page faults of a program that waits, taken while it waits. */
#ifndef SANDBOX_PAGES_H
#define SANDBOX_PAGES_H

/**
 * pages_map(): Map what this static program has in its file and does not
 * write, as far as that is in the page cache: no memory is taken for it, and
 * none of it faults later. Only a speed-up: kernels before 5.14 cannot.
 */
void pages_map(void);

#endif
