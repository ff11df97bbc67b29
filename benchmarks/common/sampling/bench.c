#include "bench.h"

#include "fail.h"
#include "fail_mpi.h"
#include "phase.h"
#include "timer.h"

#include <stdio.h>
#include <stdlib.h>

struct bench bench_begin(const struct plan *plan, clock_model *clock, compute_team *team, helper *helper,
                         start_line *line) {
    struct bench bench = {.clock = clock,
                          .team = team,
                          .helper = helper,
                          .line = line,
                          .x = exchange_create(MPI_COMM_WORLD, plan->seed, plan->cold, (plan->memory_bytes + 3) / 4),
                          .thread_comp_ns = fail_alloc((size_t)plan->threads, sizeof(int64_t)),
                          .thread_comp_ref_ns = fail_alloc((size_t)plan->threads, sizeof(int64_t))};
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank));
    MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &bench.ranks));
    return bench;
}

void bench_end(struct bench *bench) {
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

/* The call and the wait for its end. Where the application has a progress thread, handing the request to it is a part
 * of the call, because users pay for that too. */
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
static void check(struct bench *bench) {
    phase_enter(PHASE_CHECK);
    exchange_check(bench->x);
}

static void time_communication(struct bench *bench, struct repetition *r) {
    int64_t start = start_spin(bench->line);
    call(bench);
    wait(bench);
    int64_t end = timer_now_ns();
    r->terms[REF_AGREED] = start_moment(bench->line);
    r->terms[REF_END] = end;
    r->terms[T_COMM_REF] = end - start;
}

/* The reference is cut like the overlapped computation, so that the cost of cutting does not count as a cost of
 * MPI_Test. */
static void time_computation(struct bench *bench, const struct bench_work *work, struct repetition *r) {
    const int64_t start = start_spin(bench->line);
    phase_enter(PHASE_COMPUTATION);
    r->terms[T_COMP_REF] = compute_run(bench->team, work->work_size, &(struct compute_cut){.pieces = work->pieces});
    r->terms[T_COMP_ALL] = r->terms[T_COMP_REF] + start - start_moment(bench->line);
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

/* Algorithm 1. Where the computation is not cut, MPI_Test is not called: the question is whether the library makes
 * progress by itself. */
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
    r->terms[OVERLAP_AGREED] = start_moment(bench->line);
    r->terms[OVERLAP_START] = t1;
    r->terms[OVERLAP_END] = t4;
}

void bench_keep_clock(struct bench *bench) {
    int due = clock_due(bench->clock);
    MPI_CHECK(MPI_Bcast(&due, 1, MPI_INT, 0, MPI_COMM_WORLD));
    if (due != 0) {
        clock_synchronise(bench->clock);
    }
}

void bench_take(struct bench *bench, const struct bench_work *work) {
    bench->work = *work;
    phase_collective(work->collective != NULL ? work->collective->mpi_name : NULL);
    if (work->work_size > 0) {
        compute_reserve(bench->team, work->work_size);
    }
}

/* ---- parts of a repetition ---- */

/* Before a short run all ranks compute at the same time. If each did it when it was prepared, a rank that then waited
 * for another one would have a slow core again. */
static void run_in(struct bench *bench) {
    int is_short = compute_is_short(bench->team, bench->work.work_size) ? 1 : 0;
    phase_enter(PHASE_START);
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &is_short, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    if (is_short != 0) {
        compute_run_in(bench->team, bench->work.work_size);
    }
}

/* Every part finds buffers, matrices and cores in nearly the same state, whatever ran before it. */
static void prepare(void *context) {
    struct bench *bench = context;
    if (bench->work.collective != NULL) {
        exchange_prepare(bench->x, bench->work.collective, bench->work.message_bytes);
    }
    if (bench->work.work_size > 0) {
        compute_warm(bench->team, bench->work.work_size);
        run_in(bench);
    }
}

static void time_communication_part(void *context, start_line *line, struct repetition *r) {
    time_communication(context, r);
}

static void finish_exchange(void *context) {
    check(context);
}

const struct repetition_part bench_communication = {
    .prepare = prepare, .time = time_communication_part, .finish = finish_exchange};

static void time_computation_part(void *context, start_line *line, struct repetition *r) {
    struct bench *bench = context;
    time_computation(bench, &bench->work, r);
}

const struct repetition_part bench_computation = {.prepare = prepare, .time = time_computation_part};

static void time_overlap_part(void *context, start_line *line, struct repetition *r) {
    struct bench *bench = context;
    time_overlap(bench, &bench->work, r);
}

const struct repetition_part bench_overlap = {.prepare = prepare, .time = time_overlap_part, .finish = finish_exchange};

bool bench_wrong(void *context) {
    const struct bench *bench = context;
    return exchange_faults(bench->x) > 0;
}

/* ---- a reference by itself ---- */

static const struct repetition_series communication_series = {.over = OVER_SPAN, .term = REF_AGREED, .end = REF_END};
static const struct repetition_part *const communication[] = {&bench_communication};
static const struct repetition_kind communication_alone = {.parts = communication,
                                                           .part_count = 1,
                                                           .terms = TERMS,
                                                           .series = &communication_series,
                                                           .series_count = 1,
                                                           .wrong = bench_wrong};
static const struct repetition_series computation_series = {.over = OVER_LARGEST, .term = T_COMP_ALL};
static const struct repetition_part *const computation[] = {&bench_computation};
static const struct repetition_kind computation_alone = {.parts = computation,
                                                         .part_count = 1,
                                                         .terms = TERMS,
                                                         .series = &computation_series,
                                                         .series_count = 1,
                                                         .wrong = bench_wrong};

struct bench_outcome bench_reference(struct bench *bench) {
    struct repetition r = {.number = 0};
    const struct repetition_kind *kind = bench->work.collective != NULL ? &communication_alone : &computation_alone;
    const struct repetition_maker maker = {
        .kind = kind, .context = bench, .line = bench->line, .clock = bench->clock, .active = true};
    const struct repetition_outcome outcome = repetition_run(&maker, &r);
    return (struct bench_outcome){.time_ns = outcome.times[0], .wrong_data = outcome.wrong_data};
}
