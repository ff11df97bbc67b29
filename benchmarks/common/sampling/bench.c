#include "bench.h"

#include "fail.h"
#include "fail_mpi.h"
#include "phase.h"
#include "timer.h"

#include <stdio.h>
#include <stdlib.h>

struct bench bench_begin(const struct plan *plan, clock_model *clock, compute_team *team, helper *helper) {
    struct bench bench = {.clock = clock,
                          .team = team,
                          .helper = helper,
                          .line = start_create(MPI_COMM_WORLD, clock, plan->start),
                          .x = exchange_create(MPI_COMM_WORLD, plan->seed, plan->cold, (plan->memory_bytes + 3) / 4),
                          .thread_comp_ns = fail_alloc((size_t)plan->threads, sizeof(int64_t)),
                          .thread_comp_ref_ns = fail_alloc((size_t)plan->threads, sizeof(int64_t))};
    start_settle(bench.line, plan->settle_ns);
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank));
    MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &bench.ranks));
    return bench;
}

void bench_end(struct bench *bench) {
    start_destroy(bench->line);
    exchange_destroy(bench->x);
    free(bench->thread_comp_ns);
    free(bench->thread_comp_ref_ns);
    *bench = (struct bench){0};
}

int64_t bench_faults(struct bench *bench, char *text, size_t text_size) {
    int64_t faults = (int64_t)exchange_faults(bench->x);
    int first = faults > 0 ? bench->rank : bench->ranks;
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &faults, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    if (first < bench->ranks) {
        if (bench->rank == first) {
            snprintf(text, text_size, "%s", exchange_fault_text(bench->x));
        }
        MPI_CHECK(MPI_Bcast(text, (int)text_size, MPI_CHAR, first, MPI_COMM_WORLD));
    }
    return faults;
}

/* The call, and the wait for its end. Where the application has a progress thread, handing the request to it is part of the call: what its
 * users pay. */
static void call(struct bench *bench) {
    phase_enter(PHASE_CALL);
    exchange_call(bench->x);
    if (bench->helper != NULL) {
        helper_take(bench->helper, exchange_request(bench->x));
    }
}

static void wait(struct bench *bench) {
    if (bench->helper != NULL) {
        phase_enter(PHASE_HELPER);
        helper_wait(bench->helper);
    } else {
        phase_enter(PHASE_WAIT);
        exchange_wait(bench->x);
    }
}

/* Collective. */
static bool agree_to_start(struct bench *bench) {
    phase_enter(PHASE_START);
    return start_agree(bench->line);
}

/* Collective. */
static void check(struct bench *bench) {
    phase_enter(PHASE_CHECK);
    exchange_check(bench->x);
}

static void time_communication(struct bench *bench, struct repetition *r) {
    int64_t start = start_spin(bench->line);
    call(bench);
    wait(bench);
    int64_t end = timer_now_ns();
    r->terms[REF_START] = start;
    r->terms[REF_END] = end;
    r->terms[T_COMM_REF] = end - start;
}

/* Cut like the overlapped computation: what cutting costs is not what MPI_Test costs. */
static void time_computation(struct bench *bench, const struct bench_work *work, struct repetition *r) {
    start_spin(bench->line);
    phase_enter(PHASE_COMPUTATION);
    r->terms[T_COMP_REF] = compute_run(bench->team, work->work_size, &(struct compute_cut){.pieces = work->pieces});
    compute_thread_times(bench->team, bench->thread_comp_ref_ns);
}

struct polling {
    MPI_Request *request;
    int64_t calls;
};

static bool poll_request(void *context) {
    struct polling *polling = context;
    int done = 0;
    phase_enter(PHASE_TEST);
    MPI_CHECK(MPI_Test(polling->request, &done, MPI_STATUS_IGNORE));
    phase_enter(PHASE_COMPUTATION);
    polling->calls++;
    return done == 0;
}

/* Algorithm 1. Where the computation is not cut there is no MPI_Test: what is asked is whether the library progresses by itself. */
static void time_overlap(struct bench *bench, const struct bench_work *work, struct repetition *r) {
    struct polling polling = {.request = exchange_request(bench->x)};
    const struct compute_cut cut = {.pieces = work->pieces, .poll = poll_request, .context = &polling};
    int64_t t1 = start_spin(bench->line);
    call(bench);
    int64_t t2 = timer_now_ns();
    phase_enter(PHASE_COMPUTATION);
    r->terms[T_COMP] = compute_run(bench->team, work->work_size, &cut);
    int64_t t3 = timer_now_ns();
    wait(bench);
    int64_t t4 = timer_now_ns();
    compute_thread_times(bench->team, bench->thread_comp_ns);
    r->terms[T_CALL] = t2 - t1;
    r->terms[T_TEST] = compute_poll_time(bench->team);
    r->terms[T_WAIT] = t4 - t3;
    r->terms[TEST_CALLS] = polling.calls;
    r->terms[OVERLAP_START] = t1;
    r->terms[OVERLAP_END] = t4;
}

