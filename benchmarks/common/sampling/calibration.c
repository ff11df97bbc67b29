#include "calibration.h"

#include "fail.h"
#include "fail_mpi.h"
#include "size_search_mpi.h"
#include "stats.h"
#include "timer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The share of a budget that calibration may take. */
#define CALIBRATION_SHARE 0.3

/* A calibrated message is at least one cache line and grows by lines. */
#define MESSAGE_STEP 64
#define MOST_MESSAGE_BYTES (UINT64_C(1) << 30)

/* Of a longer target three measurements of a size are enough: what disturbs them is shorter. */
#define LONG_NS INT64_C(10000000)

/* A search whose time is up goes on until it has a size within NEAR_TARGET or has measured ASK_AT_LEAST sizes: a size
 * that is wrong by factors would make every repetition of its points worthless. */
enum { ASK_AT_LEAST = 12 };
#define NEAR_TARGET 0.1
#define NEAR_ENOUGH_TARGET 0.2 /* instead of NEAR_TARGET when it has taken twice its time */

/* The time of a search is up after ENOUGH_NS and ENOUGH_TARGETS times its target at the latest, whatever the budget has
 * left: on a machine whose speed moves by more than the tolerance more measurements do not help, and the time is better
 * spent on repetitions. */
#define ENOUGH_NS INT64_C(1000000000)
#define ENOUGH_TARGETS 20

/* A search ends after SEARCH_NS and SEARCH_TARGETS times its target in any case: where ranks share cores, it never
 * converges. */
#define SEARCH_NS INT64_C(10000000000)
#define SEARCH_TARGETS 100

struct calibration {
    const struct plan *plan;
    struct bench *bench;
    struct size_table *sizes;
    struct size_search_result **comm; /* [collective][target] */
    struct size_search_result *comp;  /* [target] */
};

/* One search, on all ranks. */
struct job {
    calibration *c;
    const struct collective *collective; /* NULL: the computation */
    int64_t target_ns;
    int64_t begin;
    int64_t deadline; /* rank 0: when its time is up by the budget; 0: there is no budget */
    unsigned asked;   /* sizes measured so far; least_error: their smallest error */
    double least_error;
    bool data_errors;
};

static struct size_entry *list_targets(const int64_t *targets, size_t count) {
    struct size_entry *entries = fail_alloc(count, sizeof *entries);
    for (size_t i = 0; i < count; i++) {
        entries[i].target_ns = targets[i];
    }
    return entries;
}

void calibration_check_options(const char *sizes, const char *save_sizes, int64_t max_message_bytes, char *error,
                               size_t error_size) {
    if (sizes != NULL && save_sizes != NULL) {
        snprintf(error, error_size,
                 "--save-sizes has nothing to save with --sizes, which calibrates nothing; use one of them");
    } else if (sizes != NULL && max_message_bytes > 0) {
        snprintf(error, error_size,
                 "--max-message-bytes bounds the calibration, and --sizes calibrates nothing; use one of them");
    }
}

struct size_table calibration_sizes_create(const struct plan *plan, int ranks) {
    struct size_table sizes = {.ranks = ranks,
                               .threads_per_rank = plan->threads,
                               .given_up_cores = plan->given_up_cores,
                               .computation = compute_kernels[plan->computation].name,
                               .collective_count = plan->collective_count};
    sizes.collectives = fail_alloc(sizes.collective_count, sizeof *sizes.collectives);
    for (size_t i = 0; i < sizes.collective_count; i++) {
        sizes.collectives[i] =
            (struct size_list){.name = collective_table[plan->collectives[i]].name,
                               .entries = list_targets(plan->comm_targets_ns, plan->comm_target_count),
                               .count = plan->comm_target_count};
    }
    sizes.work = (struct size_list){.entries = list_targets(plan->comp_targets_ns, plan->comp_target_count),
                                    .count = plan->comp_target_count};
    sizes.points = fail_alloc(size_table_point_count(&sizes), sizeof *sizes.points);
    return sizes;
}

void calibration_sizes_free(struct size_table *sizes) {
    for (size_t i = 0; i < sizes->collective_count; i++) {
        free(sizes->collectives[i].entries);
    }
    free(sizes->collectives);
    free(sizes->work.entries);
    free(sizes->points);
    *sizes = (struct size_table){0};
}

