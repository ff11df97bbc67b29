#include "engine.h"

#include "exchange.h"
#include "fail.h"
#include "fail_mpi.h"
#include "start.h"
#include "stats.h"
#include "table.h"
#include "timer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every rank's own samples are written up to this many ranks. */
enum { MOST_RANKS_WITH_SAMPLES = 64 };

/* Of a budget: what calibration may take, and after how many times the whole of it nothing more is measured. */
#define CALIBRATION_SHARE 0.3
#define HARD_LIMIT_FACTOR 3.0

/* What the end takes: the footer and MPI_Finalize. */
#define CLOSING_SECONDS 0.1

/* A calibrated message is at least one cache line and grows by lines. */
#define MESSAGE_STEP 64
#define MOST_MESSAGE_BYTES (UINT64_C(1) << 30)

/* What one rank measured in one repetition (Algorithm 1). Local times, except where said. */
enum term {
    T_CALL,
    T_COMP,
    T_WAIT,
    T_COMM_REF,    /* this rank's own */
    T_COMP_REF,    /* this rank's slowest thread */
    REF_START,     /* timestamps: local when taken, global after the synchronisation that closes them */
    REF_END,
    START,
    END,
    TERMS
};

struct repetition {
    int64_t terms[TERMS];
};

/* What rank 0 decides after a repetition. */
enum decision { GO_ON, STOP_INTERVAL, STOP_REPETITIONS, STOP_BUDGET, STOP_DATA };

struct engine {
    const struct engine_plan *plan;
    clock_model *clock;
    compute_team *team;
    start_line *line;
    exchange *x;
    struct size_table *sizes;
    record_file *record;
    int rank;
    int ranks;
    int64_t began; /* local, on rank 0 the base of all budgets */
    struct calibrate_result **comm; /* [collective][target] */
    struct calibrate_result *comp;  /* [target] */
    struct engine_result result;
    char reason[512];

    struct repetition *own; /* of the point being measured: valid ones */
    size_t own_capacity;
    size_t count;
    size_t closed;          /* of them, those whose timestamps are global */
    stats_series *measured;
    stats_series *comm_ref;
    stats_series *comp_ref;
};

static double seconds_since(int64_t begin) {
    return (double)(timer_now_ns() - begin) / 1e9;
}

engine *engine_create(const struct engine_plan *plan, clock_model *clock, compute_team *team, struct size_table *sizes,
                      record_file *record) {
    engine *e = fail_alloc(1, sizeof *e);
    e->plan = plan;
    e->clock = clock;
    e->team = team;
    e->sizes = sizes;
    e->record = record;
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &e->rank));
    MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &e->ranks));
    e->line = start_create(MPI_COMM_WORLD, clock);
    e->x = exchange_create(MPI_COMM_WORLD, plan->seed);
    e->comm = fail_alloc(plan->collective_count, sizeof *e->comm);
    for (size_t i = 0; i < plan->collective_count; i++) {
        e->comm[i] = fail_alloc(plan->comm_target_count, sizeof **e->comm);
    }
    e->comp = fail_alloc(plan->comp_target_count, sizeof *e->comp);
    e->measured = stats_create();
    e->comm_ref = stats_create();
    e->comp_ref = stats_create();
    e->result.reason = e->reason;
    e->began = plan->began_ns;
    return e;
}

void engine_destroy(engine *e) {
    if (e != NULL) {
        start_destroy(e->line);
        exchange_destroy(e->x);
        for (size_t i = 0; i < e->plan->collective_count; i++) {
            free(e->comm[i]);
        }
        free(e->comm);
        free(e->comp);
        free(e->own);
        stats_destroy(e->measured);
        stats_destroy(e->comm_ref);
        stats_destroy(e->comp_ref);
        free(e);
    }
}

struct engine_result engine_result_of(const engine *e) {
    return e->result;
}

/* Collective. Adds up the wrong elements of all ranks; the lowest rank that has some gives rank 0 the line about them. */
static int64_t report_data_errors(engine *e) {
    int64_t faults = (int64_t)exchange_faults(e->x);
    int first = faults > 0 ? e->rank : e->ranks;
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &faults, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    if (e->rank == first) {
        snprintf(e->reason, sizeof e->reason, "%s", exchange_fault_text(e->x));
    }
    MPI_CHECK(MPI_Bcast(e->reason, sizeof e->reason, MPI_CHAR, first, MPI_COMM_WORLD));
    e->result.end = ENGINE_DATA_ERROR;
    return faults;
}

/* Rank 0: so far beyond the budget that nothing more is measured. */
static bool hard_limit_passed(const engine *e) {
    return e->plan->budget_seconds > 0 && seconds_since(e->began) > HARD_LIMIT_FACTOR * e->plan->budget_seconds;
}

