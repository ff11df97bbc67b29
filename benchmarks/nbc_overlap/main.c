/*
 * nbc_overlap - does a nonblocking collective overlap with computation, and at what price?
 *
 * A. Denis et al., "A methodology for assessing computation/communication overlap of MPI nonblocking collectives", 2022, section 5.
 */
#include "build_info.h"
#include "clock.h"
#include "collectives.h"
#include "compute.h"
#include "engine.h"
#include "fail.h"
#include "fail_mpi.h"
#include "file.h"
#include "json.h"
#include "options.h"
#include "pattern.h"
#include "placement.h"
#include "record.h"
#include "sizes.h"
#include "stats.h"
#include "timer.h"

#include <math.h>
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PROGRAM "nbc_overlap"
#define CALIBRATION_TOLERANCE 0.02

/* Spinning ranks share a core by time slices of milliseconds: a round of all of them takes this many. */
#define MOST_RANKS_PER_CORE 16

#define MOST_ORDER 100000

enum { EXIT_GOOD = 0, EXIT_FAILED = 1, EXIT_WRONG_USE = 2 };

extern char **environ;

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

static const char *const configuration_names[] = {"basic", "async", "dedicated", "apphelper", NULL};

struct settings {
    bool help;
    bool list;
    bool version;
    struct option_list collectives;
    int grid;
    struct option_list comm_times;
    struct option_list comp_times;
    int64_t threads;
    double budget_seconds;
    double interval;
    int64_t min_repetitions;
    int64_t max_repetitions;
    const char *sizes;
    const char *save_sizes;
    const char *record;
    const char *metadata;
    const char *toolchain;
    const char *provider;
    int configuration;
    const char *network;
    int64_t seed;
    int start;
    int cache;
    int64_t max_message_bytes;
    bool rank_samples;
    bool quiet;
};

#define MOST_OPTIONS 32

/* The table of options: what --help prints and the parser knows is this. */
static void describe_options(struct settings *s, struct option_entry entries[MOST_OPTIONS]) {
    const struct option_entry table[] = {
        {.name = "collective", .kind = OPTION_CHOICES, .target = &s->collectives, .choices = collective_names(), .value_name = "LIST",
         .help = "collectives to measure, comma-separated, may be repeated; default: all"},
        {.name = "grid", .kind = OPTION_CHOICE, .target = &s->grid, .choices = grid_names, .value_name = "NAME",
         .help = "target times of both axes: smoke 8,16,32ms; nightly 1ms to 32ms doubling (6 x 6); full 500us to 1.024s doubling "
                 "(12 x 12); default: smoke"},
        {.name = "comm-times", .kind = OPTION_DURATIONS, .target = &s->comm_times, .value_name = "LIST",
         .help = "communication times instead of the grid's, ascending, with units: 500us,8ms,1s"},
        {.name = "comp-times", .kind = OPTION_DURATIONS, .target = &s->comp_times, .value_name = "LIST",
         .help = "computation times instead of the grid's"},
        {.name = "threads", .kind = OPTION_INTEGER, .target = &s->threads, .minimum = 1, .maximum = 4096, .value_name = "N",
         .help = "computing threads of each rank; default: OMP_NUM_THREADS, else the physical cores of the rank's share of its node"},
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
        {.name = "cache", .kind = OPTION_CHOICE, .target = &s->cache, .choices = cache_names, .value_name = "NAME",
         .help = "warm: every repetition uses the same buffers (default); cold: buffers in turn, together twice the size of the largest "
                 "cache"},
        {.name = "sizes", .kind = OPTION_TEXT, .target = &s->sizes, .value_name = "FILE",
         .help = "message and matrix sizes from this file, nothing is calibrated; a reference that has moved is flagged"},
        {.name = "save-sizes", .kind = OPTION_TEXT, .target = &s->save_sizes, .value_name = "FILE",
         .help = "write the sizes that the calibration found (for --sizes); again at the end where a reference moved and was "
                 "calibrated anew"},
        {.name = "record", .kind = OPTION_TEXT, .target = &s->record, .value_name = "FILE",
         .help = "the record, JSON Lines; must not exist"},
        {.name = "metadata", .kind = OPTION_TEXT, .target = &s->metadata, .value_name = "FILE",
         .help = "a JSON object that is put into the record's header as it is"},
        {.name = "toolchain", .kind = OPTION_TEXT, .target = &s->toolchain, .value_name = "NAME", .help = "label in the record's header"},
        {.name = "provider", .kind = OPTION_TEXT, .target = &s->provider, .value_name = "NAME", .help = "label in the record's header"},
        {.name = "configuration", .kind = OPTION_CHOICE, .target = &s->configuration, .choices = configuration_names, .value_name = "NAME",
         .help = "what the MPI library was asked for, recorded and checked against the threads that it started; default: basic"},
        {.name = "network", .kind = OPTION_TEXT, .target = &s->network, .value_name = "NAME",
         .help = "label in the record's header; default: native"},
        {.name = "seed", .kind = OPTION_INTEGER, .target = &s->seed, .minimum = 0, .maximum = 9007199254740992.0, .value_name = "N",
         .help = "of the contents of messages; default: 1"},
        {.name = "max-message-bytes", .kind = OPTION_INTEGER, .target = &s->max_message_bytes, .minimum = 64, .maximum = 17179869176.0,
         .value_name = "N",
         .help = "largest message that the calibration tries, never more than half of the rank's share of memory holds; default: 1 GiB"},
        {.name = "rank-samples", .kind = OPTION_FLAG, .target = &s->rank_samples,
         .help = "record every rank's samples above 64 ranks as well"},
        {.name = "quiet", .kind = OPTION_FLAG, .target = &s->quiet, .help = "no table, no progress"},
        {.name = "list", .kind = OPTION_FLAG, .target = &s->list, .help = "print the names of the collectives and end"},
        {.name = "version", .kind = OPTION_FLAG, .target = &s->version, .help = "print the version and end"},
        {.name = "help", .kind = OPTION_FLAG, .target = &s->help, .help = "print this and end"},
        {.name = NULL},
    };
    _Static_assert(sizeof table / sizeof *table <= MOST_OPTIONS, "MOST_OPTIONS is too small");
    memcpy(entries, table, sizeof table);
}

