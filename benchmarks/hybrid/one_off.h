/*
 * one_off - what the hybrid library costs once (Zhou et al. 2020, section 5.2.1 and table 2): making the communicators,
 * with and without a table of ranks, the memory of a node, and the parameters of an allgather.
 */
#ifndef CAMPAIGN_ONE_OFF_H
#define CAMPAIGN_ONE_OFF_H

#include "hybrid_collectives.h"
#include "json.h"

#include <stdbool.h>

/* Collective over MPI_COMM_WORLD: measures each several times, and writes the times of the slowest rank, ns, in the
 * order in which they were made: of all ranks as arrays of the object "one_off", and of the first 2, 4, 8 ... ranks
 * alone as objects of the array "one_off_of_fewer". measure: false: the arrays are empty. */
void one_off_measure(const struct hybrid_settings *settings, bool measure, json_line *line);

#endif