/* ---- the timed parts ---- */

static void time_communication(engine *e, struct repetition *r) {
    int64_t start = start_spin(e->line);
    exchange_call(e->x);
    exchange_wait(e->x);
    int64_t end = timer_now_ns();
    r->terms[REF_START] = start;
    r->terms[REF_END] = end;
    r->terms[T_COMM_REF] = end - start;
}

static void time_computation(engine *e, uint64_t order, struct repetition *r) {
    start_spin(e->line);
    r->terms[T_COMP_REF] = compute_run(e->team, order);
}

/* Algorithm 1. No MPI_Test: what is asked is whether the library progresses by itself. */
static void time_overlap(engine *e, uint64_t order, struct repetition *r) {
    int64_t t1 = start_spin(e->line);
    exchange_call(e->x);
    int64_t t2 = timer_now_ns();
    compute_run(e->team, order);
    int64_t t3 = timer_now_ns();
    exchange_wait(e->x);
    int64_t t4 = timer_now_ns();
    r->terms[T_CALL] = t2 - t1;
    r->terms[T_COMP] = t3 - t2;
    r->terms[T_WAIT] = t4 - t3;
    r->terms[START] = t1;
    r->terms[END] = t4;
}

/* How late a rank may start: a small part of the shortest time that is measured, at least what a spin takes to see its deadline. */
static int64_t late_tolerance(int64_t shortest_ns) {
    int64_t tolerance = shortest_ns / 500;
    return tolerance < 2000 ? 2000 : tolerance > 100000 ? 100000 : tolerance;
}

/* ---- calibration ---- */

/* Rank 0 runs the search; the others measure what it asks for until it asks for size 0. */
struct calibration {
    engine *e;
    const struct collective *collective; /* NULL: the computation */
    int64_t target_ns;
    int64_t begin;
    int64_t deadline;    /* rank 0: time to come to an end; 0: none */
    unsigned asked;      /* rank 0: sizes measured, and the best error so far */
    double least_error;
    bool data_errors;
};

/* When its time is up a search still goes on until it is near the target or has asked this often: a size that is wrong by factors would
 * make every repetition of its points worthless. */
enum { ASK_AT_LEAST = 12 };
#define NEAR_TARGET 0.1
#define NEAR_ENOUGH_TARGET 0.2 /* when it has taken twice its time */

/* Collective: the median time of a size on all ranks, over a few repetitions. */
static double measure_size(struct calibration *c, uint64_t size) {
    enum { MOST = 5 };
    engine *e = c->e;
    int wanted = c->target_ns > 100000000 ? 3 : MOST;
    int64_t times[MOST];
    int valid = 0;
    if (c->collective == NULL) {
        compute_reserve(e->team, size);
    }
    start_begin(e->line, late_tolerance(c->target_ns));
    for (int attempt = -1; valid < wanted && attempt < 4 * wanted; attempt++) {
        struct repetition r = {{0}};
        if (c->collective != NULL) {
            exchange_prepare(e->x, c->collective, size);
        }
        start_agree(e->line);
        if (c->collective != NULL) {
            time_communication(e, &r);
            exchange_check(e->x);
        } else {
            time_computation(e, size, &r);
        }
        int64_t all[5] = {clock_to_global(e->clock, r.terms[REF_END]), -clock_to_global(e->clock, r.terms[REF_START]),
                          r.terms[T_COMP_REF], start_was_late(e->line), exchange_faults(e->x) > 0};
        start_forget(e->line);
        MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, all, 5, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD));
        if (all[4] != 0) {
            c->data_errors = true;
            return 1;
        }
        /* Attempt -1 warms up. Where nearly every start is late, late ones are better than none: what they distort, the median
         * forgives, and the point itself is measured with starts that are not late. */
        if (attempt >= 0 && (all[3] == 0 || attempt >= 2 * wanted)) {
            times[valid++] = c->collective != NULL ? all[0] + all[1] : all[2];
        }
        /* Far off: two looks are enough to send the search elsewhere. */
        if (valid == 2 && ((times[0] > 4 * c->target_ns && times[1] > 4 * c->target_ns) ||
                           (times[0] < c->target_ns / 4 && times[1] < c->target_ns / 4))) {
            break;
        }
    }
    double median = (double)stats_median_of(times, (size_t)valid);
    return median > 1 ? median : 1;
}

