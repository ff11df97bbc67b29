/*
 * exchange - owns the buffers of the collective that is measured, makes its calls and checks the data that arrived. MPI
 * errors end the group.
 *
 * Between exchange_call and exchange_wait nothing is allocated, filled or printed: exchange_prepare does before the
 * timed part what a call needs, and makes the persistent requests; exchange_check looks at the received data after it.
 */
#pragma once

#include "collectives.h"

typedef struct exchange exchange;

/*
 * Collective over world. Without `cold` every repetition uses the same set of buffers. With `cold` repetitions take
 * turns through as many sets as together, on each rank that has data, are twice the size of the largest cache, so that
 * no repetition finds its buffers in a cache: at least two, at most 8192 (persistent: 1024), and at most what fits in
 * memory_bytes on the rank with the largest. memory_bytes must be the same on all ranks; 0: not known, and 1 GiB is
 * assumed.
 */
exchange *exchange_create(MPI_Comm world, uint64_t seed, bool cold, uint64_t memory_bytes);
void exchange_destroy(exchange *x);

/* Collective: prepares the next repetition; no other request of x may be open. The first repetition of a size makes all
 * sets, later ones make none. */
void exchange_prepare(exchange *x, const struct collective *collective, uint64_t message_bytes);

/* Returns the number of sets of buffers for the size that was prepared last. */
size_t exchange_sets(const exchange *x);

/* The timed calls: the nonblocking call or MPI_Start of the persistent request, and the wait for it. A collective whose
 * `start` is a blocking call is complete when exchange_call returns: it may be called again, and is not waited for. */
void exchange_call(exchange *x);
void exchange_wait(exchange *x);

/*
 * Returns the request that exchange_call began, for MPI_Test by one thread at a time. The address stays valid as long
 * as x. Where MPI_Test has completed the request, exchange_wait returns at once. Ask the flag of MPI_Test whether it is
 * complete: a persistent request never becomes MPI_REQUEST_NULL.
 */
MPI_Request *exchange_request(exchange *x);

/* Collective: checks the received data and adds the wrong elements to this rank's count. It begins with a barrier, so
 * that a rank that is done does not load the memory of one that is not. */
void exchange_check(exchange *x);

/* The number of wrong elements that this rank has found so far, and one line about the first of them. */
uint64_t exchange_faults(const exchange *x);
const char *exchange_fault_text(const exchange *x);
