#include "work.h"

#include "bench.h"
#include "calibration.h"
#include "collectives.h"
#include "fail.h"
#include "fail_mpi.h"
#include "series.h"
#include "stamps.h"
#include "stats.h"
#include "timer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum decision { GO_ON, SYNCHRONISE, STOP_INTERVAL, STOP_REPETITIONS, STOP_LATE };

/* Where more starts than this are late for each that is not, after so many, going on makes no sense: ranks share cores. */
enum { PATIENCE = 50, LATE_PER_SAMPLE = 10 };

enum work_kind { COMPUTATION, COMMUNICATION, KINDS };
static const char *const kind_names[KINDS] = {[COMPUTATION] = "computation", [COMMUNICATION] = "communication"};

/* The samples of one piece of work. */
struct batch {
    struct session *session;
    struct bench *bench;
    enum work_kind kind;
    int64_t target_ns;
    const struct calibrate_result *size;
    struct stamps begins; /* of this rank */
    struct stamps ends;
    int64_t *times;   /* over all ranks; in the end, on rank 0, by the interpolated clock */
    int64_t *elapsed; /* on rank 0: since the first began */
    size_t count;
    size_t capacity;
    int64_t late;
    int64_t began;    /* local */
    size_t next_look; /* a count before which looking for warm-ups makes no difference */
    size_t warmup;
    bool synchronised; /* there was a clock until now */
    const char *stop_reason;
};

static bool has_clock(const struct batch *b) {
    return clock_quality_of(b->session->program->clock).method != CLOCK_NONE;
}

static void keep(struct batch *b, const struct repetition *r, const struct bench_outcome *outcome) {
    if (b->count == b->capacity) {
        b->capacity = b->capacity > 0 ? 2 * b->capacity : 256;
        b->times = fail_realloc(b->times, b->capacity, sizeof *b->times);
        b->elapsed = fail_realloc(b->elapsed, b->capacity, sizeof *b->elapsed);
    }
    stamps_add(&b->begins, r->terms[REF_START]);
    stamps_add(&b->ends, r->terms[REF_END]);
    b->times[b->count] = outcome->times[b->kind == COMMUNICATION ? GLOBAL_COMM_REF : GLOBAL_COMP_REF];
    b->elapsed[b->count++] = timer_now_ns() - b->began;
}

/* The samples after the warm-up. Destroy it. */
static stats_series *valid_samples(const struct batch *b) {
    stats_series *valid = stats_create();
    for (size_t i = b->warmup; i < b->count; i++) {
        stats_add(valid, b->times[i]);
    }
    return valid;
}

/* Whether the interval is narrow, and may be believed to be. */
static bool settled(const struct batch *b) {
    stats_series *valid = valid_samples(b);
    const bool narrow = stats_settled(valid, b->session->settings->interval);
    stats_destroy(valid);
    return narrow && series_outlived(b->count, b->warmup) && b->count - b->warmup >= STATS_FEWEST_WITHOUT_EXTREMES;
}

/* Rank 0's, after a sample. */
static enum decision decide(struct batch *b) {
    const struct settings *settings = b->session->settings;
    const bool until_narrow = settings->interval > 0;
    const size_t most = (size_t)(until_narrow ? settings->max_repetitions : settings->repetitions);
    if (b->late > PATIENCE + LATE_PER_SAMPLE * (int64_t)b->count) {
        return STOP_LATE;
    }
    const bool look = until_narrow && series_look(b->count, STATS_FEWEST_WITHOUT_EXTREMES);
    if (look || (b->count >= most && b->count >= b->next_look)) {
        b->warmup = series_warmup(b->times, b->count);
        b->next_look = most + b->warmup;
        if (look && settled(b)) {
            return STOP_INTERVAL;
        }
        if (b->count - b->warmup >= most) {
            return STOP_REPETITIONS;
        }
    }
    return clock_due(b->session->program->clock) ? SYNCHRONISE : GO_ON;
}

static void forget_samples(struct batch *b) {
    b->count = 0;
    b->late = 0;
    b->next_look = 0;
    stamps_clear(&b->begins);
    stamps_clear(&b->ends);
}

/* Collective. What was measured since the synchronisation before gets its global times. false: the clock was refused; what was measured
 * with it is no use beside what is measured without. */
static bool synchronise(struct batch *b) {
    if (clock_synchronise(b->session->program->clock)) {
        stamps_close(&b->begins, b->session->program->clock);
        stamps_close(&b->ends, b->session->program->clock);
    } else if (b->synchronised) {
        b->synchronised = false;
        if (b->kind == COMMUNICATION) {
            forget_samples(b);
            return false;
        }
    }
    return true;
}

