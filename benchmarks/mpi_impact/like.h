/*
 * like - the file that says what a launch of mpi_impact does, so that processes without MPI do the same: as many
 * processes, on the same CPUs, the same work equally often. No MPI.
 *
 * Its lines (key_values.h): computation; for each rank, in their order, its node and the CPUs of each computing thread;
 * and the plan's targets:
 *
 *   rank NODE CPUS...
 *   target comp_target_ns work_size time_ns warmup_repetitions repetitions slot_ns
 */
#pragma once

#include "impact.h"
#include "topology.h"

#include <stdbool.h>
#include <stddef.h>

struct like {
    int ranks;
    int threads;                /* computing threads of each rank */
    struct topology_cpus *cpus; /* [threads]: where each thread of this rank computes */
    int *neighbours;            /* the ranks of this rank's node, itself among them */
    size_t neighbour_count;
    struct impact_plan plan;
};

/* Writes the file. places: [ranks], the values of each line `rank`. Returns false and one line in error on a fault. */
bool like_write(const char *path, const struct impact_plan *plan, char *const *places, int ranks, char *error,
                size_t error_size);

/* Reads it for one rank. Returns false and one line in error on a fault, or where there is no such rank. Free with
 * like_free. */
bool like_read(const char *path, int rank, struct like *like, char *error, size_t error_size);
void like_free(struct like *like);