/* The search's callback, on rank 0. */
static bool ask_size(void *context, uint64_t size, double *time_ns) {
    struct calibration *c = context;
    int64_t now = timer_now_ns();
    bool late = c->deadline != 0 && now > c->deadline;
    double near = now - c->deadline > c->deadline - c->begin ? NEAR_ENOUGH_TARGET : NEAR_TARGET;
    if (c->data_errors || hard_limit_passed(c->e) || (late && c->asked > 0 && (c->asked >= ASK_AT_LEAST || c->least_error <= near))) {
        return false;
    }
    MPI_CHECK(MPI_Bcast(&size, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD));
    *time_ns = measure_size(c, size);
    double error = fabs(*time_ns / (double)c->target_ns - 1);
    c->least_error = c->asked == 0 || error < c->least_error ? error : c->least_error;
    c->asked++;
    return !c->data_errors;
}

/* Collective: a search, or a second look at what one found (*result). false: wrong data. */
static bool calibrate_one(engine *e, struct calibration *c, struct calibrate_request *request, bool found, struct calibrate_result *result) {
    uint64_t size = 0;
    if (e->rank == 0) {
        request->measure = ask_size;
        request->context = c;
        *result = found ? calibrate_recheck(request, result) : calibrate_search(request);
        MPI_CHECK(MPI_Bcast(&size, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD));
    } else {
        for (;;) {
            MPI_CHECK(MPI_Bcast(&size, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD));
            if (size == 0) {
                break;
            }
            measure_size(c, size);
        }
    }
    MPI_CHECK(MPI_Bcast(result, sizeof *result, MPI_BYTE, 0, MPI_COMM_WORLD));
    return !c->data_errors;
}

/* Largest message that the calibration may try: what the user allows, what half of the rank's memory holds, what an int counts. */
static uint64_t message_limit(const engine *e, const struct collective *collective) {
    uint64_t limit = e->plan->max_message_bytes > 0 ? e->plan->max_message_bytes : MOST_MESSAGE_BYTES;
    uint64_t counted = collective_most_bytes(collective, e->ranks);
    limit = counted < limit ? counted : limit;
    if (e->plan->memory_bytes > 0) {
        uint64_t fits = e->plan->memory_bytes / 2 / collective_most_blocks(collective, e->ranks);
        limit = fits < limit ? fits : limit;
    }
    return limit > MESSAGE_STEP ? limit : MESSAGE_STEP;
}

static uint64_t order_limit(const engine *e) {
    double memory = e->plan->memory_bytes > 0 ? (double)e->plan->memory_bytes / 4 : 4e9;
    double order = floor(sqrt(memory / (double)e->plan->threads / (3 * sizeof(double))));
    return order < 64 ? 64 : order > 16384 ? 16384 : (uint64_t)order;
}

static void say_progress(const engine *e, const char *what, int64_t target_ns, const struct calibrate_result *result) {
    if (e->rank == 0 && !e->plan->quiet) {
        fprintf(stderr, "# calibrated %s for %g ms: size %llu takes %.3f ms (%+.1f %%, %s, %u measurements)\n", what,
                    (double)target_ns / 1e6, (unsigned long long)result->size, result->time_ns / 1e6,
                    100 * result->error_relative, calibrate_status_name(result->status), result->measurements);
    }
}

static struct calibrate_request request_of(const engine *e, const struct collective *collective, int64_t target, double guess) {
    struct calibrate_request request = {.target_ns = (double)target,
                                        .tolerance = e->plan->tolerance,
                                        .min_size = collective != NULL ? MESSAGE_STEP : 2,
                                        .max_size = collective != NULL ? message_limit(e, collective) : order_limit(e),
                                        .step = collective != NULL ? MESSAGE_STEP : 1,
                                        .exponent = collective != NULL ? 1 : 3,
                                        .max_measurements = 30};
    request.initial_size = guess < (double)request.max_size ? (uint64_t)guess : request.max_size;
    return request;
}

/* One axis: the sizes of all targets of a collective, or of the computation. Each target starts from the one before. */
static bool calibrate_axis(engine *e, const struct collective *collective, const int64_t *targets, size_t count,
                           double budget, struct calibrate_result *results) {
    int64_t begin = timer_now_ns();
    double left_weight = 0;
    for (size_t i = 0; i < count; i++) {
        left_weight += (double)targets[i];
    }
    for (size_t i = 0; i < count; i++) {
        double share = (budget - seconds_since(begin)) * (double)targets[i] / left_weight;
        left_weight -= (double)targets[i];
        struct calibration c = {.e = e, .collective = collective, .target_ns = targets[i], .begin = timer_now_ns()};
        if (budget > 0) {
            c.deadline = timer_now_ns() + (int64_t)(fmax(share, 0.05) * 1e9);
        }
        double guess = collective != NULL ? 64 * 1024 : 200;
        if (i > 0 && results[i - 1].time_ns > 0) {
            guess = (double)results[i - 1].size * pow((double)targets[i] / results[i - 1].time_ns, collective != NULL ? 1 : 1.0 / 3);
        }
        struct calibrate_request request = request_of(e, collective, targets[i], guess);
        if (!calibrate_one(e, &c, &request, false, &results[i])) {
            report_data_errors(e);
            return false;
        }
        say_progress(e, collective != NULL ? collective->name : "the computation", targets[i], &results[i]);
    }
    return true;
}