/* How late a rank may start: a small part of the shortest time that is measured, at least what a spin takes to see its deadline. */
static int64_t late_tolerance(int64_t shortest_ns) {
    int64_t tolerance = shortest_ns / 500;
    return tolerance < 2000 ? 2000 : tolerance > 100000 ? 100000 : tolerance;
}

void bench_keep_clock(struct bench *bench) {
    int due = clock_due(bench->clock);
    MPI_CHECK(MPI_Bcast(&due, 1, MPI_INT, 0, MPI_COMM_WORLD));
    if (due != 0) {
        clock_synchronise(bench->clock);
    }
}

void bench_prepare(struct bench *bench, const struct bench_work *work, int64_t shortest_ns) {
    if (work->work_size > 0) {
        compute_reserve(bench->team, work->work_size);
    }
    start_begin(bench->line, late_tolerance(shortest_ns));
}

/* Without a clock that all share, times are each rank's own from its own start: as if all had started at 0. */
static void count_from_start(const struct bench *bench, struct repetition *r) {
    if (clock_quality_of(bench->clock).method == CLOCK_NONE) {
        r->terms[REF_END] -= r->terms[REF_START];
        r->terms[REF_START] = 0;
        r->terms[OVERLAP_END] -= r->terms[OVERLAP_START];
        r->terms[OVERLAP_START] = 0;
    }
}

static int64_t global_time(const struct bench *bench, int64_t local) {
    return clock_quality_of(bench->clock).method == CLOCK_NONE ? local : clock_to_global(bench->clock, local);
}

/* Collective: what all ranks saw. late: starts that are known to have been late, the last that came to something among them; 0: what is to be
 * found out about the last start. */
static struct bench_outcome combine(struct bench *bench, struct repetition *r, int late) {
    phase_enter(PHASE_GATHER);
    count_from_start(bench, r);
    int64_t all[7] = {global_time(bench, r->terms[REF_END]),
                      -global_time(bench, r->terms[REF_START]),
                      global_time(bench, r->terms[OVERLAP_END]),
                      -global_time(bench, r->terms[OVERLAP_START]),
                      r->terms[T_COMP_REF],
                      late > 0 || start_was_late(bench->line),
                      exchange_faults(bench->x) > 0};
    start_forget(bench->line);
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, all, 7, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD));
    return (struct bench_outcome){.times = {[T_MEASURED] = all[2] + all[3], [GLOBAL_COMM_REF] = all[0] + all[1], [GLOBAL_COMP_REF] = all[4]},
                                  .late = all[5] != 0,
                                  .late_starts = late,
                                  .wrong_data = all[6] != 0};
}

/* Collective. A computation that follows finds the caches as the overlapped one does, which follows another: not full of what was checked. */
static void measure_communication(struct bench *bench, const struct bench_work *work, struct repetition *r) {
    exchange_prepare(bench->x, work->collective, work->message_bytes);
    agree_to_start(bench);
    time_communication(bench, r);
    check(bench);
    if (work->work_size > 0) {
        compute_warm(bench->team, work->work_size);
    }
}

struct bench_outcome bench_reference(struct bench *bench, const struct bench_work *work, struct repetition *r) {
    phase_collective(work->collective != NULL ? work->collective->mpi_name : NULL);
    if (work->collective != NULL) {
        measure_communication(bench, work, r);
    } else {
        agree_to_start(bench);
        time_computation(bench, work, r);
    }
    return combine(bench, r, 0);
}

/* Late starts that a triple puts up with. */
enum { MOST_LATE_STARTS = 4 };

/* Each agreement tells whether the start before it was late. What that began is worth nothing then, and is measured again; what came before it
 * is kept. */
struct bench_outcome bench_triple(struct bench *bench, const struct bench_work *work, struct repetition *r) {
    int late = 0;
    phase_collective(work->collective->mpi_name);
    measure_communication(bench, work, r);
    while (!agree_to_start(bench)) {
        if (++late == MOST_LATE_STARTS) {
            return combine(bench, r, late);
        }
        measure_communication(bench, work, r);
    }
    time_computation(bench, work, r);
    exchange_prepare(bench->x, work->collective, work->message_bytes);
    while (!agree_to_start(bench)) {
        if (++late == MOST_LATE_STARTS) {
            return combine(bench, r, late);
        }
        agree_to_start(bench);
        time_computation(bench, work, r);
    }
    for (;;) {
        time_overlap(bench, work, r);
        check(bench);
        struct bench_outcome outcome = combine(bench, r, 0);
        late += outcome.late;
        if (!outcome.late || outcome.wrong_data || late >= MOST_LATE_STARTS) {
            outcome.late_starts = late;
            return outcome;
        }
        exchange_prepare(bench->x, work->collective, work->message_bytes);
        agree_to_start(bench);
    }
}
