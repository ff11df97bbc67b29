/*
 * calls - searches how many calls of an operation make a batch that takes a target time.
 */
#ifndef CAMPAIGN_CALLS_H
#define CAMPAIGN_CALLS_H

#include <stdint.h>

/* Makes so many calls; collective. */
typedef void calls_make(void *context, int64_t calls);

/*
 * Collective over MPI_COMM_WORLD: returns the number of calls whose batch takes at least target_ns on the slowest rank,
 * the same on all ranks, and sets *taken_ns to the time of such a batch. One call is made first, untimed: connections
 * and buffers are made in it.
 */
int64_t calls_search(calls_make *make, void *context, int64_t target_ns, int64_t *taken_ns);

#endif
