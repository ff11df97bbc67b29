/*
 * calls - searches how many calls of an operation make a batch that takes a target time.
 */
#pragma once

#include <mpi.h>
#include <stdint.h>

enum { CALLS_MOST = 10000000 }; /* of a batch */

/* Makes so many calls; collective. */
typedef void calls_make(void *context, int64_t calls);

/* Collective over comm: returns the time of so many calls, ns, on the slowest rank: the shorter of two readings, so
 * that one in which a rank was preempted does not count. A few calls are read up to ten times, until a reading is at
 * most half of target_ns: a time slice of another process is longer than they are. */
int64_t calls_time(MPI_Comm comm, calls_make *make, void *context, int64_t target_ns, int64_t calls);

/*
 * Collective over comm: returns the number of calls whose batch takes at least target_ns on the slowest rank, at most
 * CALLS_MOST, the same on all ranks, and sets *taken_ns to the time of such a batch. One call is made first, untimed:
 * connections and buffers are made in it.
 */
int64_t calls_search(MPI_Comm comm, calls_make *make, void *context, int64_t target_ns, int64_t *taken_ns);