/* Checks a size of the computation: one line in error, unless there is one already, where it is too large. */
static void check_work(const struct plan *plan, uint64_t size, const char *path, char *error, size_t error_size) {
    const struct compute_kernel *kernel = &compute_kernels[plan->computation];
    if (size > kernel->most && error[0] == '\0') {
        snprintf(error, error_size, "sizes file '%s': %s of size %llu; at most %llu is possible", path, kernel->name,
                 (unsigned long long)size, (unsigned long long)kernel->most);
    }
}

void calibration_sizes_check(const struct plan *plan, const struct size_table *sizes, const char *path, char *error,
                             size_t error_size) {
    for (size_t i = 0; i < sizes->work.count; i++) {
        check_work(plan, sizes->work.entries[i].size, path, error, error_size);
    }
    for (size_t i = 0; i < size_table_point_count(sizes) && error[0] == '\0'; i++) {
        const struct collective *collective =
            &collective_table[plan->collectives[i / (size_table_point_count(sizes) / sizes->collective_count)]];
        const uint64_t bytes = sizes->points[i].message_bytes;
        const uint64_t size = sizes->points[i].work_size;
        const uint64_t most = collective_most_bytes(collective, (int)sizes->ranks);
        check_work(plan, size, path, error, error_size);
        if (error[0] != '\0') {
            return;
        }
        const double sets = plan->cold ? 2 : 1;
        const double messages = sets * (double)bytes * (double)collective_most_blocks(collective, (int)sizes->ranks);
        const double needed = messages + compute_bytes(plan->computation, size, plan->threads);
        if ((bytes == 0) == collective_has_message(collective)) {
            snprintf(error, error_size, "sizes file '%s': %llu bytes of %s, which has %s", path,
                     (unsigned long long)bytes, collective->name, bytes == 0 ? "a message" : "none");
        } else if (bytes % COLLECTIVE_ELEMENT != 0 || bytes > most) {
            snprintf(error, error_size, "sizes file '%s': %llu bytes of %s; a multiple of %d up to %llu is needed",
                     path, (unsigned long long)bytes, collective->name, COLLECTIVE_ELEMENT, (unsigned long long)most);
        } else if (plan->memory_bytes > 0 && needed > (double)plan->memory_bytes) {
            const double left = (double)plan->memory_bytes - messages;
            snprintf(error, error_size,
                     "sizes file '%s': %llu bytes of %s and %s of size %llu need %.0f MiB on a rank, whose share of "
                     "memory is %.0f MiB; beside these messages %s of size %llu is the most",
                     path, (unsigned long long)bytes, collective->name, compute_kernels[plan->computation].name,
                     (unsigned long long)size, needed / 1048576, (double)plan->memory_bytes / 1048576,
                     compute_kernels[plan->computation].name,
                     (unsigned long long)compute_most(plan->computation, left, plan->threads));
        }
    }
}

/* Returns the bytes that a rank may take for its computation. */
static double work_memory(const struct plan *plan) {
    return plan->memory_bytes > 0 ? (double)plan->memory_bytes / 4 : 4e9;
}

void calibration_memory_check(const struct plan *plan, char *error, size_t error_size) {
    const struct compute_kernel *kernel = &compute_kernels[plan->computation];
    const double memory = work_memory(plan);
    const double needed = compute_bytes(plan->computation, kernel->least, plan->threads);
    if (plan->memory_bytes > 0 && needed > memory) {
        int most = plan->threads - 1;
        while (most > 0 && compute_bytes(plan->computation, kernel->least, most) > memory) {
            most--;
        }
        snprintf(error, error_size,
                 "%s of %d threads needs %.0f MiB on a rank, which may take %.0f MiB for computing, a quarter of its "
                 "share of memory; %d threads are the most",
                 kernel->name, plan->threads, needed / 1048576, memory / 1048576, most);
    }
}