/* Collective. Samples until rank 0 says stop. wrong: wrong data arrived. */
static enum decision repeat(struct batch *b, const struct bench_work *work, bool *wrong) {
    for (;;) {
        struct repetition r = {{0}};
        const struct bench_outcome outcome = bench_reference(b->bench, work, &r);
        if (outcome.wrong_data) {
            *wrong = true;
            return STOP_REPETITIONS;
        }
        if (outcome.late) {
            b->late++;
        } else {
            keep(b, &r, &outcome);
        }
        int decision = GO_ON;
        if (b->session->program->rank == 0) {
            decision = decide(b);
        }
        MPI_CHECK(MPI_Bcast(&decision, 1, MPI_INT, 0, MPI_COMM_WORLD));
        if (decision == SYNCHRONISE) {
            synchronise(b);
        } else if (decision != GO_ON) {
            return (enum decision)decision;
        }
    }
}

/* Collective. On rank 0, max(end) - min(start) over ranks by the interpolated clock. */
static void time_globally(struct batch *b) {
    int64_t *largest = fail_alloc(2 * b->count, sizeof *largest);
    for (size_t i = 0; i < b->count; i++) {
        largest[i] = b->ends.values[i];
        largest[b->count + i] = -b->begins.values[i];
    }
    session_reduce_largest(b->session, largest, 2 * b->count);
    for (size_t i = 0; i < b->count && b->session->program->rank == 0; i++) {
        b->times[i] = largest[i] + largest[b->count + i];
    }
    free(largest);
}

/* Collective. All samples. false: wrong data. */
static bool sample_work(struct batch *b) {
    static const char *const names[] = {[STOP_INTERVAL] = "interval", [STOP_REPETITIONS] = "repetitions", [STOP_LATE] = "late"};
    const bool communicates = b->kind == COMMUNICATION;
    const struct bench_work work = {.collective = communicates ? &collective_table[b->session->plan.collectives[0]] : NULL,
                                    .message_bytes = communicates ? b->size->size : 0,
                                    .work_size = communicates ? 0 : b->size->size};
    bool wrong = false;
    b->synchronised = clock_synchronise(b->session->program->clock);
    bench_prepare(b->bench, &work, b->target_ns);
    b->began = timer_now_ns();
    for (int again = 1; again != 0;) {
        enum decision decision = repeat(b, &work, &wrong);
        if (wrong) {
            return false;
        }
        bool kept = synchronise(b);
        if (kept && b->kind == COMMUNICATION && has_clock(b)) {
            time_globally(b);
        }
        if (b->session->program->rank == 0) {
            b->warmup = series_warmup(b->times, b->count);
            /* Interpolated times may be a little wider than the extrapolated ones that the stop was decided on: then it was none. */
            again = !kept || (decision == STOP_INTERVAL && !settled(b));
            b->stop_reason = names[decision];
        }
        MPI_CHECK(MPI_Bcast(&again, 1, MPI_INT, 0, MPI_COMM_WORLD));
    }
    return true;
}

static void put_line(json_line *line, const struct batch *b, const char *reason) {
    const struct calibrate_result none = {.status = CALIBRATE_UNREACHABLE};
    const struct calibrate_result *size = b->size != NULL ? b->size : &none;
    const size_t count = b->count - b->warmup;
    int64_t low = 0;
    int64_t high = 0;
    stats_series *valid = valid_samples(b);
    json_open_object(line, NULL);
    json_put_string(line, "type", "work");
    json_put_string(line, "kind", kind_names[b->kind]);
    json_put_integer(line, "target_ns", b->target_ns);
    json_put_integer(line, "size", (int64_t)size->size);
    if (b->size == NULL) {
        json_put_null(line, "calibration");
    } else {
        json_open_object(line, "calibration");
        json_put_string(line, "status", calibrate_status_name(size->status));
        json_put_integer(line, "time_ns", (int64_t)size->time_ns);
        json_put_real(line, "error_relative", size->error_relative);
        json_put_integer(line, "measurements", size->measurements);
        json_close_object(line);
    }
    json_put_integers(line, "samples_ns", count > 0 ? b->times + b->warmup : NULL, count);
    json_put_integers(line, "elapsed_ns", count > 0 ? b->elapsed + b->warmup : NULL, count);
    json_put_integer(line, "warmup_repetitions", (int64_t)b->warmup);
    json_put_integer(line, "late", b->late);
    if (count > 0) {
        json_put_integer(line, "median_ns", stats_median(valid));
    } else {
        json_put_null(line, "median_ns");
    }
    if (stats_interval(valid, &low, &high)) {
        const int64_t interval[2] = {low, high};
        json_put_integers(line, "interval_ns", interval, 2);
        json_put_real(line, "interval_relative", stats_relative_width(valid));
    } else {
        json_put_null(line, "interval_ns");
        json_put_null(line, "interval_relative");
    }
    json_put_string(line, "stop_reason", b->stop_reason);
    json_put_string(line, "reason", reason);
    json_close_object(line);
    stats_destroy(valid);
}

