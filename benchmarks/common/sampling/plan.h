/*
 * plan - what is to be calibrated: the target times, and the bounds of time and memory.
 */
#ifndef CAMPAIGN_PLAN_H
#define CAMPAIGN_PLAN_H

#include "budget.h"
#include "compute.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Within how much of its target a size's time is near enough (section 5.1 of Denis 2022 has 10 %). */
#define PLAN_TOLERANCE 0.02

/* What is left out is 0 or false. */
struct plan {
    const int *collectives; /* indices of collective_table; none: computation only */
    size_t collective_count;
    const int64_t *comm_targets_ns;
    size_t comm_target_count;
    const int64_t *comp_targets_ns;
    size_t comp_target_count;
    struct budget budget;
    uint64_t max_message_bytes; /* 0: not limited by the caller */
    uint64_t memory_bytes;      /* that one rank may take for buffers and matrices; 0: not known */
    bool sizes_given;
    bool cold;  /* rotating buffers */
    bool quiet; /* no progress is told */
    uint64_t seed;
    int threads;
    int given_up_cores; /* of each rank: cores of its share on which it does not compute */
    enum compute_kind computation;
    int64_t test_interval_ns; /* of MPI_Test while computing; 0: never */
};

/* Into how many pieces a computation of this time is cut, so that MPI_Test can be called every test_interval_ns; 1: it
 * is not cut. */
uint64_t plan_pieces(const struct plan *plan, int64_t comp_target_ns);

#endif
