/*
 * nbc_overlap - does a nonblocking collective overlap with computation, and at what price?
 *
 * A. Denis et al., "A methodology for assessing computation/communication overlap of MPI nonblocking collectives", 2022, section 5.
 */
#include "calibration.h"
#include "collectives.h"
#include "engine.h"
#include "fail.h"
#include "fail_mpi.h"
#include "json.h"
#include "options.h"
#include "pattern.h"
#include "phase.h"
#include "plan.h"
#include "program.h"
#include "stats.h"
#include "table.h"
#include "timer.h"
#include "transport.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum grid { GRID_SMOKE, GRID_NIGHTLY, GRID_FULL };
static const char *const grid_names[] = {"smoke", "nightly", "full", NULL};
/* Both axes: first time and number of doublings. */
static const struct {
    int64_t first_ns;
    size_t count;
} grids[] = {
    [GRID_SMOKE] = {8000000, 3},
    [GRID_NIGHTLY] = {1000000, 6},
    [GRID_FULL] = {500000, 12},
};

static const char *const start_names[] = {"deadline", "barrier", NULL}; /* enum start_method */
enum { CACHE_WARM, CACHE_COLD };
static const char *const cache_names[] = {"warm", "cold", NULL};

static struct settings {
    bool list;
    struct option_list collectives;
    int grid;
    struct option_list comm_times;
    struct option_list comp_times;
    double budget_seconds;
    double interval;
    int64_t min_repetitions;
    int64_t max_repetitions;
    const char *sizes;
    const char *save_sizes;
    int64_t seed;
    int start;
    int64_t settle_ns;
    int cache;
    int computation; /* enum compute_kind */
    int64_t test_interval_ns;
    int64_t max_message_bytes;
    bool rank_samples;
} settings = {.interval = 0.02, .max_repetitions = 100, .seed = 1};

