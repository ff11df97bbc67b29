/*
 * rendezvous - processes that have no MPI agree on a time of day at which to begin.
 *
 * Each writes, when it is ready, the time of day into a file beside its record, and waits until all have done so; the
 * last of these times and a little more is the beginning, the same in all. They are processes of one host, which share
 * its memory, and see each other's files at once: those of another host would come late over a network file system, to
 * some later than to others.
 */
#ifndef CAMPAIGN_RENDEZVOUS_H
#define CAMPAIGN_RENDEZVOUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* base: what the files' names begin with. ranks: of the processes that meet, rank among them. false and one line in
 * error where one of them is not there in time, or cannot be written. */
bool rendezvous_wait(const char *base, int rank, const int *ranks, size_t count, double most_seconds,
                     int64_t *begin_utc_ns, char *error, size_t error_size);

/* Removes this process's own file: once it has begun, nobody reads it any more. */
void rendezvous_leave(const char *base, int rank);

#endif
