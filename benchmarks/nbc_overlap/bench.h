/*
 * bench - the timed parts (Denis 2022, section 5.1): communication alone, computation alone, both together, from one start of all ranks.
 */
#ifndef CAMPAIGN_BENCH_H
#define CAMPAIGN_BENCH_H

#include "clock.h"
#include "collectives.h"
#include "compute.h"
#include "exchange.h"
#include "samples.h"
#include "start.h"

#include <stdbool.h>
#include <stdint.h>

/* What everything is measured with. */
struct bench {
    clock_model *clock;
    compute_team *team;
    start_line *line;
    exchange *x;
    int rank;
    int ranks;
};

/* What is measured. */
struct bench_work {
    const struct collective *collective;
    uint64_t message_bytes;
    uint64_t order; /* of the matrices */
};

/* How one repetition went, the same on all ranks. */
struct bench_outcome {
    int64_t times[GLOBAL_TIMES]; /* by the clock as it is extrapolated: good enough to decide; the record gets interpolated ones */
    bool late;                   /* a rank missed a start: the times mean nothing */
    bool wrong_data;
};

/* Collective: synchronises the clock if it is time to. Between measurements whose timestamps nobody interpolates. */
void bench_keep_clock(struct bench *bench);

/* Before the first repetition of a work: room for it, and a fresh start. shortest_ns: of the times to come. */
void bench_prepare(struct bench *bench, const struct bench_work *work, int64_t shortest_ns);

/* Collective. One of the references alone: communication, or where collective is NULL the computation. */
struct bench_outcome bench_reference(struct bench *bench, const struct bench_work *work, struct repetition *r);

/* Collective. One triple: communication alone, computation alone, both. */
struct bench_outcome bench_triple(struct bench *bench, const struct bench_work *work, struct repetition *r);

#endif
