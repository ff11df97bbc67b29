/*
 * tolerance - how late after its deadline a start may be. No MPI, no clock.
 *
 * It doubles after every start that exceeded it and decays to the least that was asked for: on an oversubscribed
 * machine a spinning rank is descheduled most of the time, and no start would ever count.
 */
#ifndef CAMPAIGN_TOLERANCE_H
#define CAMPAIGN_TOLERANCE_H

#include <stdbool.h>
#include <stdint.h>

struct tolerance {
    double now_ns;
    double least_ns;
};

/* What follows asks for this much on a quiet machine. Where that is less than what came before asked for, what came
 * before counts for little: what is nothing beside a second is much beside a millisecond. */
void tolerance_begin(struct tolerance *t, int64_t least_ns);

/* A start was made in time for its deadline: whether it left it later than the tolerance. */
void tolerance_learn(struct tolerance *t, bool exceeded);

#endif
