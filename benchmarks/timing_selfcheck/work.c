#include "work.h"

#include "bench.h"
#include "calibration.h"
#include "collectives.h"
#include "fail.h"
#include "sampler.h"
#include "stats.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum work_kind { COMPUTATION, COMMUNICATION, KINDS };
static const char *const kind_names[KINDS + 1] = {[COMPUTATION] = "computation", [COMMUNICATION] = "communication"};

/* The series of a point. */
enum { T_WORK, ELAPSED, LATE_STARTS, SERIES };

struct work {
    struct bench bench; /* first: the parts of bench.h take a work for its bench */
    struct session *session;
    calibration *calibration;
    enum work_kind kind;
    struct size_report report; /* of the point that is written */
    char reason[512];
};

struct row {
    const char *section;
    const char *kind;
    int64_t target_ns;
    int64_t size;
    const struct size_report *calibration;
    const char *reason;
};

/* NULL: there is no such work. */
static const struct size_search_result *size_of(const struct work *work, const struct sampler_point *p) {
    if (work->kind == COMPUTATION) {
        return calibration_comp(work->calibration, p->at[0]);
    }
    return work->session->plan.collective_count > 0 ? calibration_comm(work->calibration, 0, p->at[0]) : NULL;
}

static int64_t target_of(const struct work *work, const struct sampler_point *p) {
    return work->session->settings->targets.values[p->at[0]];
}

static bool begin(void *context, struct sampler_point *p) {
    struct work *work = context;
    const struct size_search_result *size = size_of(work, p);
    if (size == NULL || !calibration_can_take(size)) {
        return false;
    }
    const bool communicates = work->kind == COMMUNICATION;
    bench_take(
        &work->bench,
        &(struct bench_work){.collective = communicates ? &collective_table[work->session->plan.collectives[0]] : NULL,
                             .message_bytes = communicates ? size->size : 0,
                             .work_size = communicates ? 0 : size->size});
    p->shortest_ns = target_of(work, p);
    return true;
}

static int64_t faults(void *context, char *text, size_t text_size) {
    return bench_faults(&((struct work *)context)->bench, text, text_size);
}

/* Says why a point has fewer samples than were asked for or was measured in another way; "" where neither is so. */
static void find_reason(const struct work *work, const struct sampler_point *p, char *text, size_t text_size) {
    const struct size_search_result *size = size_of(work, p);
    const struct clock_quality clock = clock_quality_of(work->bench.clock);
    text[0] = '\0';
    if (size == NULL) {
        snprintf(text, text_size, SESSION_ONE_RANK);
    } else if (!calibration_can_take(size)) {
        snprintf(text, text_size, "no size takes this time");
    } else if (clock.method == CLOCK_NONE) {
        snprintf(text, text_size, "no clock, so starts by a barrier, and times that are the slowest rank's own: %s",
                 clock.refusal);
    }
}

static const struct field parameter_fields[] = {
    SESSION_SECTION(struct row, "work"),
    FIELD_ONE_OF(struct row, kind, kind_names,
                 "computation: one DGEMM per thread. communication: MPI_Ibcast from rank 0 and MPI_Wait"),
    FIELD(struct row, target_ns, "the time that it is to take"),
    FIELD(struct row, size,
          "computation: order of the square matrices of each thread's DGEMM. communication: bytes of the message. 0: "
          "none"),
    FIELDS_END,
};

static const struct field own_fields[] = {
    FIELD_STRUCT_OR_NULL(struct row, calibration, size_report_fields,
                         "how well the size meets its target; null where there is nothing to calibrate"),
    FIELD(struct row, reason, SESSION_REASON),
    FIELDS_END,
};

static void fill(void *context, const struct sampler_point *p, const sampler *s, void *row) {
    struct work *work = context;
    const struct size_search_result *size = size_of(work, p);
    find_reason(work, p, work->reason, sizeof work->reason);
    if (size != NULL) {
        work->report = size_search_report(size);
    }
    *(struct row *)row = (struct row){.section = "work",
                                      .kind = kind_names[work->kind],
                                      .target_ns = target_of(work, p),
                                      .size = size != NULL ? (int64_t)size->size : 0,
                                      .calibration = size != NULL ? &work->report : NULL,
                                      .reason = work->reason};
}

static void print_head(void *context) {
    if (((struct work *)context)->kind == COMPUTATION) {
        printf("work           %-14s %8s %11s %10s %8s %6s %5s  times in ms; interval: width of the 95 %% interval of "
               "the median, %%\n",
               "kind", "target", "size", "median", "interval", "reps", "late");
    }
}