/* Collective. The second look at an axis. deadline (rank 0): nothing new is begun after it; 0: none. false: wrong data. */
static bool recheck_axis(engine *e, const struct collective *collective, const int64_t *targets, size_t count, int64_t deadline,
                         struct calibrate_result *results) {
    for (size_t i = 0; i < count; i++) {
        const struct calibrate_result found = results[i];
        int look = found.status != CALIBRATE_UNREACHABLE && found.time_ns > 0 && (deadline == 0 || timer_now_ns() < deadline);
        MPI_CHECK(MPI_Bcast(&look, 1, MPI_INT, 0, MPI_COMM_WORLD));
        if (look == 0) {
            continue;
        }
        struct calibration c = {
            .e = e, .collective = collective, .target_ns = targets[i], .begin = timer_now_ns(), .deadline = deadline};
        struct calibrate_request request = request_of(e, collective, targets[i], (double)found.size);
        if (!calibrate_one(e, &c, &request, true, &results[i])) {
            report_data_errors(e);
            return false;
        }
        if (results[i].size != found.size) {
            say_progress(e, collective != NULL ? collective->name : "the computation", targets[i], &results[i]);
        }
    }
    return true;
}

static void store_sizes(struct size_list *list, const struct calibrate_result *results) {
    for (size_t i = 0; i < list->count; i++) {
        list->entries[i].size = results[i].size;
        list->entries[i].status = results[i].status;
        list->entries[i].time_ns = (int64_t)results[i].time_ns;
    }
}

/* Sizes from a file: their status is "given", except that what no size was found for stays known as that. */
static void take_sizes(const struct size_list *list, struct calibrate_result *results) {
    for (size_t i = 0; i < list->count; i++) {
        const struct size_entry *entry = &list->entries[i];
        results[i] = (struct calibrate_result){
            .status = entry->status == CALIBRATE_UNREACHABLE || entry->status == CALIBRATE_NOT_MONOTONIC ? entry->status
                                                                                                         : CALIBRATE_GIVEN,
            .size = entry->size,
            .time_ns = (double)entry->time_ns,
            .error_relative =
                entry->time_ns > 0 ? ((double)entry->time_ns - (double)entry->target_ns) / (double)entry->target_ns : 0};
    }
}

bool engine_calibrate(engine *e) {
    const struct engine_plan *plan = e->plan;
    if (plan->sizes_given) {
        for (size_t i = 0; i < plan->collective_count; i++) {
            take_sizes(&e->sizes->collectives[i], e->comm[i]);
        }
        take_sizes(&e->sizes->computation, e->comp);
        return true;
    }
    double axes = (double)plan->collective_count + 1;
    /* of what the start of MPI and of the threads has left; measured from here on */
    const int64_t begin = timer_now_ns();
    const double share = fmax(plan->budget_seconds - seconds_since(e->began), 0.1) * CALIBRATION_SHARE;
    double budget = plan->budget_seconds > 0 ? share / axes : 0;
    if (!calibrate_axis(e, NULL, plan->comp_targets_ns, plan->comp_target_count, budget, e->comp)) {
        return false;
    }
    for (size_t i = 0; i < plan->collective_count; i++) {
        const struct collective *collective = &collective_table[plan->collectives[i]];
        double left = (share - seconds_since(begin)) / (double)(plan->collective_count - i);
        budget = plan->budget_seconds > 0 ? fmax(left, 0.1) : 0;
        if (!calibrate_axis(e, collective, plan->comm_targets_ns, plan->comm_target_count, budget, e->comm[i])) {
            return false;
        }
    }
    const int64_t deadline = plan->budget_seconds > 0 ? begin + (int64_t)(share * 1e9) : 0;
    if (!recheck_axis(e, NULL, plan->comp_targets_ns, plan->comp_target_count, deadline, e->comp)) {
        return false;
    }
    store_sizes(&e->sizes->computation, e->comp);
    for (size_t i = 0; i < plan->collective_count; i++) {
        const struct collective *collective = &collective_table[plan->collectives[i]];
        if (!recheck_axis(e, collective, plan->comm_targets_ns, plan->comm_target_count, deadline, e->comm[i])) {
            return false;
        }
        store_sizes(&e->sizes->collectives[i], e->comm[i]);
    }
    return true;
}