void calibration_sizes_share(struct size_table *sizes) {
    for (size_t i = 0; i <= sizes->collective_count; i++) {
        struct size_list *list = i < sizes->collective_count ? &sizes->collectives[i] : &sizes->work;
        MPI_CHECK(MPI_Bcast(list->entries, (int)(list->count * sizeof *list->entries), MPI_BYTE, 0, MPI_COMM_WORLD));
    }
    MPI_CHECK(MPI_Bcast(sizes->points, (int)(size_table_point_count(sizes) * sizeof *sizes->points), MPI_BYTE, 0,
                        MPI_COMM_WORLD));
}

calibration *calibration_create(const struct plan *plan, struct bench *bench, struct size_table *sizes) {
    calibration *c = fail_alloc(1, sizeof *c);
    c->plan = plan;
    c->bench = bench;
    c->sizes = sizes;
    c->comm = fail_alloc(plan->collective_count, sizeof *c->comm);
    for (size_t i = 0; i < plan->collective_count; i++) {
        c->comm[i] = fail_alloc(plan->comm_target_count, sizeof **c->comm);
    }
    c->comp = fail_alloc(plan->comp_target_count, sizeof *c->comp);
    return c;
}

void calibration_destroy(calibration *c) {
    if (c != NULL) {
        for (size_t i = 0; i < c->plan->collective_count; i++) {
            free(c->comm[i]);
        }
        free(c->comm);
        free(c->comp);
        free(c);
    }
}

bool calibration_can_take(const struct size_search_result *result) {
    return result->status != SIZE_UNREACHABLE && result->status != SIZE_NOT_SEARCHED;
}

const struct size_search_result *calibration_comm(const calibration *c, size_t collective, size_t target) {
    return &c->comm[collective][target];
}

const struct size_search_result *calibration_comp(const calibration *c, size_t target) {
    return &c->comp[target];
}

/* Collective: the median time of a size on all ranks, over a few repetitions. */
static double measure_size(void *context, uint64_t size) {
    enum { MOST = 5 };
    struct job *job = context;
    struct bench *bench = job->c->bench;
    const struct bench_work work = {.collective = job->collective,
                                    .message_bytes = job->collective != NULL ? size : 0,
                                    .work_size = job->collective != NULL ? 0 : size,
                                    .pieces = plan_pieces(job->c->plan, job->target_ns)};
    int wanted = job->target_ns > LONG_NS ? 3 : MOST;
    int64_t times[MOST];
    int valid = 0;
    bench_keep_clock(bench);
    bench_take(bench, &work);
    start_begin(bench->line, repetition_tolerance(job->target_ns));
    for (int attempt = wanted == MOST ? -1 : 0; valid < wanted; attempt++) {
        const struct bench_outcome outcome = bench_reference(bench);
        if (outcome.wrong_data) {
            job->data_errors = true;
            return -1;
        }
        /* Attempt -1 warms up; where each takes long, the median does without. */
        if (attempt >= 0) {
            times[valid++] = outcome.time_ns;
        }
        /* Far from the target two measurements are enough for the search to go on elsewhere. */
        if (valid == 2 && ((times[0] > 4 * job->target_ns && times[1] > 4 * job->target_ns) ||
                           (times[0] < job->target_ns / 4 && times[1] < job->target_ns / 4))) {
            break;
        }
    }
    double median = fmax((double)stats_median_of(times, (size_t)valid), 1);
    double error = fabs(median / (double)job->target_ns - 1);
    job->least_error = job->asked == 0 || error < job->least_error ? error : job->least_error;
    job->asked++;
    return median;
}

/* Rank 0: whether a search has time for one more size. */
static bool has_time(void *context) {
    const struct job *job = context;
    const int64_t now = timer_now_ns();
    const int64_t enough = job->begin + ENOUGH_NS + ENOUGH_TARGETS * job->target_ns;
    const int64_t deadline = job->deadline != 0 && job->deadline < enough ? job->deadline : enough;
    const double near = now - deadline > deadline - job->begin ? NEAR_ENOUGH_TARGET : NEAR_TARGET;
    const bool too_long = now - job->begin > SEARCH_NS + SEARCH_TARGETS * job->target_ns;
    const bool late_enough = now > deadline && (job->asked >= ASK_AT_LEAST || job->least_error <= near);
    return !budget_is_over(&job->c->plan->budget) && !(job->asked > 0 && (too_long || late_enough));
}

