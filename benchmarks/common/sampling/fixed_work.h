/*
 * fixed_work - computes for a while: a fixed amount of work, in units whose time is measured.
 *
 * The work is never "until a clock runs out": what a progress thread takes from the computation makes it longer, and
 * does not vanish in it.
 */
#pragma once

#include "compute.h"

#include <stdint.h>

struct fixed_work {
    compute_team *team;
    uint64_t work_size; /* of a unit */
    int64_t unit_ns;    /* time of a unit where nothing disturbs it, on the fastest rank */
};

/* Collective over MPI_COMM_WORLD: finds the work that takes about unit_ns, which is the unit. */
struct fixed_work fixed_work_create(compute_team *team, enum compute_kind kind, int64_t unit_ns);

/* Returns how many units take at least so long. */
int64_t fixed_work_units(const struct fixed_work *work, int64_t time_ns);

/* Computes so many units. */
void fixed_work_do(const struct fixed_work *work, int64_t units);
