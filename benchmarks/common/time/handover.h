/*
 * handover - how long a cache line takes from one core to the next: the state of the machine beside a measurement.
 *
 * The ranks of a node hand a number in shared memory round, each to the next one. On a virtual machine this time can
 * change within a second, because the host decides which of its cores runs a virtual one. Times in which ranks exchange
 * data are comparable only while it stays the same.
 */
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct handover handover;

/* Collective over world: makes the line of each node. Needs windows in shared memory (MPI 3). */
handover *handover_create(MPI_Comm world);

/* Collective. */
void handover_destroy(handover *h);

/*
 * Collective over the ranks of each node: returns the time of one hand-over, ns, on the node's first rank, and 0 on its
 * other ranks and where a rank is alone on its node. It is the mean over a group of laps, of the fastest of a few
 * groups: that a rank came late or was preempted once does not count. It takes about 200 hand-overs where a node has
 * two ranks.
 */
int64_t handover_time(handover *h);

/* The least and the most time of a hand-over, of those of a repetition, ns. */
struct handover_range {
    int64_t least;
    int64_t most;
};

/* Collective likewise: times a hand-over, and notes it. first: it is the first of its repetition. */
void handover_note(handover *h, bool first, struct handover_range *range);