static void print_help(const struct option_entry *entries) {
    char *options = options_describe(entries);
    printf("usage: mpiexec -n RANKS " PROGRAM " [OPTION]...\n\n"
           "Measures how much of a nonblocking collective is hidden behind computation, and at what price\n"
           "(Denis et al. 2022). Message and matrix sizes are calibrated to target times; each point of the grid\n"
           "communication time x computation time is then measured with its references beside it. Paper placement:\n"
           "one rank per node, one computing thread per physical core.\n\n"
           "  r_overhead  0: overlap is perfect, 1: serialised, above 1: worse than serialised\n"
           "  r_comm      time inside MPI against the communication alone, r_comp the computation against itself alone\n\n"
           "options:\n%s\n"
           "exit codes: 0 good; 1 wrong data, a full disk or an MPI error; 2 wrong use\n",
           options);
    free(options);
}

/* Collective: the lowest rank that has an error text; rank 0 prints it. true: nobody has one. */
static bool all_good(const char *error) {
    char text[1024] = "";
    int rank = 0;
    int ranks = 0;
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    int first = error[0] != '\0' ? rank : ranks;
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    if (first == ranks) {
        return true;
    }
    snprintf(text, sizeof text, "%s", error);
    MPI_CHECK(MPI_Bcast(text, sizeof text, MPI_CHAR, first, MPI_COMM_WORLD));
    if (rank == 0) {
        fail_report("%s", text);
    }
    return false;
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
    collectives->values = fail_alloc(COLLECTIVE_COUNT, sizeof *collectives->values);
    collectives->count = COLLECTIVE_COUNT;
    for (int i = 0; i < COLLECTIVE_COUNT; i++) {
        collectives->values[i] = i;
    }
}

/* What the table of options cannot say. One line in error where something is impossible. */
static void check_settings(const struct settings *s, char *error, size_t error_size) {
    if (s->min_repetitions > s->max_repetitions) {
        snprintf(error, error_size, "--min-repetitions %lld is above --max-repetitions %lld; lower one or raise the other",
                 (long long)s->min_repetitions, (long long)s->max_repetitions);
    } else if (s->sizes != NULL && s->save_sizes != NULL) {
        snprintf(error, error_size, "--save-sizes has nothing to save with --sizes, which calibrates nothing; use one of them");
    } else if (s->sizes != NULL && s->max_message_bytes > 0) {
        snprintf(error, error_size, "--max-message-bytes bounds the calibration, and --sizes calibrates nothing; use one of them");
    }
}

