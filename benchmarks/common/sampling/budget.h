/*
 * budget - the time that a whole run may take.
 */
#ifndef CAMPAIGN_BUDGET_H
#define CAMPAIGN_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct budget {
    double seconds;   /* 0: none */
    int64_t began_ns; /* local time from which it counts: the start of the process */
};

/* Seconds since it began. */
double budget_elapsed_seconds(const struct budget *budget);

/* On rank 0: so far beyond the budget, three times it, that nothing more is measured. */
bool budget_is_over(const struct budget *budget);

#endif