/* The table of options: what --help prints and the parser knows is this. */
static void describe_options(struct option_entry *entries) {
    struct settings *s = &settings;
    const struct option_entry table[] = {
        {.name = "collective", .kind = OPTION_CHOICES, .target = &s->collectives, .choices = collective_names(), .value_name = "LIST",
         .help = "collectives to measure, comma-separated, may be repeated, see --list; default: the first five of them"},
        {.name = "grid", .kind = OPTION_CHOICE, .target = &s->grid, .choices = grid_names, .value_name = "NAME",
         .help = "target times of both axes: smoke 8,16,32ms; nightly 1ms to 32ms doubling (6 x 6); full 500us to 1.024s doubling "
                 "(12 x 12); default: smoke"},
        {.name = "comm-times", .kind = OPTION_DURATIONS, .target = &s->comm_times, .value_name = "LIST",
         .help = "communication times instead of the grid's, ascending, with units: 500us,8ms,1s"},
        {.name = "comp-times", .kind = OPTION_DURATIONS, .target = &s->comp_times, .value_name = "LIST",
         .help = "computation times instead of the grid's"},
        {.name = "budget-seconds", .kind = OPTION_REAL, .target = &s->budget_seconds, .minimum = 0, .maximum = 1e7, .value_name = "S",
         .help = "time for the whole run, MPI_Init included: up to 30 % of it for calibration, the rest is divided over the remaining "
                 "points as the run goes. --min-repetitions takes precedence; but after 3 times the budget nothing more is measured: the "
                 "point at hand ends with what it has, the remaining ones are written as not_measured. 0: no budget (default)"},
        {.name = "interval", .kind = OPTION_REAL, .target = &s->interval, .minimum = 1e-4, .maximum = 10, .value_name = "W",
         .help = "a point is done when the 95 % intervals of the medians of its three times are at most this wide, relative to the "
                 "median; default: 0.02"},
        {.name = "min-repetitions", .kind = OPTION_INTEGER, .target = &s->min_repetitions, .minimum = 1, .maximum = 100000, .value_name = "N",
         .help = "at least this many valid repetitions per point; default: 9, the fewest whose 95 % interval of the median leaves out "
                 "the smallest and the largest, or --max-repetitions where that is less"},
        {.name = "max-repetitions", .kind = OPTION_INTEGER, .target = &s->max_repetitions, .minimum = 1, .maximum = 100000, .value_name = "N",
         .help = "at most this many; default: 100"},
        {.name = "start", .kind = OPTION_CHOICE, .target = &s->start, .choices = start_names, .value_name = "NAME",
         .help = "how ranks begin together: deadline, on a synchronised clock (default), or barrier, for comparison; where a clock is refused "
                 "it is barrier anyway, and the record says so"},
        {.name = "settle", .kind = OPTION_DURATION, .target = &s->settle_ns, .value_name = "T",
         .help = "nothing is sent for this long before every start, such as 300us: a network that is faster after a pause then serves all timed "
                 "parts alike; not where ranks start by a barrier; default: 0"},
        {.name = "cache", .kind = OPTION_CHOICE, .target = &s->cache, .choices = cache_names, .value_name = "NAME",
         .help = "warm: every repetition uses the same buffers (default); cold: buffers in turn, those of each rank together twice the "
                 "size of the largest cache, as far as memory allows"},
        {.name = "computation", .kind = OPTION_CHOICE, .target = &s->computation, .choices = compute_names(), .value_name = "NAME",
         .help = "what every thread computes: dgemm, a matrix multiplication (default), or triad, a[i] = b[i] + s c[i] over vectors larger than "
                 "the caches"},
        {.name = "test-interval", .kind = OPTION_DURATION, .target = &s->test_interval_ns, .value_name = "T",
         .help = "the computing thread that called MPI calls MPI_Test about this often, such as 100us, until the collective is complete; its "
                 "computation is cut into pieces for it, that of the reference too; default: 0, never"},
        {.name = "sizes", .kind = OPTION_TEXT, .target = &s->sizes, .value_name = "FILE",
         .help = "message and work sizes from this file, nothing is calibrated; a reference that has moved is flagged"},
        {.name = "save-sizes", .kind = OPTION_TEXT, .target = &s->save_sizes, .value_name = "FILE",
         .help = "write the sizes that the calibration found (for --sizes); again at the end where a reference moved and was "
                 "calibrated anew"},
        {.name = "seed", .kind = OPTION_INTEGER, .target = &s->seed, .minimum = 0, .maximum = 9007199254740992.0, .value_name = "N",
         .help = "of the contents of messages; default: 1"},
        {.name = "max-message-bytes", .kind = OPTION_INTEGER, .target = &s->max_message_bytes, .minimum = 64, .maximum = 17179869176.0,
         .value_name = "N",
         .help = "largest message that the calibration tries, never more than half of the rank's share of memory holds; default: 1 GiB"},
        {.name = "rank-samples", .kind = OPTION_FLAG, .target = &s->rank_samples,
         .help = "record every rank's samples above 64 ranks as well"},
        {.name = "list", .kind = OPTION_FLAG, .target = &s->list,
         .help = "print the names of the collectives, and which of them this MPI library lacks, and end"},
        {.name = NULL},
    };
    _Static_assert(sizeof table / sizeof *table <= PROGRAM_MOST_OPTIONS, "PROGRAM_MOST_OPTIONS is too small");
    memcpy(entries, table, sizeof table);
}

/* An axis that was not given comes from the grid. */
static void fill_axis(struct option_list *axis, int grid) {
    if (axis->count > 0) {
        return;
    }
    axis->values = fail_alloc(grids[grid].count, sizeof *axis->values);
    axis->count = grids[grid].count;
    for (size_t i = 0; i < axis->count; i++) {
        axis->values[i] = grids[grid].first_ns << i;
    }
}

static void fill_collectives(struct option_list *collectives) {
    if (collectives->count > 0) {
        return;
    }
    collectives->values = fail_alloc(COLLECTIVE_DEFAULTS, sizeof *collectives->values);
    collectives->count = COLLECTIVE_DEFAULTS;
    for (int i = 0; i < COLLECTIVE_DEFAULTS; i++) {
        collectives->values[i] = i;
    }
}

