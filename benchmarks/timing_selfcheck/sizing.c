#include "sizing.h"

#include "fail.h"
#include "fail_mpi.h"
#include "message.h"
#include "search.h"
#include "stats.h"
#include "timer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define TOLERANCE 0.02

/* A message is at least one cache line and grows by lines. */
#define MESSAGE_STEP 64
#define MOST_MESSAGE_BYTES (UINT64_C(1) << 30)
#define MOST_ORDER 100000
#define MATRIX_BYTES(order, threads) (3.0 * sizeof(double) * (double)(order) * (double)(order) * (double)(threads))

enum { MOST_MEASUREMENTS = 30, MOST_LOOKS = 5 };

/* A search ends, with what it has, after this and so many times its target: where ranks share cores nothing converges. */
#define SEARCH_NS INT64_C(10000000000)
#define SEARCH_TARGETS 100

static struct size_entry *list_targets(const struct settings *settings) {
    struct size_entry *entries = fail_alloc(settings->targets.count, sizeof *entries);
    for (size_t i = 0; i < settings->targets.count; i++) {
        entries[i].target_ns = settings->targets.values[i];
    }
    return entries;
}

struct size_table sizing_list(const struct settings *settings, int ranks, int threads) {
    struct size_table table = {.ranks = ranks, .threads_per_rank = threads, .collectives = fail_alloc(1, sizeof *table.collectives)};
    if (ranks > 1) {
        table.collective_count = 1;
        table.collectives[0] =
            (struct size_list){.name = SIZING_COLLECTIVE, .entries = list_targets(settings), .count = settings->targets.count};
    }
    table.computation = (struct size_list){.entries = list_targets(settings), .count = settings->targets.count};
    return table;
}

void sizing_free(struct size_table *table) {
    if (table->collectives != NULL) {
        free(table->collectives[0].entries);
        free(table->collectives);
    }
    free(table->computation.entries);
    *table = (struct size_table){0};
}

/* That of the table which has the sizes of a kind; NULL: it is not measured. */
static struct size_list *list_of(struct size_table *table, enum work_kind kind) {
    return kind == WORK_COMPUTATION ? &table->computation : table->collective_count > 0 ? &table->collectives[0] : NULL;
}

void sizing_broadcast(struct size_table *table) {
    for (enum work_kind kind = WORK_COMPUTATION; kind <= WORK_COMMUNICATION; kind++) {
        struct size_list *list = list_of(table, kind);
        if (list != NULL) {
            MPI_CHECK(MPI_Bcast(list->entries, (int)(list->count * sizeof *list->entries), MPI_BYTE, 0, MPI_COMM_WORLD));
        }
    }
}

void sizing_check(const struct settings *settings, const struct size_table *table, uint64_t memory_bytes, char *error, size_t error_size) {
    for (size_t i = 0; i < table->computation.count; i++) {
        const uint64_t order = table->computation.entries[i].size;
        const uint64_t bytes = table->collective_count > 0 ? table->collectives[0].entries[i].size : 0;
        if (order > MOST_ORDER) {
            snprintf(error, error_size, "sizes file '%s': a matrix of order %llu; at most %d is possible", settings->sizes,
                     (unsigned long long)order, MOST_ORDER);
            return;
        }
        if (bytes % MESSAGE_ELEMENT != 0 || bytes > MESSAGE_MOST_BYTES) {
            snprintf(error, error_size, "sizes file '%s': %llu bytes of %s; a multiple of %d up to %llu is needed", settings->sizes,
                     (unsigned long long)bytes, SIZING_COLLECTIVE, MESSAGE_ELEMENT, (unsigned long long)MESSAGE_MOST_BYTES);
            return;
        }
        const double needed = (double)bytes + MATRIX_BYTES(order, table->threads_per_rank);
        if (memory_bytes > 0 && needed > (double)memory_bytes) {
            snprintf(error, error_size,
                     "sizes file '%s': %llu bytes of %s and matrices of order %llu need %.0f MiB on a rank, whose share of memory is %.0f MiB",
                     settings->sizes, (unsigned long long)bytes, SIZING_COLLECTIVE, (unsigned long long)order, needed / 1048576,
                     (double)memory_bytes / 1048576);
            return;
        }
    }
}

/* ---- the search ---- */

