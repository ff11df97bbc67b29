/*
 * budget - the wall time that a whole run may take.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct budget {
    double seconds;   /* 0: there is no budget */
    int64_t began_ns; /* local time of the start of the process, from which the budget counts */
};

/* Returns the seconds since began_ns. */
double budget_elapsed_seconds(const struct budget *budget);

/* Returns the seconds until three times the budget. */
double budget_left_seconds(const struct budget *budget);

/* Returns whether the run has taken three times its budget, so that nothing more is measured. Valid on rank 0, which
 * tells the others. */
bool budget_is_over(const struct budget *budget);
