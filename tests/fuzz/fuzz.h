/*
 * A fuzzer is one function; libFuzzer calls it with inputs that it finds, or
 * replay.c with those of the corpus. A property that does not hold aborts.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/** LLVMFuzzerTestOneInput(data, n): One input; returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#endif