/* Rank 0 reads the metadata: a compact JSON object. Free it. */
static char *read_metadata(const char *path, char *error, size_t error_size) {
    size_t length = 0;
    char *text = file_read(path, &length, error, error_size);
    if (text == NULL) {
        return NULL;
    }
    char fault[256];
    char *compact = NULL;
    json_value *root = json_parse(text, length, fault, sizeof fault);
    if (root == NULL) {
        snprintf(error, error_size, "metadata file '%s': %s", path, fault);
    } else if (json_type_of(root) != JSON_OBJECT) {
        snprintf(error, error_size, "metadata file '%s': a JSON object is needed", path);
    } else {
        compact = json_compact(text, length);
    }
    json_destroy(root);
    free(text);
    return compact;
}

static struct size_entry *size_entries(const struct option_list *targets) {
    struct size_entry *entries = fail_alloc(targets->count, sizeof *entries);
    for (size_t i = 0; i < targets->count; i++) {
        entries[i].target_ns = targets->values[i];
    }
    return entries;
}

/* The table of all sizes, without sizes. */
static struct size_table create_sizes(const struct settings *s, int ranks) {
    struct size_table table = {.ranks = ranks, .threads_per_rank = s->threads};
    table.collective_count = s->collectives.count;
    table.collectives = fail_alloc(table.collective_count, sizeof *table.collectives);
    for (size_t i = 0; i < table.collective_count; i++) {
        table.collectives[i] = (struct size_list){.name = collective_table[s->collectives.values[i]].name,
                                                  .entries = size_entries(&s->comm_times),
                                                  .count = s->comm_times.count};
    }
    table.computation = (struct size_list){.entries = size_entries(&s->comp_times), .count = s->comp_times.count};
    table.points = fail_alloc(s->collectives.count * s->comm_times.count * s->comp_times.count, sizeof *table.points);
    return table;
}

/* What a sizes file may say but no message or matrix can be. */
static void check_sizes(const struct settings *s, const struct size_table *table, int ranks, uint64_t memory, char *error,
                        size_t error_size) {
    const size_t points = table->collectives[0].count * table->computation.count;
    for (size_t i = 0; i < table->collective_count * points && error[0] == '\0'; i++) {
        const struct collective *collective = &collective_table[s->collectives.values[i / points]];
        const uint64_t bytes = table->points[i].message_bytes;
        const uint64_t order = table->points[i].matrix_size;
        const uint64_t most = collective_most_bytes(collective, ranks);
        const double matrices = 3.0 * sizeof(double) * (double)order * (double)order * (double)s->threads;
        const double needed = (double)bytes * (double)collective_most_blocks(collective, ranks) + matrices;
        if (order > MOST_ORDER) {
            snprintf(error, error_size, "sizes file '%s': a matrix of order %llu; at most %d is possible", s->sizes,
                     (unsigned long long)order, MOST_ORDER);
        } else if (bytes % COLLECTIVE_ELEMENT != 0 || bytes > most) {
            snprintf(error, error_size, "sizes file '%s': %llu bytes of %s; a multiple of %d up to %llu is needed", s->sizes,
                     (unsigned long long)bytes, collective->name, COLLECTIVE_ELEMENT, (unsigned long long)most);
        } else if (memory > 0 && needed > (double)memory) {
            snprintf(error, error_size,
                     "sizes file '%s': %llu bytes of %s and matrices of order %llu need %.0f MiB on a rank, whose share of memory is "
                     "%.0f MiB", s->sizes, (unsigned long long)bytes, collective->name, (unsigned long long)order, needed / 1048576,
                     (double)memory / 1048576);
        }
    }
}

static void destroy_sizes(struct size_table *table) {
    for (size_t i = 0; i < table->collective_count; i++) {
        free(table->collectives[i].entries);
    }
    free(table->collectives);
    free(table->computation.entries);
    free(table->points);
}

