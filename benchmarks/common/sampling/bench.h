/*
 * bench - the timed parts (Denis 2022, section 5.1): communication alone, computation alone, both together, from one
 * start of all ranks.
 */
#ifndef CAMPAIGN_BENCH_H
#define CAMPAIGN_BENCH_H

#include "clock.h"
#include "collectives.h"
#include "compute.h"
#include "exchange.h"
#include "helper.h"
#include "plan.h"
#include "repetition.h"
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
    REF_START,  /* moments: local when taken, global after the synchronisation that closes them */
    REF_END,
    OVERLAP_START,
    OVERLAP_END,
    TEST_CALLS, /* no time: how many */
    TERMS
};

/* What is measured. */
struct bench_work {
    const struct collective *collective;
    uint64_t message_bytes;
    uint64_t work_size; /* of the computation */
    uint64_t pieces;    /* that it is cut into, for MPI_Test between them; 0, 1: none */
};

/* What everything is measured with. */
struct bench {
    clock_model *clock;
    compute_team *team;
    helper *helper; /* NULL: ranks wait for their requests themselves */
    start_line *line;
    exchange *x;
    struct bench_work work;  /* that is measured now */
    int64_t *thread_comp_ns; /* of the last repetition: each thread's own T_COMP and T_COMP_REF; as many as the team has
                                threads */
    int64_t *thread_comp_ref_ns;
    int rank;
    int ranks;
};

/* Collective: what measures in a plan, from these starts. Zeroed by bench_end. */
struct bench bench_begin(const struct plan *plan, clock_model *clock, compute_team *team, helper *helper,
                         start_line *line);
void bench_end(struct bench *bench);

/* Collective. The sum over ranks of elements that arrived wrong; text: one line about the first, of the lowest rank
 * that has some. */
int64_t bench_faults(struct bench *bench, char *text, size_t text_size);

/* Collective: synchronises the clock if it is time to. Between measurements whose moments nobody interpolates. */
void bench_keep_clock(struct bench *bench);

/* Before the first repetition of a work: room for it. */
void bench_take(struct bench *bench, const struct bench_work *work);

/* Parts of a repetition; their context is the bench, and what they measure its work. */
extern const struct repetition_part bench_communication;
extern const struct repetition_part bench_computation;
extern const struct repetition_part bench_overlap;

/* For a repetition_kind: whether this rank has received wrong data. */
bool bench_wrong(void *context);

/* One of the references alone, by itself: what it took over all ranks. */
struct bench_outcome {
    int64_t time_ns; /* communication: max(end) - min(start); computation: the slowest thread */
    bool late;
    bool wrong_data;
};

/* Collective. Communication, or where the work has no collective the computation. After bench_take and start_begin. */
struct bench_outcome bench_reference(struct bench *bench);

#endif