struct searching {
    sampler *s;
    enum work_kind kind;
    int64_t target_ns;
    int64_t deadline; /* rank 0 */
    bool wrong_data;
};

/* Collective. The median of a few samples; negative: wrong data. */
static double measure_size(void *context, uint64_t size) {
    struct searching *c = context;
    const int wanted = c->target_ns > 100000000 ? 3 : MOST_LOOKS;
    int64_t times[MOST_LOOKS];
    int valid = 0;
    sampler_begin(c->s, c->kind, size, c->target_ns);
    for (int attempt = -1; valid < wanted; attempt++) {
        struct sample sample = sampler_take(c->s);
        if (sample.wrong_data) {
            c->wrong_data = true;
            return -1;
        }
        /* The first warms up. Where nearly every start is late, late ones are better than none; the samples themselves are not late. */
        if (attempt >= 0 && (!sample.late || attempt >= 2 * wanted)) {
            times[valid++] = sample.time_ns;
        }
        /* Far off: two looks are enough to send the search elsewhere. */
        if (valid == 2 && ((times[0] > 4 * c->target_ns && times[1] > 4 * c->target_ns) ||
                           (times[0] < c->target_ns / 4 && times[1] < c->target_ns / 4))) {
            break;
        }
    }
    return fmax((double)stats_median_of(times, (size_t)valid), 1);
}

static bool may_go_on(void *context) {
    const struct searching *c = context;
    return timer_now_ns() < c->deadline;
}

static uint64_t largest_size(const struct session *session, enum work_kind kind) {
    const double memory = session->memory_bytes > 0 ? (double)session->memory_bytes : 16e9;
    if (kind == WORK_COMPUTATION) {
        const double order = floor(sqrt(memory / 4 / MATRIX_BYTES(1, session->threads)));
        return order < 64 ? 64 : order > 16384 ? 16384 : (uint64_t)order;
    }
    const int64_t asked = session->settings->max_message_bytes;
    const double most = fmin(memory / 2, asked > 0 ? (double)asked : (double)MOST_MESSAGE_BYTES);
    return most < MESSAGE_STEP ? MESSAGE_STEP : (uint64_t)fmin(most, (double)MESSAGE_MOST_BYTES);
}

/* Collective. A search, or a second look at what one found. false: wrong data. */
static bool search_size(const struct session *session, struct searching *c, double guess, const struct calibrate_result *found,
                        struct calibrate_result *result) {
    const bool computes = c->kind == WORK_COMPUTATION;
    struct calibrate_request request = {.target_ns = (double)c->target_ns,
                                        .tolerance = TOLERANCE,
                                        .min_size = computes ? 2 : MESSAGE_STEP,
                                        .max_size = largest_size(session, c->kind),
                                        .step = computes ? 1 : MESSAGE_STEP,
                                        .exponent = computes ? 3 : 1,
                                        .max_measurements = MOST_MEASUREMENTS,
                                        .go_on = may_go_on};
    request.initial_size = guess < (double)request.max_size ? (uint64_t)guess : request.max_size;
    for (bool again = true; again && !c->wrong_data;) {
        const bool had_clock = clock_quality_of(session->clock).method != CLOCK_NONE;
        c->deadline = timer_now_ns() + SEARCH_NS + SEARCH_TARGETS * c->target_ns;
        *result = found != NULL ? search_again(MPI_COMM_WORLD, &request, found, measure_size, c)
                                : search_run(MPI_COMM_WORLD, &request, measure_size, c);
        /* A clock that was set meanwhile has misled the search. */
        again = had_clock && !clock_synchronise(session->clock);
    }
    return !c->wrong_data;
}

/* Collective. All targets of a kind, each from the one before. false: wrong data. */
static bool search_kind(const struct session *session, sampler *s, enum work_kind kind, struct calibrate_result *results) {
    const struct option_list *targets = &session->settings->targets;
    const bool computes = kind == WORK_COMPUTATION;
    for (size_t i = 0; i < targets->count; i++) {
        struct searching c = {.s = s, .kind = kind, .target_ns = targets->values[i]};
        double guess = computes ? 200 : 64 * 1024;
        if (i > 0 && results[i - 1].time_ns > 0) {
            guess = (double)results[i - 1].size * pow((double)targets->values[i] / results[i - 1].time_ns, computes ? 1.0 / 3 : 1);
        }
        if (!search_size(session, &c, guess, NULL, &results[i])) {
            return false;
        }
    }
    return true;
}

