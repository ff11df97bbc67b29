/*
 * eviction - puts cache lines that a rank has read back into memory.
 *
 * Before a rank can write a line again that others have read, it must take the line out of their caches. Between cores
 * that share no cache this can take longer than a way through memory. So a reader can evict what it has read.
 */
#pragma once

#include "memory_state.h"

/* Whether the processor can. */
bool eviction_is_possible(void);

/* Evicts the lines of so many bytes, where this was asked for (hybrid_memory_set_eviction). */
void eviction_of(const hybrid_memory *m, const void *begin, size_t bytes);

/* The same of the last result, without what this rank has written. */
void eviction_of_result(const hybrid_memory *m);