/* ---- one point ---- */

struct point {
    int64_t index;
    size_t collective; /* of the plan */
    size_t comm_target;
    size_t comp_target;
    const struct collective *operation;
    uint64_t message_bytes;
    uint64_t order;
    int64_t late;
    int64_t warmups;
    int64_t data_errors;
    double residual_ns;
    int64_t deadline; /* rank 0: the point's share of the budget ends; 0: none */
    int64_t begin;
};

/* Collective. One triple: communication alone, computation alone, both. false: a rank was late, which is known by the next agreement. */
static bool measure_triple(engine *e, const struct point *p, struct repetition *r) {
    exchange_prepare(e->x, p->operation, p->message_bytes);
    start_agree(e->line);
    time_communication(e, r);
    exchange_check(e->x);
    if (!start_agree(e->line)) {
        return false;
    }
    time_computation(e, p->order, r);
    exchange_prepare(e->x, p->operation, p->message_bytes);
    if (!start_agree(e->line)) {
        return false;
    }
    time_overlap(e, p->order, r);
    exchange_check(e->x);
    return true;
}

static double widest_interval(const engine *e) {
    const stats_series *const series[] = {e->measured, e->comm_ref, e->comp_ref};
    double widest = 0;
    for (size_t i = 0; i < 3; i++) {
        double width = stats_relative_width(series[i]);
        if (width < 0) {
            return -1;
        }
        widest = fmax(widest, width);
    }
    return widest;
}

/* Rank 0's decision after an attempt. */
static enum decision decide(const engine *e, const struct point *p) {
    const struct engine_plan *plan = e->plan;
    int64_t now = timer_now_ns();
    int64_t valid = (int64_t)e->count;
    if (hard_limit_passed(e)) {
        return STOP_BUDGET;
    }
    if (valid < plan->min_repetitions) {
        /* A machine on which nearly every start is late must not hold the run up for ever. */
        return p->late > 50 + 10 * plan->max_repetitions ? STOP_REPETITIONS : GO_ON;
    }
    double widest = widest_interval(e);
    if (widest >= 0 && widest <= plan->interval_relative) {
        return STOP_INTERVAL;
    }
    if (valid >= plan->max_repetitions || p->late > 50 + 10 * plan->max_repetitions) {
        return STOP_REPETITIONS;
    }
    double each = (double)(now - p->begin) / (double)(valid + p->late + p->warmups);
    if (p->deadline != 0 && (double)now + each > (double)p->deadline) {
        return STOP_BUDGET;
    }
    return GO_ON;
}

static void keep_repetition(engine *e, const struct repetition *r) {
    if (e->count == e->own_capacity) {
        e->own_capacity = e->own_capacity > 0 ? 2 * e->own_capacity : 64;
        e->own = fail_realloc(e->own, e->own_capacity, sizeof *e->own);
    }
    e->own[e->count++] = *r;
}

/* Collective. Repeats until rank 0 says stop. */
static enum decision repeat(engine *e, struct point *p) {
    for (;;) {
        struct repetition r = {{0}};
        bool whole = measure_triple(e, p, &r);
        /* Extrapolated clock: good enough to decide; the record gets interpolated times. */
        int64_t all[7] = {clock_to_global(e->clock, r.terms[REF_END]), -clock_to_global(e->clock, r.terms[REF_START]),
                          clock_to_global(e->clock, r.terms[END]),     -clock_to_global(e->clock, r.terms[START]),
                          r.terms[T_COMP_REF],                         !whole || start_was_late(e->line),
                          exchange_faults(e->x) > 0};
        start_forget(e->line);
        MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, all, 7, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD));
        if (all[6] != 0) {
            return STOP_DATA;
        }
        if (p->warmups == 0) {
            p->warmups = 1; /* the first triple of a point: new sizes, cold caches; late or not, it does not count */
            continue;
        }
        if (all[5] != 0) {
            p->late++;
        } else {
            keep_repetition(e, &r);
            if (e->rank == 0) {
                stats_add(e->comm_ref, all[0] + all[1]);
                stats_add(e->measured, all[2] + all[3]);
                stats_add(e->comp_ref, all[4]);
            }
        }
        int decision = GO_ON;
        if (e->rank == 0) {
            decision = decide(e, p);
        }
        MPI_CHECK(MPI_Bcast(&decision, 1, MPI_INT, 0, MPI_COMM_WORLD));
        if (decision != GO_ON) {
            return (enum decision)decision;
        }
    }
}

