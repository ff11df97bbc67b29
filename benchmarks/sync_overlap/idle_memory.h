/*
 * idle_memory - the memory that ranks take when every pair of them has exchanged a message and none is under way: what
 * an eager limit costs, as buffers are kept for every other rank.
 */
#pragma once

#include <stdint.h>

/* Proportional set sizes (PSS) as the kernel has them in /proc/self/smaps_rollup: a page that n processes share counts
 * as 1/n of a page. Bytes; -1: the kernel of some rank does not tell. */
struct idle_memory {
    int64_t total_bytes;     /* of all ranks */
    int64_t largest_bytes;   /* of one rank */
    int64_t anonymous_bytes; /* of all ranks: the heap, and other memory of one process */
    int64_t shared_bytes;    /* of all ranks: shared memory; the rest is of files, most of it code */
};

/* Collective over MPI_COMM_WORLD. Call it before the program allocates large buffers of its own. */
struct idle_memory idle_memory_measure(void);
