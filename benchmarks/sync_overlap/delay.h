/*
 * delay - computes for a while: a fixed amount of work, in units whose time is measured.
 *
 * The work is never "until a clock runs out": what a progress thread takes from the computation makes a delay longer,
 * and does not vanish in it.
 */
#ifndef CAMPAIGN_DELAY_H
#define CAMPAIGN_DELAY_H

#include "program.h"

#include <stdint.h>

struct delay {
    compute_team *team;
    uint64_t work_size; /* of a unit */
    int64_t unit_ns;    /* time of a unit where nothing disturbs it, on the fastest rank */
};

/* Collective over MPI_COMM_WORLD: finds a unit of about a fifth of a millisecond. */
struct delay delay_create(const struct program *program);

/* Returns how many units take at least so long. */
int64_t delay_units(const struct delay *delay, int64_t time_ns);

/* Computes so many units. */
void delay_compute(const struct delay *delay, int64_t units);

#endif