static void print_row(const struct batch *b, const char *reason) {
    const size_t count = b->count - b->warmup;
    stats_series *valid = valid_samples(b);
    printf("work           %-14s %8.4g %11llu", kind_names[b->kind], (double)b->target_ns / 1e6,
           (unsigned long long)(b->size != NULL ? b->size->size : 0));
    if (count > 0) {
        const double width = stats_relative_width(valid);
        printf(" %10.4f", (double)stats_median(valid) / 1e6);
        if (width >= 0) {
            printf(" %8.2f", 100 * width);
        } else {
            printf(" %8s", "-");
        }
    } else {
        printf(" %10s %8s", "-", "-");
    }
    printf(" %6zu %5" PRId64 "  %s", count, b->late, b->stop_reason);
    if (b->size != NULL && b->size->status != CALIBRATE_CONVERGED && b->size->status != CALIBRATE_GIVEN) {
        printf(" size:%s", calibrate_status_name(b->size->status));
    }
    printf("%s%s\n", reason[0] != '\0' ? "  " : "", reason);
    fflush(stdout);
    stats_destroy(valid);
}

static void print_head(const struct session *session) {
    if (session_prints(session)) {
        printf("work           %-14s %8s %11s %10s %8s %6s %5s  times in ms; interval: width of the 95 %% interval of the median, %%\n", "kind",
               "target", "size", "median", "interval", "reps", "late");
    }
}

/* Collective. One line: measured, or why not. size NULL: there is no such work. */
static bool measure_one(struct session *session, struct bench *bench, enum work_kind kind, size_t target, const struct calibrate_result *size) {
    char reason[512] = "";
    struct batch b = {.session = session,
                      .bench = bench,
                      .kind = kind,
                      .target_ns = session->settings->targets.values[target],
                      .size = size,
                      .stop_reason = "not_measured"};
    bool good = true;
    if (size == NULL) {
        snprintf(reason, sizeof reason, SESSION_ONE_RANK);
    } else if (!calibration_can_take(size)) {
        snprintf(reason, sizeof reason, "no size takes this time");
    } else if (!sample_work(&b)) {
        bench_faults(bench, session->reason, sizeof session->reason);
        good = false;
    } else if (strcmp(b.stop_reason, "late") == 0) {
        snprintf(reason, sizeof reason, "fewer than one start in %d was not late", LATE_PER_SAMPLE);
    } else if (!has_clock(&b)) {
        snprintf(reason, sizeof reason, "no clock, so starts by a barrier, and times that are the slowest rank's own: %s",
                 clock_quality_of(session->program->clock).refusal);
    }
    if (good) {
        json_line *line = json_line_create();
        if (session->program->rank == 0) {
            put_line(line, &b, reason);
        }
        good = session_write(session, RECORD_POINT, line);
        json_line_destroy(line);
        if (session_prints(session)) {
            print_row(&b, reason);
        }
    }
    stamps_free(&b.begins);
    stamps_free(&b.ends);
    free(b.times);
    free(b.elapsed);
    return good;
}

/* Collective. All sizes, saved where that was asked. false: wrong data, or the file cannot be written. */
static bool find_sizes(struct session *session, struct bench *bench, calibration *sizes) {
    if (!calibration_search(sizes)) {
        bench_faults(bench, session->reason, sizeof session->reason);
        return false;
    }
    bool saved = true;
    if (session->program->rank == 0 && session->settings->save_sizes != NULL) {
        saved = sizes_write(session->settings->save_sizes, &session->sizes, session->reason, sizeof session->reason);
    }
    return program_agree(saved);
}

bool work_measure(struct session *session) {
    struct bench bench = bench_begin(&session->plan, session->program->clock, session->program->team, NULL);
    calibration *sizes = calibration_create(&session->plan, &bench, &session->sizes);
    bool good = find_sizes(session, &bench, sizes);
    if (good) {
        print_head(session);
    }
    for (enum work_kind kind = COMPUTATION; kind < KINDS && good; kind++) {
        for (size_t i = 0; i < session->settings->targets.count && good; i++) {
            const bool alone = kind == COMMUNICATION && session->plan.collective_count == 0;
            const struct calibrate_result *size = alone                ? NULL
                                                  : kind == COMPUTATION ? calibration_comp(sizes, i)
                                                                        : calibration_comm(sizes, 0, i);
            good = measure_one(session, &bench, kind, i, size);
        }
    }
    calibration_destroy(sizes);
    bench_end(&bench);
    return good;
}