/* Largest message that the calibration may try: what the user allows, what half of the rank's memory holds, what an int
 * counts. */
static uint64_t message_limit(const calibration *c, const struct collective *collective) {
    uint64_t limit = c->plan->max_message_bytes > 0 ? c->plan->max_message_bytes : MOST_MESSAGE_BYTES;
    uint64_t counted = collective_most_bytes(collective, c->bench->ranks);
    limit = counted < limit ? counted : limit;
    if (c->plan->memory_bytes > 0) {
        uint64_t fits =
            c->plan->memory_bytes / (c->plan->cold ? 4 : 2) / collective_most_blocks(collective, c->bench->ranks);
        limit = fits < limit ? fits : limit;
    }
    return limit > MESSAGE_STEP ? limit : MESSAGE_STEP;
}

/* Largest work that the calibration may try. */
static uint64_t work_limit(const calibration *c) {
    const enum compute_kind kind = c->plan->computation;
    const uint64_t most = compute_most(kind, work_memory(c->plan), c->plan->threads);
    return most > compute_kernels[kind].least ? most : compute_kernels[kind].least;
}

static void say_progress(const calibration *c, const char *what, int64_t target_ns,
                         const struct size_search_result *result) {
    if (c->bench->rank == 0 && !calibration_can_take(result)) {
        const char *why = result->status == SIZE_UNREACHABLE ? "no size reaches this time"
                                                             : "the time was up before a size was looked for";
        fail_report("%s for %g ms: %s; the closest, %llu, takes %.3f ms", what, (double)target_ns / 1e6, why,
                    (unsigned long long)result->size, result->time_ns / 1e6);
        return;
    }
    if (c->bench->rank == 0 && !c->plan->quiet) {
        fprintf(stderr, "# calibrated %s for %g ms: size %llu takes %.3f ms (%+.1f %%, %s, %u measurements)\n", what,
                (double)target_ns / 1e6, (unsigned long long)result->size, result->time_ns / 1e6,
                100 * result->error_relative, size_status_name(result->status), result->measurements);
    }
}

static const char *name_of(const struct collective *collective) {
    return collective != NULL ? collective->name : "the computation";
}

/* Returns e where the time is expected to grow as size^e. */
static double exponent_of(const calibration *c, const struct collective *collective) {
    return collective != NULL ? 1 : compute_kernels[c->plan->computation].exponent;
}

static struct size_search_request request_of(const calibration *c, const struct collective *collective, int64_t target,
                                             double guess) {
    const struct compute_kernel *kernel = &compute_kernels[c->plan->computation];
    struct size_search_request request = {.target_ns = (double)target,
                                          .tolerance = PLAN_TOLERANCE,
                                          .min_size = collective != NULL ? MESSAGE_STEP : kernel->least,
                                          .max_size = collective != NULL ? message_limit(c, collective) : work_limit(c),
                                          .step = collective != NULL ? MESSAGE_STEP : kernel->step,
                                          .exponent = exponent_of(c, collective),
                                          .max_measurements = 30,
                                          .go_on = has_time};
    request.initial_size = guess < (double)request.max_size ? (uint64_t)guess : request.max_size;
    return request;
}

/* Collective: a search, or a recheck where found is not NULL. It is repeated where the clock was refused meanwhile,
 * because that clock has misled it. */
static bool run_job(struct job *job, const struct size_search_request *request, const struct size_search_result *found,
                    struct size_search_result *result) {
    clock_model *clock = job->c->bench->clock;
    for (bool again = true; again;) {
        const bool had_clock = clock_quality_of(clock).method != CLOCK_NONE;
        job->begin = timer_now_ns();
        job->asked = 0;
        job->least_error = 0;
        const struct size_search_result searched =
            found != NULL ? size_search_mpi_recheck(MPI_COMM_WORLD, request, found, measure_size, job)
                          : size_search_mpi_run(MPI_COMM_WORLD, request, measure_size, job);
        if (job->data_errors) {
            return false;
        }
        *result = searched;
        again = had_clock && !clock_synchronise(clock);
    }
    return true;
}