static void check_collectives(const struct option_list *collectives, char *error, size_t error_size) {
    for (size_t i = 0; i < collectives->count && error[0] == '\0'; i++) {
        const struct collective *collective = &collective_table[collectives->values[i]];
        if (!collective->available) {
            snprintf(error, error_size, "this MPI library has no %s; --list shows which collectives it has", collective->mpi_name);
        }
    }
}

static void list_collectives(void) {
    for (int i = 0; i < COLLECTIVE_COUNT; i++) {
        const struct collective *collective = &collective_table[i];
        if (collective->available) {
            printf("%s\n", collective->name);
        } else {
            printf("%-26s this MPI library has no %s\n", collective->name, collective->mpi_name);
        }
    }
}

/* What the table of options cannot say. One line in error where something is impossible. */
static void check_settings(const struct program *program, const struct settings *s, char *error, size_t error_size) {
    if (s->min_repetitions > s->max_repetitions) {
        snprintf(error, error_size, "--min-repetitions %lld is above --max-repetitions %lld; lower one or raise the other",
                 (long long)s->min_repetitions, (long long)s->max_repetitions);
    } else if (s->sizes != NULL && s->save_sizes != NULL) {
        snprintf(error, error_size, "--save-sizes has nothing to save with --sizes, which calibrates nothing; use one of them");
    } else if (s->sizes != NULL && s->max_message_bytes > 0) {
        snprintf(error, error_size, "--max-message-bytes bounds the calibration, and --sizes calibrates nothing; use one of them");
    } else if (s->test_interval_ns > 0 && program->configuration->source == PROGRESS_APPLICATION) {
        snprintf(error, error_size, "--test-interval: in configuration %s the helper thread calls MPI_Test already, and no two threads may test one "
                                    "request; leave it out, or use another configuration", program->configuration->name);
    } else {
        check_collectives(&s->collectives, error, error_size);
    }
}

/* Ranks that cannot be measured, or not so; the same line on all of them. Collective. */
static void check_ranks(const struct program *program, char *error, size_t error_size) {
    program_check_crowd(program, error, error_size);
    if (program->ranks < 2) {
        snprintf(error, error_size, "%d rank: a collective needs at least 2; start with mpiexec -n 2 or more", program->ranks);
    } else if (program->ranks > PATTERN_MAX_SUM_RANKS) {
        snprintf(error, error_size, "%d ranks: sums can be checked for at most %d", program->ranks, PATTERN_MAX_SUM_RANKS);
    }
}

static int64_t count_points(const struct settings *s) {
    size_t rows = 0;
    for (size_t i = 0; i < s->collectives.count; i++) {
        rows += collective_comm_times(&collective_table[s->collectives.values[i]], s->comm_times.count);
    }
    return (int64_t)(rows * s->comp_times.count);
}

/* What was asked for, as the header's JSON object. Free it. */
static char *plan_text(const struct settings *s) {
    json_line *line = json_line_create();
    json_open_object(line, NULL);
    json_open_array(line, "collectives");
    for (size_t i = 0; i < s->collectives.count; i++) {
        json_put_string(line, NULL, collective_names()[s->collectives.values[i]]);
    }
    json_close_array(line);
    json_put_integers(line, "comm_targets_ns", s->comm_times.values, s->comm_times.count);
    json_put_integers(line, "comp_targets_ns", s->comp_times.values, s->comp_times.count);
    json_put_integer(line, "points", count_points(s));
    json_put_real(line, "budget_seconds", s->budget_seconds);
    json_put_real(line, "interval_relative", s->interval);
    json_put_integer(line, "min_repetitions", s->min_repetitions);
    json_put_integer(line, "max_repetitions", s->max_repetitions);
    json_put_boolean(line, "sizes_given", s->sizes != NULL);
    json_put_string(line, "cache", cache_names[s->cache]);
    json_put_string(line, "computation", compute_names()[s->computation]);
    json_put_integer(line, "test_interval_ns", s->test_interval_ns);
    json_close_object(line);
    char *text = fail_strdup(json_line_text(line));
    json_line_destroy(line);
    return text;
}