static void print_row(void *context, const struct sampler_point *p, const sampler *s,
                      const struct record_point *record) {
    const struct work *work = context;
    const struct size_search_result *size = size_of(work, p);
    char reason[512];
    find_reason(work, p, reason, sizeof reason);
    printf("work           %-14s %8.4g %11llu", kind_names[work->kind], (double)target_of(work, p) / 1e6,
           (unsigned long long)(size != NULL ? size->size : 0));
    if (record->repetitions > 0) {
        printf(" %10.4f", (double)samples_median(sampler_samples(s), T_WORK) / 1e6);
    } else {
        printf(" %10s", "-");
    }
    if (record->repetitions > 0 && !isnan(record->interval_relative_reached)) {
        printf(" %8.2f", 100 * record->interval_relative_reached);
    } else {
        printf(" %8s", "-");
    }
    printf(" %6zu %5" PRId64 "  %s", record->repetitions, record->late_repetitions, record->stop_reason);
    if (size != NULL && size->status != SIZE_CONVERGED && size->status != SIZE_GIVEN) {
        printf(" size:%s", size_status_name(size->status));
    }
    printf("%s%s\n", reason[0] != '\0' ? "  " : "", reason);
    fflush(stdout);
}

/* ---- what is repeated ---- */

static const char t_help[] =
    "samples of a fixed amount of work. Of a computation: the slowest thread of all ranks. Of a communication: "
    "max(end) - min(start) over ranks; without a clock the slowest rank's own time";
static const struct repetition_series series[KINDS][SERIES] = {
    [COMPUTATION] =
        {[T_WORK] = {.name = "t_ns", .over = OVER_LARGEST, .term = T_COMP_ALL, .stops = true, .help = t_help},
         [ELAPSED] = {.name = "elapsed_ns", .over = OVER_ELAPSED},
         [LATE_STARTS] = {.name = "late_starts", .over = OVER_LATE}},
    [COMMUNICATION] = {[T_WORK] = {.name = "t_ns",
                                   .over = OVER_SPAN,
                                   .term = REF_AGREED,
                                   .end = REF_END,
                                   .stops = true,
                                   .help = t_help},
                       [ELAPSED] = {.name = "elapsed_ns", .over = OVER_ELAPSED},
                       [LATE_STARTS] = {.name = "late_starts", .over = OVER_LATE}},
};

static const struct repetition_part *const parts[KINDS] = {[COMPUTATION] = &bench_computation,
                                                           [COMMUNICATION] = &bench_communication};

/* The hooks are the same for both. */
#define POINTS(kind)                                                                                                   \
    {                                                                                                                  \
        .samples = {.repeated = {.parts = &parts[kind],                                                                \
                                 .part_count = 1,                                                                      \
                                 .terms = TERMS,                                                                       \
                                 .series = series[kind],                                                               \
                                 .series_count = SERIES,                                                               \
                                 .wrong = bench_wrong}},                                                               \
        .begin = begin,                                                                                                \
        .faults = faults,                                                                                              \
        .parameters = parameter_fields,                                                                                \
        .own = own_fields,                                                                                             \
        .row_bytes = sizeof(struct row),                                                                               \
        .fill = fill,                                                                                                  \
        .print_head = print_head,                                                                                      \
        .print_row = print_row,                                                                                        \
    }
const struct sampler_kind work_points[] = {[COMPUTATION] = POINTS(COMPUTATION),
                                           [COMMUNICATION] = POINTS(COMMUNICATION)};

void work_complete(struct settings *s, char *error, size_t error_size) {
    enum { DEFAULT_REPETITIONS = 20, DEFAULT_MOST_REPETITIONS = 1000 };
    static const struct option_values targets_ns = {{500000, 4000000, 16000000, 64000000}, 4};
    if (s->interval > 0 && s->repetitions > 0) {
        snprintf(
            error, error_size,
            "--repetitions and --interval both say when to stop; use one of them (--max-repetitions caps --interval)");
    } else if (s->max_repetitions > 0 && !(s->interval > 0)) {
        snprintf(error, error_size, "--max-repetitions caps --interval, which is not given; use --repetitions");
    } else {
        calibration_check_options(s->sizes, s->save_sizes, s->max_message_bytes, error, error_size);
    }
    if (s->interval > 0 && s->max_repetitions == 0) {
        s->max_repetitions = DEFAULT_MOST_REPETITIONS;
    } else if (!(s->interval > 0) && s->repetitions == 0) {
        s->repetitions = DEFAULT_REPETITIONS;
    }
    options_fill_list(&s->targets, &targets_ns);
}