static void broadcast_sizes(struct size_table *table) {
    for (size_t i = 0; i < table->collective_count; i++) {
        struct size_list *list = &table->collectives[i];
        MPI_CHECK(MPI_Bcast(list->entries, (int)(list->count * sizeof *list->entries), MPI_BYTE, 0, MPI_COMM_WORLD));
    }
    struct size_list *list = &table->computation;
    MPI_CHECK(MPI_Bcast(list->entries, (int)(list->count * sizeof *list->entries), MPI_BYTE, 0, MPI_COMM_WORLD));
    const size_t points = table->collective_count * table->collectives[0].count * list->count;
    MPI_CHECK(MPI_Bcast(table->points, (int)(points * sizeof *table->points), MPI_BYTE, 0, MPI_COMM_WORLD));
}

static const char *thread_level_name(int level) {
    return level == MPI_THREAD_MULTIPLE     ? "multiple"
           : level == MPI_THREAD_SERIALIZED ? "serialized"
           : level == MPI_THREAD_FUNNELED   ? "funneled"
                                            : "single";
}

static int default_threads(const placement *place) {
    int threads = getenv("OMP_NUM_THREADS") != NULL ? omp_get_max_threads() : placement_core_share(place);
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &threads, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    return threads;
}

/* Everything between the checked settings and the end. */
struct run {
    const struct settings *settings;
    int argc;
    char **argv;
    int rank;
    int ranks;
    int thread_level;
    char started_utc[32];
    int64_t began;
    placement *place;
    compute_team *team;
    clock_model *clock;
    struct size_table sizes;
    char *metadata;
    record_file *record; /* rank 0 */
    int *collectives;
};

/* Ranks that cannot be measured; the same line on all of them. Collective. */
static void check_ranks(const struct run *run, char *error, size_t error_size) {
    const double per_core = placement_summarise(run->place, false, 0).ranks_per_core;
    if (run->ranks < 2) {
        snprintf(error, error_size, "%d rank: a collective needs at least 2; start with mpiexec -n 2 or more", run->ranks);
    } else if (run->ranks > PATTERN_MAX_SUM_RANKS) {
        snprintf(error, error_size, "%d ranks: sums can be checked for at most %d", run->ranks, PATTERN_MAX_SUM_RANKS);
    } else if (per_core > MOST_RANKS_PER_CORE) {
        snprintf(error, error_size,
                 "%g ranks per core: above %d a start together takes longer than what is measured; start fewer, or on more nodes", per_core,
                 MOST_RANKS_PER_CORE);
    }
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
    json_put_integer(line, "points", (int64_t)(s->collectives.count * s->comm_times.count * s->comp_times.count));
    json_put_real(line, "budget_seconds", s->budget_seconds);
    json_put_real(line, "interval_relative", s->interval);
    json_put_integer(line, "min_repetitions", s->min_repetitions);
    json_put_integer(line, "max_repetitions", s->max_repetitions);
    json_put_boolean(line, "sizes_given", s->sizes != NULL);
    json_put_string(line, "cache", cache_names[s->cache]);
    json_close_object(line);
    char *text = fail_strdup(json_line_text(line));
    json_line_destroy(line);
    return text;
}

/* The header's JSON object; NULL: the run was refused before there was a clock. Free it. */
static char *clock_text(const clock_model *clock) {
    struct clock_quality quality = {.method = CLOCK_NONE, .refusal = "not synchronised", .clocks = 1};
    if (clock != NULL) {
        quality = clock_quality_of(clock);
    }
    return record_clock_text(&(struct record_clock){.method = clock_method_name(quality.method),
                                                    .refusal = quality.refusal,
                                                    .clocks = quality.clocks,
                                                    .rounds = quality.rounds,
                                                    .residual_ns = quality.residual_ns,
                                                    .shortest_trip_ns = quality.shortest_trip_ns,
                                                    .drift_ppm = quality.drift_ppm,
                                                    .synchronisation_seconds = quality.seconds});
}

