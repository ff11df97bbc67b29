/*
 * tolerance - learns how late after its deadline a start may be. No MPI, no clock.
 *
 * The tolerance doubles, up to 50 ms, after every start that exceeded it, and else decays to the value that was asked
 * for. On an oversubscribed machine a spinning rank is descheduled most of the time; with a fixed tolerance no start
 * would ever count there.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct tolerance {
    double now_ns;
    double least_ns;
};

/* Sets the tolerance that is asked for on a quiet machine, ns. Where it is less than the one asked for before, what was
 * learnt is cut to a few times the new value: a delay that is small beside a second is large beside a millisecond. */
void tolerance_begin(struct tolerance *t, int64_t least_ns);

/* Learns from a start that was ready before its deadline; exceeded: it left the spin later than the tolerance allows.
 */
void tolerance_learn(struct tolerance *t, bool exceeded);