/* Collective: the synchronisation that closes what was measured since the last; its timestamps become global. */
static void close_timestamps(engine *e, struct point *p) {
    p->residual_ns = clock_synchronise(e->clock);
    for (; e->closed < e->count; e->closed++) {
        int64_t *terms = e->own[e->closed].terms;
        for (int t = REF_START; t <= END; t++) {
            terms[t] = clock_interpolate(e->clock, terms[t]);
        }
    }
}

/* All ranks' repetitions on rank 0, [rank][repetition]; NULL elsewhere. Free it. */
static struct repetition *gather_repetitions(const engine *e) {
    struct repetition *all = e->rank == 0 ? fail_alloc((size_t)e->ranks * e->count, sizeof *all) : NULL;
    int values = (int)e->count * TERMS;
    MPI_CHECK(MPI_Gather(e->own, values, MPI_INT64_T, all, values, MPI_INT64_T, 0, MPI_COMM_WORLD));
    return all;
}

/* Global time of all repetitions: max(end) - min(start) over ranks. */
static void fill_global(const engine *e, const struct repetition *all, enum term start, enum term end, int64_t *out,
                        int64_t *imbalance) {
    for (size_t i = 0; i < e->count; i++) {
        int64_t first = INT64_MAX;
        int64_t latest_start = INT64_MIN;
        int64_t last = INT64_MIN;
        for (size_t rank = 0; rank < (size_t)e->ranks; rank++) {
            const int64_t *terms = all[rank * e->count + i].terms;
            first = terms[start] < first ? terms[start] : first;
            latest_start = terms[start] > latest_start ? terms[start] : latest_start;
            last = terms[end] > last ? terms[end] : last;
        }
        out[i] = last - first;
        if (imbalance != NULL) {
            imbalance[i] = latest_start - first;
        }
    }
}

/* min, median, max and the rank of max over ranks: spread[4][count]. */
static struct record_spread fill_spread(const engine *e, const struct repetition *all, enum term term, int64_t *spread) {
    size_t count = e->count;
    int64_t *values = fail_alloc((size_t)e->ranks, sizeof *values);
    for (size_t i = 0; i < count; i++) {
        int64_t max_rank = 0;
        for (size_t rank = 0; rank < (size_t)e->ranks; rank++) {
            values[rank] = all[rank * count + i].terms[term];
            max_rank = values[rank] > values[max_rank] ? (int64_t)rank : max_rank;
        }
        spread[3 * count + i] = max_rank;
        spread[2 * count + i] = values[max_rank];
        spread[count + i] = stats_median_of(values, (size_t)e->ranks);
        spread[i] = values[0]; /* sorted by stats_median_of */
    }
    free(values);
    return (struct record_spread){spread, spread + count, spread + 2 * count, spread + 3 * count};
}

/* A term of all ranks and repetitions, [rank][repetition]; with second != TERMS the sum of both. */
static void fill_rank_samples(const engine *e, const struct repetition *all, enum term term, enum term second, int64_t *out) {
    for (size_t i = 0; i < (size_t)e->ranks * e->count; i++) {
        out[i] = all[i].terms[term] + (second != TERMS ? all[i].terms[second] : 0);
    }
}

/* Each rank's median of such an array, which is sorted by this. */
static void fill_rank_medians(const engine *e, int64_t *samples, int64_t *out) {
    for (size_t rank = 0; rank < (size_t)e->ranks; rank++) {
        out[rank] = stats_median_of(samples + rank * e->count, e->count);
    }
}

/* On rank 0: the series of the point again, from interpolated timestamps. */
static void refill_series(engine *e, const int64_t *measured, const int64_t *comm_ref, const int64_t *comp_ref) {
    stats_clear(e->measured);
    stats_clear(e->comm_ref);
    stats_clear(e->comp_ref);
    for (size_t i = 0; i < e->count; i++) {
        stats_add(e->measured, measured[i]);
        stats_add(e->comm_ref, comm_ref[i]);
        stats_add(e->comp_ref, comp_ref[i]);
    }
}

static const char *stop_name(enum decision decision, bool measured) {
    if (!measured) {
        return "not_measured";
    }
    return decision == STOP_INTERVAL ? "interval" : decision == STOP_BUDGET ? "budget" : "repetitions";
}

static struct record_calibration calibration_record(const struct calibrate_result *result) {
    return (struct record_calibration){result->status, (int64_t)result->time_ns, result->error_relative, result->measurements};
}

/* Arrays of a record_point, allocated together. */
struct arrays {
    int64_t *measured, *comm_ref, *comp_ref, *imbalance, *spreads, *samples, *medians, *scratch;
};

