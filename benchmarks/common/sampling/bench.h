/*
 * bench - the timed parts of a repetition (Denis 2022, section 5.1): communication alone, computation alone, and both
 * together, each from a common start of all ranks. A struct bench has what they are measured with: clock, threads,
 * start line and buffers.
 */
#pragma once

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

/* The terms that one rank measures in one repetition (Denis 2022, Algorithm 1), in ns; local times except where a
 * comment says otherwise. */
enum term {
    T_CALL,
    T_COMP, /* this rank's slowest thread, without the time in MPI_Test */
    T_TEST, /* all calls of MPI_Test together */
    T_WAIT,
    T_COMM_REF, /* communication alone, on this rank */
    T_COMP_REF, /* computation alone: this rank's slowest thread */
    T_COMP_ALL, /* T_COMP_REF from the agreed moment: with what a late start takes */
    REF_AGREED, /* the moments are local when taken, and become global by samples_close */
    REF_END,
    OVERLAP_AGREED,
    OVERLAP_START, /* when this rank began */
    OVERLAP_END,
    TEST_CALLS, /* number of calls of MPI_Test, no time */
    TERMS
};

/* The work of one measurement. */
struct bench_work {
    const struct collective *collective;
    uint64_t message_bytes;
    uint64_t work_size; /* of the computation, in the unit of its kernel (compute.h) */
    uint64_t pieces;    /* into which the computation is cut to call MPI_Test between them; 0, 1: it is not cut */
};

/* What the parts are measured with. */
struct bench {
    clock_model *clock;
    compute_team *team;
    helper *helper; /* NULL: ranks wait for their requests themselves */
    start_line *line;
    exchange *x;
    struct bench_work work; /* the work that is measured now */
    /* [threads of the team], of the last repetition: each thread's own T_COMP and T_COMP_REF. */
    int64_t *thread_comp_ns;
    int64_t *thread_comp_ref_ns;
    int rank;
    int ranks;
};

/* Collective: makes the buffers for a plan's measurements; the starts are those of line. bench_end frees and zeroes the
 * struct. */
struct bench bench_begin(const struct plan *plan, clock_model *clock, compute_team *team, helper *helper,
                         start_line *line);
void bench_end(struct bench *bench);

/* Collective: returns the number of elements that arrived wrong, over all ranks. text becomes one line about the first
 * wrong element of the lowest rank that has one. */
int64_t bench_faults(struct bench *bench, char *text, size_t text_size);

/* Collective: synchronises the clock where clock_due says so. Do not call it while the moments of
 * repetitions wait for interpolation. */
void bench_keep_clock(struct bench *bench);

/* Sets the work that is measured from now on, and allocates its arrays. Call it before the first repetition of a work.
 */
void bench_take(struct bench *bench, const struct bench_work *work);

/* The parts of a repetition. Their context is the struct bench; they measure its work. */
extern const struct repetition_part bench_communication;
extern const struct repetition_part bench_computation;
extern const struct repetition_part bench_overlap;

/* Returns whether this rank has received wrong data; the `wrong` of a struct repetition_kind. */
bool bench_wrong(void *context);

/* What one reference took over all ranks. */
struct bench_outcome {
    int64_t time_ns; /* from the agreed moment; of a computation that of the slowest thread */
    bool wrong_data;
};

/* Collective, after bench_take and start_begin: measures one reference once: the communication, or the computation
 * where the work has no collective. */
struct bench_outcome bench_reference(struct bench *bench);