/* Collective. false on all ranks: the disk refused. */
static bool write_header(struct program *program) {
    const struct settings *s = &settings;
    const bool refused = program->clock != NULL && clock_quality_of(program->clock).method == CLOCK_NONE;
    char *plan = plan_text(s);
    const bool good =
        program_write_header(program, &(struct program_header){.start_method = refused ? start_method_name(START_BARRIER) : start_names[s->start],
                                                               .seed = s->seed,
                                                               .plan = plan});
    free(plan);
    return good;
}

/* Collective; rank 0 writes. false on all ranks: the disk refused. */
static bool write_footer(struct program *program, const struct engine_result *result, bool complete, const char *reason) {
    struct clock_quality clock = {.method = CLOCK_NONE, .refusal = "not synchronised"};
    if (program->clock != NULL) {
        clock_synchronise(program->clock);
        clock = clock_quality_of(program->clock);
    }
    int64_t *own = NULL;
    placement_look_again(program->place);
    size_t count = placement_mpi_thread_cpu(program->place, &own);
    int64_t **times = NULL;
    size_t *counts = NULL;
    placement_gather_counts(own, count, &times, &counts);
    free(own);
    const int64_t helper_time = program->helper != NULL ? helper_cpu_ns(program->helper) : 0;
    int64_t **helper_times = NULL;
    size_t *helper_counts = NULL;
    placement_gather_counts(&helper_time, program->helper != NULL, &helper_times, &helper_counts);
    const int64_t bytes = transport_tcp_bytes_sent();
    int64_t *all_bytes = program->rank == 0 ? fail_alloc((size_t)program->ranks, sizeof *all_bytes) : NULL;
    MPI_CHECK(MPI_Gather(&bytes, 1, MPI_INT64_T, all_bytes, 1, MPI_INT64_T, 0, MPI_COMM_WORLD));
    const double wall_seconds = (double)(timer_now_ns() - program->began) / 1e9;
    if (program_prints(program) && result->points > 0) {
        table_print_end(result->measured_seconds, wall_seconds);
    }
    bool good = true;
    if (program->rank == 0) {
        const struct record_footer footer = {.complete = complete,
                                             .reason = reason,
                                             .points = result->points,
                                             .wall_seconds = wall_seconds,
                                             .measured_seconds = result->measured_seconds,
                                             .clock_residual_ns = clock.method != CLOCK_NONE ? clock.residual_ns : NAN,
                                             .clock_synchronisations = clock.synchronisations,
                                             .clock_synchronisation_seconds = clock.seconds,
                                             .clock_refusal = clock.refusal,
                                             .ranks = (size_t)program->ranks,
                                             .mpi_thread_cpu_ns = (const int64_t *const *)times,
                                             .mpi_thread_counts = counts,
                                             .helper_thread_cpu_ns = (const int64_t *const *)helper_times,
                                             .helper_thread_counts = helper_counts,
                                             .tcp_bytes_sent = all_bytes};
        good = record_write_footer(program->record, &footer);
        free(times[0]);
        free(helper_times[0]);
    }
    free(all_bytes);
    free(helper_times);
    free(helper_counts);
    free(times);
    free(counts);
    return program_agree(good);
}

/* Of a hung run: what rank 0 can tell without the other ranks and without its own main thread. What it does not know of them is left empty, or
 * null; what is counted is what the last point that was written had. */
static void close_hung(struct program *program, record_file *record, const char *reason) {
    const struct phase_totals totals = phase_totals_so_far();
    const size_t ranks = (size_t)program->ranks;
    const int64_t **times = fail_alloc(ranks, sizeof *times);
    size_t *counts = fail_alloc(ranks, sizeof *counts);
    size_t *no_helpers = fail_alloc(ranks, sizeof *no_helpers);
    int64_t *bytes = fail_alloc(ranks, sizeof *bytes);
    int64_t *own = NULL;
    counts[0] = placement_mpi_thread_cpu(program->place, &own);
    times[0] = own;
    memset(bytes, 0xff, ranks * sizeof *bytes); /* -1: not known */
    const struct record_footer footer = {.reason = reason,
                                         .points = record_points(record),
                                         .wall_seconds = (double)(timer_now_ns() - program->began) / 1e9,
                                         .measured_seconds = (double)totals.measured_ns / 1e9,
                                         .clock_residual_ns = NAN,
                                         .clock_synchronisations = totals.synchronisations,
                                         .clock_synchronisation_seconds = (double)totals.synchronisation_ns / 1e9,
                                         .clock_refusal = "",
                                         .ranks = ranks,
                                         .mpi_thread_cpu_ns = times,
                                         .mpi_thread_counts = counts,
                                         .helper_thread_cpu_ns = times,
                                         .helper_thread_counts = no_helpers,
                                         .tcp_bytes_sent = bytes};
    record_write_footer(record, &footer); /* a disk that refuses leaves a record that was cut off: as true */
    free(bytes);
    free(no_helpers);
    free(counts);
    free(times);
    free(own);
}