/* Collective; rank 0 writes. false (on rank 0): the disk refused. */
static bool write_header(const struct run *run) {
    const struct settings *s = run->settings;
    bool dedicated = strcmp(configuration_names[s->configuration], "dedicated") == 0 ||
                     strcmp(configuration_names[s->configuration], "apphelper") == 0;
    struct placement_summary summary = placement_summarise(run->place, s->configuration != 0, dedicated ? 1 : 0);
    char **placements = placement_gather_texts(run->place);
    bool good = true;
    if (run->rank == 0) {
        char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
        char standard[32];
        int length = 0;
        int version = 0;
        int subversion = 0;
        MPI_CHECK(MPI_Get_library_version(library, &length));
        MPI_CHECK(MPI_Get_version(&version, &subversion));
        snprintf(standard, sizeof standard, "%d.%d", version, subversion);
        char *plan = plan_text(s);
        char *clock = clock_text(run->clock);
        const struct record_header header = {
            .schema = "mpi-campaign.record",
            .schema_version = 2,
            .benchmark = PROGRAM,
            .toolchain = s->toolchain,
            .provider = s->provider,
            .configuration = configuration_names[s->configuration],
            .network = s->network,
            .command_line = run->argv,
            .command_line_count = (size_t)run->argc,
            .started_utc = run->started_utc,
            .mpi_library_version = library,
            .mpi_standard = standard,
            .thread_level_required = "funneled",
            .thread_level_provided = thread_level_name(run->thread_level),
            .ranks = run->ranks,
            .nodes = summary.nodes,
            .threads_per_rank = s->threads,
            .physical_cores = summary.physical_cores,
            .oversubscribed = summary.oversubscribed,
            .shared_core = summary.shared_core,
            .placements = placements,
            .timer_name = TIMER_NAME,
            .timer_resolution_ns = timer_resolution_ns(),
            .timer_overhead_ns = timer_overhead_ns(),
            .start_method = run->clock != NULL && clock_quality_of(run->clock).method == CLOCK_NONE
                                ? start_method_name(START_BARRIER)
                                : start_names[s->start],
            .seed = s->seed,
            .build_compiler = BUILD_COMPILER,
            .build_flags = BUILD_FLAGS,
            .build_commit = BUILD_COMMIT,
            .build_dirty = BUILD_DIRTY,
            .build_blas = compute_blas_description(),
            .environment = environ,
            .clock = clock,
            .plan = plan,
            .metadata = run->metadata,
        };
        good = record_write_header(run->record, &header);
        if (!s->quiet) {
            printf("# " PROGRAM ": %d ranks x %lld threads on %d node%s, %lld physical cores%s%s\n", run->ranks, (long long)s->threads,
                   summary.nodes, summary.nodes == 1 ? "" : "s", (long long)summary.physical_cores,
                   summary.oversubscribed ? ", OVERSUBSCRIBED" : "", summary.shared_core ? ", progress thread on a SHARED CORE" : "");
            fflush(stdout);
        }
        free(plan);
        free(clock);
    }
    placement_free_texts(placements);
    return good;
}

/* Collective; rank 0 writes. false (on rank 0): the disk refused. */
static bool write_footer(const struct run *run, const struct engine_result *result, bool complete, const char *reason) {
    struct clock_quality clock = {.method = CLOCK_NONE, .refusal = "not synchronised"};
    if (run->clock != NULL) {
        clock_synchronise(run->clock);
        clock = clock_quality_of(run->clock);
    }
    int64_t *own = NULL;
    size_t count = placement_mpi_thread_cpu(run->place, &own);
    int64_t **times = NULL;
    size_t *counts = NULL;
    placement_gather_counts(own, count, &times, &counts);
    free(own);
    bool good = true;
    if (run->rank == 0) {
        const struct record_footer footer = {.complete = complete,
                                             .reason = reason,
                                             .points = result->points,
                                             .wall_seconds = (double)(timer_now_ns() - run->began) / 1e9,
                                             .measured_seconds = result->measured_seconds,
                                             .clock_residual_ns = clock.method != CLOCK_NONE ? clock.residual_ns : NAN,
                                             .clock_synchronisations = clock.synchronisations,
                                             .clock_synchronisation_seconds = clock.seconds,
                                             .clock_refusal = clock.refusal,
                                             .ranks = (size_t)run->ranks,
                                             .mpi_thread_cpu_ns = (const int64_t *const *)times,
                                             .mpi_thread_counts = counts};
        good = record_write_footer(run->record, &footer);
        free(times[0]);
    }
    free(times);
    free(counts);
    return good;
}

/* Collective: rank 0's verdict for all. */
static bool agree(bool good) {
    int verdict = good;
    MPI_CHECK(MPI_Bcast(&verdict, 1, MPI_INT, 0, MPI_COMM_WORLD));
    return verdict != 0;
}