/* Collective: measures a collective without data, which takes the same time whatever the target. */
static bool measure_without_message(calibration *c, const struct collective *collective, const int64_t *targets,
                                    size_t count, struct size_search_result *results) {
    struct job job = {.c = c, .collective = collective, .target_ns = targets[0], .begin = timer_now_ns()};
    double time = measure_size(&job, 0);
    if (!job.data_errors) {
        job.target_ns = (int64_t)time; /* which tells how precise a start has to be */
        time = measure_size(&job, 0);
    }
    for (size_t i = 0; i < count; i++) {
        results[i] = (struct size_search_result){.status = SIZE_NO_MESSAGE,
                                                 .time_ns = time,
                                                 .error_relative = time / (double)targets[i] - 1,
                                                 .measurements = job.asked};
    }
    if (!job.data_errors && c->bench->rank == 0 && !c->plan->quiet) {
        fprintf(stderr, "# %s has no message: it takes %.4f ms, and the communication axis has this one time\n",
                collective->name, time / 1e6);
    }
    return !job.data_errors;
}

/* Collective: searches the sizes of all targets of a collective, or of the computation. Each search starts from the
 * size of the target before. */
static bool search_axis(calibration *c, const struct collective *collective, const int64_t *targets, size_t count,
                        double budget, struct size_search_result *results) {
    if (collective != NULL && !collective_has_message(collective)) {
        return measure_without_message(c, collective, targets, count, results);
    }
    int64_t begin = timer_now_ns();
    double left_weight = 0;
    for (size_t i = 0; i < count; i++) {
        left_weight += (double)targets[i];
    }
    for (size_t i = 0; i < count; i++) {
        double share = (budget - (double)(timer_now_ns() - begin) / 1e9) * (double)targets[i] / left_weight;
        left_weight -= (double)targets[i];
        struct job job = {.c = c, .collective = collective, .target_ns = targets[i], .begin = timer_now_ns()};
        if (budget > 0) {
            job.deadline = timer_now_ns() + (int64_t)(fmax(share, 0.05) * 1e9);
        }
        double guess = collective != NULL ? 64 * 1024 : (double)compute_kernels[c->plan->computation].first_guess;
        if (i > 0 && results[i - 1].time_ns > 0) {
            guess = (double)results[i - 1].size *
                    pow((double)targets[i] / results[i - 1].time_ns, 1 / exponent_of(c, collective));
        }
        const struct size_search_request request = request_of(c, collective, targets[i], guess);
        if (!run_job(&job, &request, NULL, &results[i])) {
            return false;
        }
        say_progress(c, name_of(collective), targets[i], &results[i]);
    }
    return true;
}

/* Collective: rechecks one size. deadline (rank 0): 0 for none. */
static bool look_again(calibration *c, const struct collective *collective, int64_t target, double agreement,
                       int64_t deadline, struct size_search_result *result) {
    const struct size_search_result before = *result;
    struct job job = {
        .c = c, .collective = collective, .target_ns = target, .begin = timer_now_ns(), .deadline = deadline};
    struct size_search_request request = request_of(c, collective, target, (double)before.size);
    request.agreement = agreement;
    if (!run_job(&job, &request, &before, result)) {
        return false;
    }
    if (result->size != before.size) {
        say_progress(c, name_of(collective), target, result);
    }
    return true;
}

/* Collective: rechecks the sizes of an axis. deadline (rank 0): no recheck begins after it; 0: none. false: wrong data.
 */
static bool recheck_axis(calibration *c, const struct collective *collective, const int64_t *targets, size_t count,
                         int64_t deadline, struct size_search_result *results) {
    for (size_t i = 0; i < count; i++) {
        int look = calibration_can_take(&results[i]) && results[i].status != SIZE_NO_MESSAGE &&
                   (deadline == 0 || timer_now_ns() < deadline);
        MPI_CHECK(MPI_Bcast(&look, 1, MPI_INT, 0, MPI_COMM_WORLD));
        if (look != 0 && !look_again(c, collective, targets[i], 0, deadline, &results[i])) {
            return false;
        }
    }
    return true;
}

static void store_sizes(struct size_list *list, const struct size_search_result *results) {
    for (size_t i = 0; i < list->count; i++) {
        list->entries[i].size = results[i].size;
        list->entries[i].status = results[i].status;
        list->entries[i].time_ns = (int64_t)results[i].time_ns;
    }
}