/* Collective: rank 0 writes the sizes where that was asked for. false on all ranks: it could not, the line is in rank 0's error. */
static bool save_sizes(const struct program *program, const struct size_table *sizes, char *error, size_t error_size) {
    bool saved = true;
    if (program->rank == 0 && settings.save_sizes != NULL) {
        saved = sizes_write(settings.save_sizes, sizes, error, error_size);
    }
    return program_agree(saved);
}

/* What is known only now to be impossible: refused in one line, and in a record that says so. Collective. */
static int refuse(struct program *program, const char *reason) {
    if (!program_open_record(program)) {
        return PROGRAM_WRONG_USE;
    }
    const struct engine_result nothing = {.points = 0};
    const bool written = write_header(program) && write_footer(program, &nothing, false, reason);
    if (program->rank == 0) {
        fail_report("%s", written ? reason : record_error(program->record));
    }
    return written ? PROGRAM_WRONG_USE : PROGRAM_FAILED;
}

/* Collective. Calibrates, saves, measures, closes. */
static int measure(struct program *program, const struct plan *plan, struct size_table *sizes) {
    if (!write_header(program)) {
        if (program->rank == 0) {
            fail_report("%s", record_error(program->record));
        }
        return PROGRAM_FAILED;
    }
    char absent[768];
    program_verify(program, absent, sizeof absent);
    if (absent[0] != '\0') {
        const struct engine_result nothing = {.points = 0};
        write_footer(program, &nothing, false, absent);
        if (program->rank == 0) {
            fail_report("%s", absent);
        }
        return PROGRAM_FAILED;
    }
    engine *e = engine_create(plan, program->clock, program->team, program->helper, sizes, program->record);
    char unsaved[512] = "";
    if (engine_calibrate(e) && save_sizes(program, sizes, unsaved, sizeof unsaved)) {
        engine_measure(e);
        if (engine_result_of(e).recalibrations > 0) {
            save_sizes(program, sizes, unsaved, sizeof unsaved);
        }
    }
    const struct engine_result result = engine_result_of(e);
    const char *reason = unsaved[0] != '\0' ? unsaved : result.reason;
    const bool complete = program_agree(result.end == ENGINE_COMPLETE && unsaved[0] == '\0');
    bool written = true;
    if (result.end != ENGINE_RECORD_ERROR) {
        written = write_footer(program, &result, complete, complete ? "" : reason);
    }
    if (program->rank == 0 && !complete) {
        fail_report("%s", reason);
    } else if (program->rank == 0 && !written) {
        fail_report("%s", record_error(program->record));
    }
    engine_destroy(e);
    return complete && written ? PROGRAM_GOOD : result.end == ENGINE_NOTHING_MEASURED ? PROGRAM_WRONG_USE : PROGRAM_FAILED;
}

