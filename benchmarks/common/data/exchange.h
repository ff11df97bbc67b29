/*
 * exchange - one collective's buffers, its calls and the check of what arrived.
 *
 * Between start and wait nothing is allocated, filled or printed: exchange_prepare does what a call needs before it is
 * timed, the making of persistent requests included; exchange_check looks at the received data after.
 */
#ifndef CAMPAIGN_EXCHANGE_H
#define CAMPAIGN_EXCHANGE_H

#include "collectives.h"

typedef struct exchange exchange;

/*
 * Warm: one set of buffers that every repetition uses. Cold: so many sets in turn that those of each rank that has any
 * data are together twice the size of the largest cache, so that no repetition finds its buffers there; at least two,
 * no more than 8192 (persistent: 1024), and no more than fit in memory_bytes (0: not known, then 1 GiB) on the rank
 * with the largest. memory_bytes: the same on all ranks.
 */
exchange *exchange_create(MPI_Comm world, uint64_t seed, bool cold, uint64_t memory_bytes);
void exchange_destroy(exchange *x);

/* Prepares the next repetition: collective, and nothing else may be open. The first one of a size makes all sets, later
 * ones make no more. */
void exchange_prepare(exchange *x, const struct collective *collective, uint64_t message_bytes);

/* Sets of buffers that were made for the size prepared last. */
size_t exchange_sets(const exchange *x);

/* The nonblocking call, or MPI_Start of the persistent request, and its wait. Errors end the group. */
void exchange_call(exchange *x);
void exchange_wait(exchange *x);

/*
 * The request of the collective that exchange_call began: for MPI_Test while it is open, from one thread at a time. It
 * stays where it is as long as x. Once completed there, exchange_wait returns at once. Completion is MPI_Test's flag: a
 * persistent request never becomes MPI_REQUEST_NULL.
 */
MPI_Request *exchange_request(exchange *x);

/* Collective (a barrier first: a rank that is done must not load the memory of one that is not). Wrong elements here
 * are added up. */
void exchange_check(exchange *x);

/* Wrong elements that this rank has found so far; one line about the first of them. */
uint64_t exchange_faults(const exchange *x);
const char *exchange_fault_text(const exchange *x);

#endif