static struct arrays allocate_arrays(size_t count, size_t ranks) {
    return (struct arrays){.measured = fail_alloc(count, sizeof(int64_t)),
                           .comm_ref = fail_alloc(count, sizeof(int64_t)),
                           .comp_ref = fail_alloc(count, sizeof(int64_t)),
                           .imbalance = fail_alloc(count, sizeof(int64_t)),
                           .spreads = fail_alloc(12 * count, sizeof(int64_t)),
                           .samples = fail_alloc(5 * ranks * count, sizeof(int64_t)),
                           .medians = fail_alloc(4 * ranks, sizeof(int64_t)),
                           .scratch = fail_alloc(ranks * count, sizeof(int64_t))};
}

static void free_arrays(struct arrays *a) {
    free(a->measured);
    free(a->comm_ref);
    free(a->comp_ref);
    free(a->imbalance);
    free(a->spreads);
    free(a->samples);
    free(a->medians);
    free(a->scratch);
}

/* Rank 0: everything the record says about a point, and the point's row of the table. false: the disk refused. */
static bool write_point(engine *e, const struct point *p, const struct repetition *all, struct arrays *a, enum decision decision) {
    const struct calibrate_result *comm = &e->comm[p->collective][p->comm_target];
    const struct calibrate_result *comp = &e->comp[p->comp_target];
    size_t ranks = (size_t)e->ranks;
    size_t block = ranks * e->count;
    static const enum term sampled[5] = {T_CALL, T_COMP, T_WAIT, T_COMM_REF, T_COMP_REF};
    static const enum term summed[4][2] = {{T_CALL, T_WAIT}, {T_COMM_REF, TERMS}, {T_COMP, TERMS}, {T_COMP_REF, TERMS}};
    for (size_t i = 0; i < 5; i++) {
        fill_rank_samples(e, all, sampled[i], TERMS, a->samples + i * block);
    }
    for (size_t i = 0; i < 4; i++) {
        fill_rank_samples(e, all, summed[i][0], summed[i][1], a->scratch);
        fill_rank_medians(e, a->scratch, a->medians + i * ranks);
    }
    const struct record_point record = {
        .index = p->index,
        .collective = p->operation->name,
        .comm_target_ns = e->plan->comm_targets_ns[p->comm_target],
        .comp_target_ns = e->plan->comp_targets_ns[p->comp_target],
        .message_bytes = (int64_t)p->message_bytes,
        .matrix_size = (int64_t)p->order,
        .comm = calibration_record(comm),
        .comp = calibration_record(comp),
        .repetitions = e->count,
        .warmup_repetitions = p->warmups,
        .late_repetitions = p->late,
        .stop_reason = stop_name(decision, e->count > 0),
        .interval_relative_reached = widest_interval(e),
        .data_errors = p->data_errors,
        .clock_method = clock_method(e->clock),
        .clock_residual_ns = p->residual_ns,
        .t_measured_ns = a->measured,
        .t_comm_ref_ns = a->comm_ref,
        .t_comp_ref_ns = a->comp_ref,
        .t_call_ns = fill_spread(e, all, T_CALL, a->spreads),
        .t_comp_ns = fill_spread(e, all, T_COMP, a->spreads + 4 * e->count),
        .t_wait_ns = fill_spread(e, all, T_WAIT, a->spreads + 8 * e->count),
        .start_imbalance_ns = a->imbalance,
        .ranks = ranks,
        .median_t_call_plus_wait_ns = a->medians,
        .median_t_comm_ref_ns = a->medians + ranks,
        .median_t_comp_ns = a->medians + 2 * ranks,
        .median_t_comp_ref_ns = a->medians + 3 * ranks,
        .rank_samples = e->plan->rank_samples || e->ranks <= MOST_RANKS_WITH_SAMPLES,
        .rank_t_call_ns = a->samples,
        .rank_t_comp_ns = a->samples + block,
        .rank_t_wait_ns = a->samples + 2 * block,
        .rank_t_comm_ref_ns = a->samples + 3 * block,
        .rank_t_comp_ref_ns = a->samples + 4 * block,
    };
    for (size_t i = 0; i < e->count; i++) {
        e->result.measured_seconds += (double)(a->measured[i] + a->comm_ref[i] + a->comp_ref[i]) / 1e9;
    }
    if (!e->plan->quiet) {
        table_print_row(&record, stats_median(e->measured), stats_median(e->comm_ref), stats_median(e->comp_ref));
    }
    return record_write_point(e->record, &record);
}