static struct plan plan_of(const struct program *program, const int *collectives) {
    const struct settings *s = &settings;
    return (struct plan){.collectives = collectives,
                         .collective_count = s->collectives.count,
                         .comm_targets_ns = s->comm_times.values,
                         .comm_target_count = s->comm_times.count,
                         .comp_targets_ns = s->comp_times.values,
                         .comp_target_count = s->comp_times.count,
                         .budget_seconds = s->budget_seconds,
                         .began_ns = program->began,
                         .interval_relative = s->interval,
                         .min_repetitions = s->min_repetitions,
                         .max_repetitions = s->max_repetitions,
                         .max_message_bytes = (uint64_t)s->max_message_bytes,
                         .memory_bytes = program->memory_bytes,
                         .sizes_given = s->sizes != NULL,
                         .cold = s->cache == CACHE_COLD,
                         .start = (enum start_method)s->start,
                         .settle_ns = s->settle_ns,
                         .rank_samples = s->rank_samples,
                         .quiet = program->settings.quiet,
                         .seed = (uint64_t)s->seed,
                         .threads = program->threads,
                         .given_up_cores = placement_given_up_cores(program->place),
                         .computation = (enum compute_kind)s->computation,
                         .test_interval_ns = s->test_interval_ns};
}

/* Collective. impossible: why these ranks cannot be measured, the same on all of them. What else can be wrong before anything is measured, then
 * the measurement. */
static int prepare_and_measure(struct program *program, const struct plan *plan, struct size_table *sizes, const char *impossible) {
    char error[768] = "";
    if (impossible[0] != '\0') {
        return refuse(program, impossible);
    }
    calibration_memory_check(plan, error, sizeof error);
    if (program->rank == 0 && error[0] == '\0' && settings.sizes != NULL && sizes_read(settings.sizes, sizes, error, sizeof error)) {
        calibration_sizes_check(plan, sizes, settings.sizes, error, sizeof error);
    }
    if (!program_prepare(program, error)) {
        return PROGRAM_WRONG_USE;
    }
    calibration_sizes_share(sizes);
    program_synchronise(program);
    return measure(program, plan, sizes);
}

static int run(struct program *program) {
    struct settings *s = &settings;
    char error[768] = "";
    if (s->list) {
        if (program->rank == 0) {
            list_collectives();
        }
        return PROGRAM_GOOD;
    }
    check_settings(program, s, error, sizeof error);
    program->computation = (enum compute_kind)s->computation;
    int code = PROGRAM_WRONG_USE;
    if (program_all_good(error)) {
        if (s->min_repetitions == 0) {
            s->min_repetitions = s->max_repetitions < STATS_FEWEST_WITHOUT_EXTREMES ? s->max_repetitions : STATS_FEWEST_WITHOUT_EXTREMES;
        }
        fill_axis(&s->comm_times, s->grid);
        fill_axis(&s->comp_times, s->grid);
        fill_collectives(&s->collectives);
        int *collectives = fail_alloc(s->collectives.count, sizeof *collectives);
        for (size_t i = 0; i < s->collectives.count; i++) {
            collectives[i] = (int)s->collectives.values[i];
        }
        program_configure(program, error, sizeof error);
        check_ranks(program, error, sizeof error);
        const struct plan plan = plan_of(program, collectives);
        struct size_table sizes = calibration_sizes_create(&plan, program->ranks);
        code = prepare_and_measure(program, &plan, &sizes, error);
        calibration_sizes_free(&sizes);
        free(collectives);
    }
    options_free_list(&s->collectives);
    options_free_list(&s->comm_times);
    options_free_list(&s->comp_times);
    return code;
}

int main(int argc, char **argv) {
    const struct program_kind kind = {
        .name = "nbc_overlap",
        .schema = "mpi-campaign.record",
        .schema_version = 3,
        .help = "usage: mpiexec -n RANKS nbc_overlap [OPTION]...\n\n"
                "Measures how much of a nonblocking collective is hidden behind computation, and at what price\n"
                "(Denis et al. 2022). Message and work sizes are calibrated to target times; each point of the grid\n"
                "communication time x computation time is then measured with its references beside it. Paper placement:\n"
                "one rank per node, one computing thread per physical core.\n\n"
                "  r_overhead  0: overlap is perfect, 1: serialised, above 1: worse than serialised\n"
                "  r_comm      time inside MPI against the communication alone, r_comp the computation against itself alone\n",
        .exits = "0 good; 1 wrong data, a full disk or an MPI error; 2 wrong use, or nothing could be measured",
        .describe = describe_options,
        .run = run,
        .close_hung = close_hung,
    };
    return program_main(&kind, argc, argv);
}
