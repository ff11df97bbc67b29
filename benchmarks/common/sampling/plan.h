/*
 * plan - the target times that sizes are calibrated to, and the bounds of time and memory.
 */
#pragma once

#include "budget.h"
#include "compute.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How far from its target the time of a size may be, relative (Denis 2022, section 5.1, has 10 %). */
#define PLAN_TOLERANCE 0.02

/* Fields that do not apply are 0, false or NULL. */
struct plan {
    const int64_t *collectives; /* indices of collective_table; none: only computation is calibrated */
    size_t collective_count;
    const int64_t *comm_targets_ns;
    size_t comm_target_count;
    const int64_t *comp_targets_ns;
    size_t comp_target_count;
    struct budget budget;
    uint64_t max_message_bytes; /* 0: not limited by the caller */
    uint64_t memory_bytes;      /* that one rank may take for buffers and arrays; 0: not known */
    bool sizes_given;
    bool cold;  /* buffers are not in the caches (exchange.h) */
    bool quiet; /* no line about progress on stderr */
    uint64_t seed;
    int threads;
    int given_up_cores; /* of each rank: cores of its share on which it does not compute */
    enum compute_kind computation;
    int64_t test_interval_ns; /* time between calls of MPI_Test while computing; 0: MPI_Test is not called */
};

/* Returns into how many pieces a computation of this time is cut, so that MPI_Test can be called every
 * test_interval_ns; 1: it is not cut. */
uint64_t plan_pieces(const struct plan *plan, int64_t comp_target_ns);