/* Collective. Once more, some time later. false: wrong data. */
static bool look_again(const struct session *session, sampler *s, enum work_kind kind, struct calibrate_result *results) {
    const struct option_list *targets = &session->settings->targets;
    for (size_t i = 0; i < targets->count; i++) {
        const struct calibrate_result found = results[i];
        struct searching c = {.s = s, .kind = kind, .target_ns = targets->values[i]};
        if (found.status != CALIBRATE_UNREACHABLE && found.time_ns > 0 &&
            !search_size(session, &c, (double)found.size, &found, &results[i])) {
            return false;
        }
        if (session_prints(session)) {
            fprintf(stderr, "# calibrated a %s for %g ms: size %llu takes %.3f ms (%+.1f %%, %s, %u measurements)\n", work_kind_name(kind),
                    (double)targets->values[i] / 1e6, (unsigned long long)results[i].size, results[i].time_ns / 1e6,
                    100 * results[i].error_relative, calibrate_status_name(results[i].status), results[i].measurements);
        }
    }
    return true;
}

/* ---- all sizes ---- */

static void take(const struct size_list *list, struct calibrate_result *results) {
    for (size_t i = 0; i < list->count; i++) {
        const struct size_entry *entry = &list->entries[i];
        const bool none = entry->status == CALIBRATE_UNREACHABLE || entry->status == CALIBRATE_NOT_MONOTONIC;
        results[i] = (struct calibrate_result){
            .status = none ? entry->status : CALIBRATE_GIVEN,
            .size = entry->size,
            .time_ns = (double)entry->time_ns,
            .error_relative =
                entry->time_ns > 0 ? ((double)entry->time_ns - (double)entry->target_ns) / (double)entry->target_ns : 0};
    }
}

static void store(struct size_list *list, const struct calibrate_result *results) {
    for (size_t i = 0; i < list->count; i++) {
        list->entries[i].size = results[i].size;
        list->entries[i].status = results[i].status;
        list->entries[i].time_ns = (int64_t)results[i].time_ns;
    }
}

static bool find_all(struct session *session, sampler *s, struct sizing *sizing) {
    for (enum work_kind kind = WORK_COMPUTATION; kind <= WORK_COMMUNICATION; kind++) {
        if (list_of(&session->sizes, kind) != NULL && !search_kind(session, s, kind, sizing->of[kind])) {
            return false;
        }
    }
    for (enum work_kind kind = WORK_COMPUTATION; kind <= WORK_COMMUNICATION; kind++) {
        struct size_list *list = list_of(&session->sizes, kind);
        if (list != NULL && !look_again(session, s, kind, sizing->of[kind])) {
            return false;
        }
        if (list != NULL) {
            store(list, sizing->of[kind]);
        }
    }
    return true;
}

bool sizing_find(struct session *session, sampler *s, struct sizing *sizing) {
    for (enum work_kind kind = WORK_COMPUTATION; kind <= WORK_COMMUNICATION; kind++) {
        sizing->of[kind] = fail_alloc(session->settings->targets.count, sizeof *sizing->of[kind]);
    }
    if (session->settings->sizes != NULL) {
        for (enum work_kind kind = WORK_COMPUTATION; kind <= WORK_COMMUNICATION; kind++) {
            const struct size_list *list = list_of(&session->sizes, kind);
            if (list != NULL) {
                take(list, sizing->of[kind]);
            }
        }
        return true;
    }
    if (!find_all(session, s, sizing)) {
        snprintf(session->reason, sizeof session->reason, "%s", sampler_fault_text(s));
        return false;
    }
    bool saved = true;
    if (session->rank == 0 && session->settings->save_sizes != NULL) {
        saved = sizes_write(session->settings->save_sizes, &session->sizes, session->reason, sizeof session->reason);
    }
    return session_agree(saved);
}

void sizing_destroy(struct sizing *sizing) {
    for (enum work_kind kind = WORK_COMPUTATION; kind <= WORK_COMMUNICATION; kind++) {
        free(sizing->of[kind]);
    }
}