/* Collective: rank 0 writes the sizes where that was asked for. false on all ranks: it could not, the line is in rank 0's error. */
static bool save_sizes(const struct run *run, char *error, size_t error_size) {
    bool saved = true;
    if (run->rank == 0 && run->settings->save_sizes != NULL) {
        saved = sizes_write(run->settings->save_sizes, &run->sizes, error, error_size);
    }
    return agree(saved);
}

/* What is known only now to be impossible: refused in one line, and in a record that says so. Collective. */
static int refuse(struct run *run, const char *reason) {
    char error[768] = "";
    if (run->rank == 0) {
        run->record = record_create(run->settings->record, error, sizeof error);
    }
    if (!all_good(error)) {
        return EXIT_WRONG_USE;
    }
    const struct engine_result nothing = {.points = 0};
    bool written = agree(write_header(run)) && agree(write_footer(run, &nothing, false, reason));
    if (run->rank == 0) {
        fail_report("%s", written ? reason : record_error(run->record));
    }
    return written ? EXIT_WRONG_USE : EXIT_FAILED;
}

/* Collective. Calibrates, saves, measures, closes. */
static int measure(struct run *run) {
    const struct settings *s = run->settings;
    if (!agree(write_header(run))) {
        if (run->rank == 0) {
            fail_report("%s", record_error(run->record));
        }
        return EXIT_FAILED;
    }
    const struct engine_plan plan = {
        .collectives = run->collectives,
        .collective_count = s->collectives.count,
        .comm_targets_ns = s->comm_times.values,
        .comm_target_count = s->comm_times.count,
        .comp_targets_ns = s->comp_times.values,
        .comp_target_count = s->comp_times.count,
        .budget_seconds = s->budget_seconds,
        .began_ns = run->began,
        .interval_relative = s->interval,
        .min_repetitions = s->min_repetitions,
        .max_repetitions = s->max_repetitions,
        .tolerance = CALIBRATION_TOLERANCE,
        .max_message_bytes = (uint64_t)s->max_message_bytes,
        .memory_bytes = placement_memory_share(run->place),
        .sizes_given = s->sizes != NULL,
        .cold = s->cache == CACHE_COLD,
        .start = (enum start_method)s->start,
        .rank_samples = s->rank_samples,
        .quiet = s->quiet,
        .seed = (uint64_t)s->seed,
        .threads = (int)s->threads,
    };
    engine *e = engine_create(&plan, run->clock, run->team, &run->sizes, run->record);
    char unsaved[512] = "";
    if (engine_calibrate(e) && save_sizes(run, unsaved, sizeof unsaved)) {
        engine_measure(e);
        if (engine_result_of(e).recalibrations > 0) {
            save_sizes(run, unsaved, sizeof unsaved);
        }
    }
    struct engine_result result = engine_result_of(e);
    const char *reason = unsaved[0] != '\0' ? unsaved : result.reason;
    bool complete = agree(result.end == ENGINE_COMPLETE && unsaved[0] == '\0');
    bool written = true;
    if (result.end != ENGINE_RECORD_ERROR) {
        written = write_footer(run, &result, complete, complete ? "" : reason);
    }
    if (run->rank == 0 && !complete) {
        fail_report("%s", reason);
    } else if (run->rank == 0 && !written) {
        fail_report("%s", record_error(run->record));
    }
    const bool nothing = result.end == ENGINE_NOTHING_MEASURED;
    engine_destroy(e);
    return agree(complete && written) ? EXIT_GOOD : nothing ? EXIT_WRONG_USE : EXIT_FAILED;
}

