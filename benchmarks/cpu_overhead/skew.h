/*
 * skew - ranks that get out of step: what each of them works before each call of a batch.
 *
 * The shares of all ranks are the same, quantiles of an exponential distribution, each rank in an order of its own. So
 * no rank works more than another in a batch, but before nearly every call some rank is later than the others.
 */
#pragma once

#include <stdint.h>

/* The calls of a batch. */
enum { SKEW_CALLS = 16 };

/* The work before each call, relative to the mean. */
struct skew {
    double shares[SKEW_CALLS];
};

/* Returns that of a rank; the same for the same seed and rank. */
struct skew skew_of(int rank, uint64_t seed);
