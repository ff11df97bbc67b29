/*
 * rendezvous - lets processes that have no MPI agree on a time of day at which to begin.
 *
 * When a process is ready, it writes the time of day into a file beside its record, and waits until all processes have
 * done so. The beginning is the latest of these times and a little more, the same in all processes. They must be
 * processes of one host, which see each other's files at once; over a network file system some would see a file later
 * than others.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Waits for the processes of `ranks`, rank among them, and returns the beginning in *begin_utc_ns. base: the beginning
 * of the files' names. Returns false and one line in error where a process is not there within most_seconds, or a file
 * cannot be written. */
bool rendezvous_wait(const char *base, int rank, const int *ranks, size_t count, double most_seconds,
                     int64_t *begin_utc_ns, char *error, size_t error_size);

/* Removes this process's own file. Call it after the beginning, when no process reads the file any more. */
void rendezvous_leave(const char *base, int rank);