/* Collective. Everything that can be wrong before anything is measured, then the measurement. */
static int prepare_and_measure(struct run *run, struct settings *s) {
    char error[768] = "";
    check_settings(s, error, sizeof error);
    if (!all_good(error)) {
        return EXIT_WRONG_USE;
    }
    if (s->min_repetitions == 0) {
        s->min_repetitions = s->max_repetitions < STATS_FEWEST_WITHOUT_EXTREMES ? s->max_repetitions : STATS_FEWEST_WITHOUT_EXTREMES;
    }
    if (s->threads == 0) {
        s->threads = default_threads(run->place);
    }
    fill_axis(&s->comm_times, s->grid);
    fill_axis(&s->comp_times, s->grid);
    fill_collectives(&s->collectives);
    run->collectives = fail_alloc(s->collectives.count, sizeof *run->collectives);
    for (size_t i = 0; i < s->collectives.count; i++) {
        run->collectives[i] = (int)s->collectives.values[i];
    }
    check_ranks(run, error, sizeof error);
    if (error[0] != '\0') {
        return refuse(run, error);
    }
    run->sizes = create_sizes(s, run->ranks);
    const uint64_t memory = placement_memory_share(run->place);
    if (run->rank == 0 && s->metadata != NULL) {
        run->metadata = read_metadata(s->metadata, error, sizeof error);
    }
    if (run->rank == 0 && error[0] == '\0' && s->sizes != NULL) {
        if (sizes_read(s->sizes, &run->sizes, error, sizeof error)) {
            check_sizes(s, &run->sizes, run->ranks, memory, error, sizeof error);
        }
    }
    if (error[0] == '\0') {
        run->team = compute_create((int)s->threads, error, sizeof error);
    }
    if (!all_good(error)) {
        return EXIT_WRONG_USE;
    }
    broadcast_sizes(&run->sizes);
    placement_bind(run->place, run->team, (int)s->threads);
    if (run->rank == 0) {
        run->record = record_create(s->record, error, sizeof error);
    }
    if (!all_good(error)) {
        return EXIT_WRONG_USE;
    }
    char *identity = placement_clock_identity(run->place);
    run->clock = clock_create(MPI_COMM_WORLD, identity);
    free(identity);
    if (run->rank == 0 && clock_quality_of(run->clock).method == CLOCK_NONE) {
        fail_report("no clock: %s; ranks start from a barrier, and times are each rank's own", clock_quality_of(run->clock).refusal);
    }
    return measure(run);
}

int main(int argc, char **argv) {
    struct run run = {.argc = argc, .argv = argv};
    struct settings settings = {.interval = 0.02,
                                .max_repetitions = 100,
                                .toolchain = "unknown",
                                .provider = "unknown",
                                .network = "native",
                                .seed = 1};
    fail_setup(PROGRAM, -1, NULL);
    timer_check();
    run.settings = &settings;
    run.began = timer_now_ns();
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc) == NULL || strftime(run.started_utc, sizeof run.started_utc, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0) {
        fail_die("the date cannot be read");
    }
    /* A record that outgrows a limit is reported like a full disk, not ended by a signal. */
    if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR) {
        fail_die("signal failed");
    }
    run.place = placement_create();
    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &run.thread_level) != MPI_SUCCESS) {
        fail_die("MPI_Init_thread failed");
    }
    run.argc = argc;
    run.argv = argv;
    MPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
    fail_mpi_setup(PROGRAM, run.rank);
    MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &run.ranks));
    placement_complete(run.place);

    char error[768] = "";
    struct option_entry entries[MOST_OPTIONS];
    describe_options(&settings, entries);
    bool parsed = options_parse(entries, argc, argv, error, sizeof error);
    int code = EXIT_GOOD;
    if (parsed && (settings.help || settings.list || settings.version)) {
        if (run.rank == 0 && settings.help) {
            print_help(entries);
        } else if (run.rank == 0 && settings.list) {
            for (int i = 0; i < COLLECTIVE_COUNT; i++) {
                printf("%s\n", collective_names()[i]);
            }
        } else if (run.rank == 0) {
            printf(PROGRAM " " BUILD_VERSION " (commit " BUILD_COMMIT ")\n");
        }
    } else if (!all_good(error)) {
        code = EXIT_WRONG_USE;
    } else if (run.thread_level < MPI_THREAD_FUNNELED) {
        code = EXIT_FAILED;
        if (run.rank == 0) {
            fail_report("the MPI library does not provide MPI_THREAD_FUNNELED, which threads that compute need");
        }
    } else {
        code = prepare_and_measure(&run, &settings);
    }

    clock_destroy(run.clock);
    compute_destroy(run.team);
    placement_destroy(run.place);
    record_close(run.record);
    destroy_sizes(&run.sizes);
    free(run.metadata);
    free(run.collectives);
    options_free_list(&settings.collectives);
    options_free_list(&settings.comm_times);
    options_free_list(&settings.comp_times);
    MPI_CHECK(MPI_Finalize());
    return code;
}
