/*
 * bench - the timed parts (Denis 2022, section 5.1): communication alone, computation alone, both together, from one start of all ranks.
 */
#ifndef CAMPAIGN_BENCH_H
#define CAMPAIGN_BENCH_H

#include "clock.h"
#include "collectives.h"
#include "compute.h"
#include "exchange.h"
#include "helper.h"
#include "plan.h"
#include "start.h"

#include <stdbool.h>
#include <stdint.h>

/* What one rank measured in one repetition (Denis 2022, Algorithm 1). Local times, except where said. */
enum term {
    T_CALL,
    T_COMP, /* this rank's slowest thread, without what MPI_Test took */
    T_TEST, /* all calls together */
    T_WAIT,
    T_COMM_REF, /* this rank's own */
    T_COMP_REF, /* the same of the reference */
    REF_START,  /* timestamps: local when taken, global after the synchronisation that closes them */
    REF_END,
    OVERLAP_START,
    OVERLAP_END,
    TEST_CALLS, /* no time: how many */
    TERMS
};

struct repetition {
    int64_t terms[TERMS];
};

/* Over all ranks: max(end) - min(start), and the slowest thread. */
enum global_time { T_MEASURED, GLOBAL_COMM_REF, GLOBAL_COMP_REF, GLOBAL_TIMES };

/* What everything is measured with. */
struct bench {
    clock_model *clock;
    compute_team *team;
    helper *helper; /* NULL: ranks wait for their requests themselves */
    start_line *line;
    exchange *x;
    int64_t *thread_comp_ns;     /* of the last triple: each thread's own T_COMP and T_COMP_REF; as many as the team has threads */
    int64_t *thread_comp_ref_ns;
    int rank;
    int ranks;
};

/* What is measured. */
struct bench_work {
    const struct collective *collective;
    uint64_t message_bytes;
    uint64_t work_size; /* of the computation */
    uint64_t pieces;    /* that it is cut into, for MPI_Test between them; 0, 1: none */
};

/* How one repetition went, the same on all ranks. */
struct bench_outcome {
    int64_t times[GLOBAL_TIMES]; /* by the clock as it is extrapolated: good enough to decide; the record gets interpolated ones */
    bool late;                   /* a rank missed a start: the times mean nothing */
    int late_starts;             /* of bench_triple: those that were missed, made up for or not */
    bool wrong_data;
};

/* Collective: what measures in a plan. Zeroed by bench_end. */
struct bench bench_begin(const struct plan *plan, clock_model *clock, compute_team *team, helper *helper);
void bench_end(struct bench *bench);

/* Collective. The sum over ranks of elements that arrived wrong; text: one line about the first, of the lowest rank that has some. */
int64_t bench_faults(struct bench *bench, char *text, size_t text_size);

/* Collective: synchronises the clock if it is time to. Between measurements whose timestamps nobody interpolates. */
void bench_keep_clock(struct bench *bench);

/* Before the first repetition of a work: room for it, and a fresh start. shortest_ns: of the times to come. */
void bench_prepare(struct bench *bench, const struct bench_work *work, int64_t shortest_ns);

/* Collective. One of the references alone: communication, or where collective is NULL the computation. */
struct bench_outcome bench_reference(struct bench *bench, const struct bench_work *work, struct repetition *r);

/* Collective. One triple: communication alone, computation alone, both. A part whose start a rank missed is measured again, a few times. */
struct bench_outcome bench_triple(struct bench *bench, const struct bench_work *work, struct repetition *r);

#endif