void work_plan(struct session *session, const int64_t *collective) {
    const struct settings *s = session->settings;
    const struct program *program = session->program;
    session->plan = (struct plan){.collectives = collective,
                                  .collective_count = program->ranks > 1 ? 1 : 0,
                                  .comm_targets_ns = s->targets.values,
                                  .comm_target_count = s->targets.count,
                                  .comp_targets_ns = s->targets.values,
                                  .comp_target_count = s->targets.count,
                                  .budget = {.began_ns = program->began},
                                  .max_message_bytes = (uint64_t)s->max_message_bytes,
                                  .memory_bytes = program->memory_bytes,
                                  .sizes_given = s->sizes != NULL,
                                  .quiet = program->settings.quiet,
                                  .seed = SESSION_SEED,
                                  .threads = program->threads};
    session->sizes = calibration_sizes_create(&session->plan, program->ranks);
}

void work_check_sizes(struct session *session, char *error, size_t error_size) {
    const char *file = session->settings->sizes;
    if (session->program->rank == 0 && file != NULL && size_table_read(file, &session->sizes, error, error_size)) {
        calibration_sizes_check(&session->plan, &session->sizes, file, error, error_size);
    }
}

/* Until the interval is narrow, or so many repetitions. */
static struct sampler_rule rule_of(const struct settings *settings) {
    const bool until_narrow = settings->interval > 0;
    const int64_t most = until_narrow ? settings->max_repetitions : settings->repetitions;
    const bool few = most < STATS_FEWEST_WITHOUT_EXTREMES;
    return (struct sampler_rule){.interval_relative = settings->interval,
                                 .warmup_relative = settings->interval / 2,
                                 .min_repetitions = until_narrow && !few ? STATS_FEWEST_WITHOUT_EXTREMES : most,
                                 .max_repetitions = most};
}

/* Collective: searches all sizes and saves them where that was asked for. false: wrong data, or the file cannot be
 * written. */
static bool find_sizes(struct work *work) {
    struct session *session = work->session;
    if (!calibration_search(work->calibration)) {
        bench_faults(&work->bench, session->reason, sizeof session->reason);
        return false;
    }
    bool saved = true;
    if (session->program->rank == 0 && session->settings->save_sizes != NULL) {
        saved =
            size_table_write(session->settings->save_sizes, &session->sizes, session->reason, sizeof session->reason);
    }
    return program_agree(saved);
}

/* Collective: measures all targets of a kind. false: wrong data, or the record cannot be written. */
static bool measure_kind(struct work *work, sampler *s) {
    struct session *session = work->session;
    work->bench.line = sampler_start(s);
    const struct sampler_result result = sampler_measure(s);
    session->measured_seconds += result.measured_seconds;
    session->unwritable = result.end == SAMPLER_RECORD_ERROR;
    if (result.end == SAMPLER_RECORD_ERROR || result.end == SAMPLER_DATA_ERROR) {
        snprintf(session->reason, sizeof session->reason, "%s", result.reason);
        return false;
    }
    return true; /* a target that no size takes is no failure, nor are all of them */
}

bool work_measure(struct session *session) {
    const struct option_list *targets = &session->settings->targets;
    const struct sampler_axis axis = {
        .name = "target_ns", .of_plan = true, .numbers = targets->values, .count = targets->count};
    const struct sampler_plan plan = {.axes = &axis, .axis_count = 1, .rule = rule_of(session->settings)};
    const struct sampler_session measuring = program_session(session->program);
    struct work work = {.session = session};
    sampler *samplers[KINDS];
    for (enum work_kind kind = COMPUTATION; kind < KINDS; kind++) {
        samplers[kind] = sampler_create(&work_points[kind], &work, &plan, &measuring);
    }
    work.bench = bench_begin(&session->plan, session->program->clock, session->program->team, NULL,
                             sampler_start(samplers[COMPUTATION]));
    work.calibration = calibration_create(&session->plan, &work.bench, &session->sizes);
    bool good = find_sizes(&work);
    session->measured_seconds = 0;
    for (work.kind = COMPUTATION; work.kind < KINDS && good; work.kind++) {
        good = measure_kind(&work, samplers[work.kind]);
    }
    calibration_destroy(work.calibration);
    bench_end(&work.bench);
    for (enum work_kind kind = COMPUTATION; kind < KINDS; kind++) {
        sampler_destroy(samplers[kind]);
    }
    return good;
}