static bool is_known_to_fail(enum size_status status) {
    return status == SIZE_UNREACHABLE || status == SIZE_NOT_SEARCHED || status == SIZE_NOT_MONOTONIC;
}

/* Takes over the sizes of a file. Their status becomes "given"; a target for which no size was found keeps its status.
 */
static void take_sizes(const struct size_list *list, struct size_search_result *results) {
    for (size_t i = 0; i < list->count; i++) {
        const struct size_entry *entry = &list->entries[i];
        results[i] = (struct size_search_result){
            .status = is_known_to_fail(entry->status) || entry->status == SIZE_NO_MESSAGE ? entry->status : SIZE_GIVEN,
            .size = entry->size,
            .time_ns = (double)entry->time_ns,
            .error_relative = entry->time_ns > 0
                                  ? ((double)entry->time_ns - (double)entry->target_ns) / (double)entry->target_ns
                                  : 0};
    }
}

static void take_all_sizes(calibration *c) {
    for (size_t i = 0; i < c->plan->collective_count; i++) {
        take_sizes(&c->sizes->collectives[i], c->comm[i]);
    }
    take_sizes(&c->sizes->work, c->comp);
}

bool calibration_search(calibration *c) {
    const struct plan *plan = c->plan;
    if (plan->sizes_given) {
        take_all_sizes(c);
        return true;
    }
    double axes = (double)plan->collective_count + 1;
    /* of what the start of MPI and of the threads has left; measured from here on */
    const int64_t begin = timer_now_ns();
    const double share = fmax(plan->budget.seconds - budget_elapsed_seconds(&plan->budget), 0.1) * CALIBRATION_SHARE;
    double budget = plan->budget.seconds > 0 ? share / axes : 0;
    if (!search_axis(c, NULL, plan->comp_targets_ns, plan->comp_target_count, budget, c->comp)) {
        return false;
    }
    for (size_t i = 0; i < plan->collective_count; i++) {
        const struct collective *collective = &collective_table[plan->collectives[i]];
        double left = (share - (double)(timer_now_ns() - begin) / 1e9) / (double)(plan->collective_count - i);
        budget = plan->budget.seconds > 0 ? fmax(left, 0.1) : 0;
        if (!search_axis(c, collective, plan->comm_targets_ns, plan->comm_target_count, budget, c->comm[i])) {
            return false;
        }
    }
    const int64_t deadline = plan->budget.seconds > 0 ? begin + (int64_t)(share * 1e9) : 0;
    if (!recheck_axis(c, NULL, plan->comp_targets_ns, plan->comp_target_count, deadline, c->comp)) {
        return false;
    }
    store_sizes(&c->sizes->work, c->comp);
    for (size_t i = 0; i < plan->collective_count; i++) {
        const struct collective *collective = &collective_table[plan->collectives[i]];
        if (!recheck_axis(c, collective, plan->comm_targets_ns, plan->comm_target_count, deadline, c->comm[i])) {
            return false;
        }
        store_sizes(&c->sizes->collectives[i], c->comm[i]);
    }
    return true;
}

bool calibration_renew(calibration *c, size_t collective, size_t target, double agreement, int64_t deadline) {
    const struct plan *plan = c->plan;
    struct size_search_result *result =
        collective == CALIBRATION_COMPUTATION ? &c->comp[target] : &c->comm[collective][target];
    const struct size_search_result before = *result;
    bool good = false;
    if (collective == CALIBRATION_COMPUTATION) {
        good = look_again(c, NULL, plan->comp_targets_ns[target], agreement, deadline, result);
    } else {
        good = look_again(c, &collective_table[plan->collectives[collective]], plan->comm_targets_ns[target], agreement,
                          deadline, result);
    }
    if (!calibration_can_take(result)) {
        *result = before; /* a size was found before: this recheck was disturbed */
    }
    if (collective == CALIBRATION_COMPUTATION) {
        store_sizes(&c->sizes->work, c->comp);
    } else {
        store_sizes(&c->sizes->collectives[collective], c->comm[collective]);
    }
    return good;
}