/* Collective. Measures a point and writes it. false: the run ends here. */
static bool measure_point(engine *e, struct point *p) {
    const struct engine_plan *plan = e->plan;
    int64_t shortest = plan->comm_targets_ns[p->comm_target] < plan->comp_targets_ns[p->comp_target]
                           ? plan->comm_targets_ns[p->comm_target]
                           : plan->comp_targets_ns[p->comp_target];
    const struct calibrate_result *comm = &e->comm[p->collective][p->comm_target];
    const struct calibrate_result *comp = &e->comp[p->comp_target];
    p->operation = &collective_table[plan->collectives[p->collective]];
    p->message_bytes = comm->size;
    p->order = comp->size;
    p->begin = timer_now_ns();
    e->count = 0;
    e->closed = 0;
    stats_clear(e->measured);
    stats_clear(e->comm_ref);
    stats_clear(e->comp_ref);

    int measure = comm->status != CALIBRATE_UNREACHABLE && comp->status != CALIBRATE_UNREACHABLE;
    if (hard_limit_passed(e)) {
        measure = 0;
    }
    MPI_CHECK(MPI_Bcast(&measure, 1, MPI_INT, 0, MPI_COMM_WORLD));

    enum decision decision = STOP_REPETITIONS;
    struct repetition *all = NULL;
    struct arrays a = {0};
    p->residual_ns = clock_synchronise(e->clock); /* opens the point */
    if (measure != 0) {
        compute_reserve(e->team, p->order);
        start_begin(e->line, late_tolerance(shortest));
    }
    for (bool again = measure != 0, first = true; again || first; first = false) {
        if (again) {
            decision = repeat(e, p);
            close_timestamps(e, p);
        }
        if (decision == STOP_DATA) {
            p->data_errors = report_data_errors(e);
        }
        free(all);
        free_arrays(&a);
        all = gather_repetitions(e);
        int more = 0;
        a = (struct arrays){0};
        if (e->rank == 0) {
            a = allocate_arrays(e->count, (size_t)e->ranks);
            fill_global(e, all, START, END, a.measured, a.imbalance);
            fill_global(e, all, REF_START, REF_END, a.comm_ref, NULL);
            for (size_t i = 0; i < e->count; i++) {
                for (size_t rank = 0; rank < (size_t)e->ranks; rank++) {
                    int64_t time = all[rank * e->count + i].terms[T_COMP_REF];
                    a.comp_ref[i] = time > a.comp_ref[i] ? time : a.comp_ref[i];
                }
            }
            refill_series(e, a.measured, a.comm_ref, a.comp_ref);
            /* Interpolated times may be a little wider than the extrapolated ones that the stop was decided on: then it was none. */
            more = decision == STOP_INTERVAL && !(widest_interval(e) <= plan->interval_relative);
        }
        MPI_CHECK(MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD));
        again = more != 0;
    }
    int good = 1;
    if (e->rank == 0) {
        good = write_point(e, p, all, &a, decision);
        if (good == 0) {
            snprintf(e->reason, sizeof e->reason, "%s", record_error(e->record));
        } else {
            e->result.points++;
        }
    }
    free(all);
    free_arrays(&a);
    MPI_CHECK(MPI_Bcast(&good, 1, MPI_INT, 0, MPI_COMM_WORLD));
    if (good == 0) {
        e->result.end = ENGINE_RECORD_ERROR;
        return false;
    }
    return decision != STOP_DATA;
}

/* What a point takes, relative to others: two times each of its references, and what starting and checking cost. */
static double point_weight(const engine *e, size_t comm_target, size_t comp_target) {
    return 2e-9 * (double)(e->plan->comm_targets_ns[comm_target] + e->plan->comp_targets_ns[comp_target]) + 2e-3;
}

void engine_measure(engine *e) {
    const struct engine_plan *plan = e->plan;
    double weight_left = 0;
    for (size_t i = 0; i < plan->comm_target_count; i++) {
        for (size_t j = 0; j < plan->comp_target_count; j++) {
            weight_left += point_weight(e, i, j) * (double)plan->collective_count;
        }
    }
    struct point p = {0};
    int64_t index = 0;
    if (e->rank == 0 && !plan->quiet) {
        table_print_head();
    }
    for (size_t c = 0; c < plan->collective_count; c++) {
        for (size_t i = 0; i < plan->comm_target_count; i++) {
            for (size_t j = 0; j < plan->comp_target_count; j++) {
                double weight = point_weight(e, i, j);
                double left = plan->budget_seconds - CLOSING_SECONDS - seconds_since(e->began);
                p = (struct point){.index = index++, .collective = c, .comm_target = i, .comp_target = j};
                if (plan->budget_seconds > 0) {
                    /* the remaining time is divided over the remaining points; what one does not need goes to the others */
                    p.deadline = timer_now_ns() + (int64_t)(fmax(left, 0) * weight / weight_left * 1e9) + 1;
                }
                weight_left -= weight;
                if (!measure_point(e, &p)) {
                    return;
                }
            }
        }
    }
}
