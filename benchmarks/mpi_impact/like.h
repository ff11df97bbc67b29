/*
 * like - reads from a record of mpi_impact what that launch did, so that processes without MPI do the same: as many
 * processes, on the same CPUs, the same work equally often. No MPI.
 */
#ifndef CAMPAIGN_LIKE_H
#define CAMPAIGN_LIKE_H

#include "impact.h"
#include "topology.h"

#include <stdbool.h>
#include <stddef.h>

struct like {
    int ranks;
    int threads;                /* computing threads of each rank */
    struct topology_cpus *cpus; /* [threads]: where each thread of this rank computed */
    int *neighbours;            /* the ranks of this rank's node, itself among them */
    size_t neighbour_count;
    struct impact_plan plan;
};

/* Reads the first line of a record. Returns false and one line in error where it is no record of mpi_impact, or has no
 * such rank. */
bool like_read(const char *path, int rank, struct like *like, char *error, size_t error_size);
void like_free(struct like *like);

#endif
