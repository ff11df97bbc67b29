#include "program.h"

#include "build_info.h"
#include "fail.h"
#include "fail_mpi.h"
#include "file.h"
#include "group.h"
#include "json.h"
#include "phase.h"
#include "timer.h"
#include "transport.h"

#include <math.h>
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static void append_options(struct option_entry entries[PROGRAM_MOST_OPTIONS], const struct option_entry *table, size_t size) {
    size_t own = 0;
    while (own < PROGRAM_MOST_OPTIONS && entries[own].name != NULL) {
        own++;
    }
    if (own + size / sizeof *table > PROGRAM_MOST_OPTIONS) {
        fail_die("more options than PROGRAM_MOST_OPTIONS");
    }
    memcpy(entries + own, table, size);
}

/* Of programs with configurations. */
static void describe_configuration(struct program *program, struct option_entry entries[PROGRAM_MOST_OPTIONS]) {
    struct program_settings *s = &program->settings;
    const struct option_entry table[] = {
        {.name = "configuration", .kind = OPTION_CHOICE, .target = &s->configuration, .choices = configuration_names(), .value_name = "NAME",
         .help = "whose thread progresses communication: basic, nobody's (default); async, the MPI library's; dedicated, that thread on a core "
                 "that does not compute; apphelper, a thread of this program on such a core; and the controls dedicated_unbound, a core less "
                 "but nothing bound to it, and basic_reduced, basic on a core less. The library's thread is the launch's to ask for; what "
                 "was promised is verified"},
        {.name = "dedicated-cpus", .kind = OPTION_INTEGERS, .target = &s->dedicated_cpus, .minimum = 0, .maximum = TOPOLOGY_MOST_CPUS - 1,
         .value_name = "LIST",
         .help = "the CPU whose core does not compute, for each rank of a node in the order of ranks; default: the last core of each rank's share"},
        {.name = "move-progress-threads", .kind = OPTION_FLAG, .target = &s->move_progress_threads,
         .help = "after MPI_Init this program moves the threads that MPI started: with dedicated to the dedicated core, for libraries that cannot bind "
                 "them; with dedicated_unbound to all CPUs of the rank, for libraries that always bind them"},
        {.name = "record-controls", .kind = OPTION_TEXT, .target = &s->record_controls, .value_name = "LIST",
         .help = "control variables of MPI_T whose values the record keeps: names, comma-separated, '*' for any letters; default: none"},
        {.name = "limit-seconds", .kind = OPTION_REAL, .target = &s->limit_seconds, .minimum = 0, .maximum = 1e7, .value_name = "S",
         .help = "a run that is not over after so long hangs: each rank says where on standard error, the record is closed, and the run ends "
                 "with exit code 1. 0: no limit (default)"},
        {.name = NULL},
    };
    append_options(entries, table, sizeof table);
}

/* Appended to what the benchmark describes. */
static void describe_options(struct program *program, struct option_entry entries[PROGRAM_MOST_OPTIONS]) {
    struct program_settings *s = &program->settings;
    const struct option_entry table[] = {
        {.name = "threads", .kind = OPTION_INTEGER, .target = &s->threads, .minimum = 1, .maximum = 4096, .value_name = "N",
         .help = "computing threads of each rank; default: OMP_NUM_THREADS, else the physical cores of the rank's share of its node; one "
                 "core fewer where the configuration gives one up and the rank has two"},
        {.name = "record", .kind = OPTION_TEXT, .target = &s->record, .value_name = "FILE",
         .help = "the record, JSON Lines; must not exist"},
        {.name = "metadata", .kind = OPTION_TEXT, .target = &s->metadata, .value_name = "FILE",
         .help = "a JSON object that is put into the record's header as it is"},
        {.name = "record-environment", .kind = OPTION_TEXT, .target = &s->record_environment, .value_name = "LIST",
         .help = "environment variables that the record keeps beside those of OpenMP and BLAS: names, comma-separated, '*' for any letters; "
                 "'^' before a name leaves out what an earlier one let in. One that looks like a secret is never kept"},
        {.name = "toolchain", .kind = OPTION_TEXT, .target = &s->toolchain, .value_name = "NAME", .help = "label in the record's header"},
        {.name = "provider", .kind = OPTION_TEXT, .target = &s->provider, .value_name = "NAME", .help = "label in the record's header"},
        {.name = "network", .kind = OPTION_TEXT, .target = &s->network, .value_name = "NAME",
         .help = "label in the record's header; default: native"},
        {.name = "quiet", .kind = OPTION_FLAG, .target = &s->quiet, .help = "no table, no progress"},
        {.name = "version", .kind = OPTION_FLAG, .target = &s->version, .help = "print the version and end"},
        {.name = "help", .kind = OPTION_FLAG, .target = &s->help, .help = "print this and end"},
        {.name = NULL},
    };
    program->kind->describe(entries);
    if (program->kind->close_hung != NULL) {
        describe_configuration(program, entries);
    }
    append_options(entries, table, sizeof table);
}

bool program_agree(bool good) {
    int verdict = good;
    MPI_CHECK(MPI_Bcast(&verdict, 1, MPI_INT, 0, MPI_COMM_WORLD));
    return verdict != 0;
}

bool program_all_good(const char *error) {
    char text[PROGRAM_MOST_ERROR] = "";
    int rank = 0;
    snprintf(text, sizeof text, "%s", error);
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    const bool good = group_share_error(text, sizeof text);
    if (!good && rank == 0) {
        fail_report("%s", text);
    }
    return good;
}

bool program_prints(const struct program *program) {
    return program->rank == 0 && !program->settings.quiet;
}

/* A compact JSON object. NULL and one line in error where the file has none. */
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

/* Rank 0, once. One line in error where the file has none. */
static void take_metadata(struct program *program, char *error, size_t error_size) {
    if (program->settings.metadata != NULL && program->metadata == NULL) {
        program->metadata = read_metadata(program->settings.metadata, error, error_size);
    }
}

bool program_open_record(struct program *program) {
    char error[768] = "";
    if (program->rank == 0) {
        take_metadata(program, error, sizeof error);
    }
    if (program->rank == 0 && error[0] == '\0') {
        program->record = record_create(program->settings.record, error, sizeof error);
    }
    return program_all_good(error);
}

bool program_prepare(struct program *program, const char *error) {
    char own[768];
    snprintf(own, sizeof own, "%s", error);
    if (program->rank == 0 && own[0] == '\0') {
        take_metadata(program, own, sizeof own);
    }
    if (own[0] == '\0') {
        placement_look_again(program->place);
        program->team = compute_create(program->computation, program->threads, own, sizeof own);
        placement_own_threads(program->place);
    }
    if (!program_all_good(own)) {
        return false;
    }
    placement_bind(program->place, program->team, program->threads);
    if (program->settings.move_progress_threads) {
        placement_move_threads(program->place, own, sizeof own);
    }
    if (program->configuration->source == PROGRESS_APPLICATION) {
        program->helper = helper_create(placement_dedicated_cpu(program->place), own, sizeof own);
    }
    if (program->helper != NULL) {
        const struct topology_thread thread = helper_thread(program->helper);
        placement_add_helper(program->place, &thread);
    }
    return program_all_good(own) && program_open_record(program);
}

/* Spinning ranks share a core by time slices of milliseconds: a round of all of them takes this many. */
enum { MOST_RANKS_PER_CORE = 16 };

void program_check_crowd(const struct program *program, char *error, size_t error_size) {
    const double per_core = placement_summarise(program->place).ranks_per_core;
    if (per_core > MOST_RANKS_PER_CORE) {
        snprintf(error, error_size,
                 "%g ranks per core: above %d a start together takes longer than what is measured; start fewer, or on more nodes", per_core,
                 MOST_RANKS_PER_CORE);
    }
}

static const char *thread_level_name(int level) {
    return level == MPI_THREAD_MULTIPLE     ? "multiple"
           : level == MPI_THREAD_SERIALIZED ? "serialized"
           : level == MPI_THREAD_FUNNELED   ? "funneled"
                                            : "single";
}

void program_configure(struct program *program, char *error, size_t error_size) {
    const struct configuration *configuration = program->configuration;
    const struct option_list *cpus = &program->settings.dedicated_cpus;
    error[0] = '\0';
    if (program->thread_level < configuration->thread_level) {
        snprintf(error, error_size,
                 "this MPI library provides the thread level %s; configuration %s needs %s; use another configuration, or a library that is built "
                 "for it",
                 thread_level_name(program->thread_level), configuration->name, thread_level_name(configuration->thread_level));
        return; /* so on all ranks: one library, and all ask for the same */
    }
    placement_dedicate(program->place, configuration, cpus->count > 0 ? cpus->values : NULL, cpus->count, program->threads, error, error_size);
}

void program_verify(const struct program *program, char *error, size_t error_size) {
    placement_verify(program->place, error, error_size);
}

void program_synchronise(struct program *program) {
    char *identity = placement_clock_identity(program->place);
    program->clock = clock_create(MPI_COMM_WORLD, identity);
    free(identity);
    const struct clock_quality quality = clock_quality_of(program->clock);
    if (program->rank == 0 && quality.method == CLOCK_NONE) {
        fail_report("no clock: %s; ranks start from a barrier, and times are each rank's own", quality.refusal);
    }
}

/* What is not known becomes NAN, and null in the record. NULL: the run was refused before there was a clock. */
static char *clock_text(const clock_model *clock) {
    struct clock_quality quality = {.method = CLOCK_NONE, .refusal = "not synchronised", .clocks = 1};
    if (clock != NULL) {
        quality = clock_quality_of(clock);
    }
    const bool none = quality.method == CLOCK_NONE;
    return record_clock_text(&(struct record_clock){.method = clock_method_name(quality.method),
                                                    .refusal = quality.refusal,
                                                    .clocks = quality.clocks,
                                                    .rounds = quality.rounds,
                                                    .residual_ns = none ? NAN : quality.residual_ns,
                                                    .shortest_trip_ns = quality.shortest_trip_ns > 0 ? quality.shortest_trip_ns : NAN,
                                                    .drift_ppm = none ? NAN : quality.drift_ppm,
                                                    .synchronisation_seconds = quality.seconds});
}

static bool write_on_rank_0(struct program *program, const struct program_header *own, const struct placement_summary *summary,
                            char *const *placements) {
    const struct program_settings *s = &program->settings;
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    char standard[32];
    int length = 0;
    int version = 0;
    int subversion = 0;
    MPI_CHECK(MPI_Get_library_version(library, &length));
    MPI_CHECK(MPI_Get_version(&version, &subversion));
    snprintf(standard, sizeof standard, "%d.%d", version, subversion);
    char *clock = program->kind->clockless ? NULL : clock_text(program->clock);
    const bool configurable = program->kind->close_hung != NULL;
    char *variables = configurable ? transport_variables(s->record_controls) : NULL;
    const struct configuration *c = program->configuration;
    const bool by_program = c->source == PROGRESS_APPLICATION || s->move_progress_threads;
    const struct record_progress progress = {.source = configuration_source_name(c->source),
                                             .pinned_by = !c->bound ? "none" : by_program ? "program" : "library",
                                             .given_up_cores = placement_given_up_cores(program->place)};
    const struct record_header header = {
        .schema = program->kind->schema,
        .schema_version = program->kind->schema_version,
        .benchmark = program->kind->name,
        .toolchain = s->toolchain,
        .provider = s->provider,
        .configuration = c->name,
        .network = s->network,
        .command_line = program->argv,
        .command_line_count = (size_t)program->argc,
        .started_utc = program->started_utc,
        .mpi_library_version = library,
        .mpi_standard = standard,
        .thread_level_required = thread_level_name(c->thread_level),
        .thread_level_provided = thread_level_name(program->thread_level),
        .ranks = program->ranks,
        .nodes = summary->nodes,
        .threads_per_rank = program->threads,
        .physical_cores = summary->physical_cores,
        .oversubscribed = summary->oversubscribed,
        .shared_core = summary->shared_core,
        .progress = configurable ? &progress : NULL,
        .placements = placements,
        .timer_name = TIMER_NAME,
        .timer_resolution_ns = timer_resolution_ns(),
        .timer_overhead_ns = timer_overhead_ns(),
        .clock = clock,
        .start_method = own->start_method,
        .seed = own->seed,
        .build_compiler = BUILD_COMPILER,
        .build_flags = BUILD_FLAGS,
        .build_commit = BUILD_COMMIT,
        .build_dirty = BUILD_DIRTY,
        .build_blas = compute_blas_description(),
        .environment = environ,
        .environment_list = s->record_environment,
        .mpi_variables = variables,
        .plan = own->plan,
        .metadata = program->metadata,
    };
    bool good = record_write_header(program->record, &header);
    free(clock);
    free(variables);
    atomic_store_explicit(&program->unfinished, program->record, memory_order_release);
    if (!s->quiet) {
        printf("# %s: %s%s%d rank%s x %d thread%s on %d node%s, %lld physical core%s%s%s\n", program->kind->name, configurable ? c->name : "",
               configurable ? ", " : "", program->ranks, program->ranks == 1 ? "" : "s", program->threads, program->threads == 1 ? "" : "s",
               summary->nodes, summary->nodes == 1 ? "" : "s", (long long)summary->physical_cores, summary->physical_cores == 1 ? "" : "s",
               summary->oversubscribed ? ", OVERSUBSCRIBED" : "", summary->shared_core ? ", progress thread on a SHARED CORE" : "");
        fflush(stdout);
    }
    return good;
}

bool program_write_header(struct program *program, const struct program_header *own) {
    placement_look_again(program->place);
    const struct placement_summary summary = placement_summarise(program->place);
    char **placements = placement_gather_texts(program->place, program->kind->close_hung != NULL);
    bool good = true;
    if (program->rank == 0) {
        good = write_on_rank_0(program, own, &summary, placements);
    }
    placement_free_texts(placements);
    return program_agree(good);
}

static void choose_threads(struct program *program) {
    const int share = placement_core_share(program->place);
    const int most = program->configuration->gives_up_core && share > 1 ? share - 1 : share;
    int threads = most;
    if (getenv("OMP_NUM_THREADS") != NULL) {
        threads = omp_get_max_threads();
        threads = program->configuration->gives_up_core && threads > most ? most : threads;
    }
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &threads, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    program->threads = program->settings.threads > 0 ? (int)program->settings.threads : threads;
}

/* After the ranks' lines, so long until the group ends: lines of other nodes take a moment. And so long until a process ends by itself, where
 * the group does not. */
#define LINES_SECONDS 1.0
#define GROUP_SECONDS 5.0

static void end_process(int signal) {
    (void)signal;
    _exit(PROGRAM_FAILED);
}

/* On the watch's thread, while the main thread hangs, or at least is not over. Nothing that it may hold is taken: no stream, no MPI. */
static void run_hangs(void *context) {
    struct program *program = context;
    const int rank = atomic_load(&program->known_rank);
    char where[256];
    char line[768];
    char reason[512];
    phase_describe(where, sizeof where);
    if (rank >= 0) {
        snprintf(line, sizeof line, "%s: rank %d hangs in %s\n", program->kind->name, rank, where);
    } else {
        char host[256] = "unknown";
        if (gethostname(host, sizeof host - 1) != 0) {
            snprintf(host, sizeof host, "unknown");
        }
        snprintf(line, sizeof line, "%s: a rank on %s hangs in %s\n", program->kind->name, host, where);
    }
    if (write(STDERR_FILENO, line, strlen(line)) < 0) {
        _exit(PROGRAM_FAILED); /* nobody listens any more */
    }
    record_file *record = atomic_load_explicit(&program->unfinished, memory_order_acquire);
    if (rank == 0 && record != NULL && record_seize(record, LINES_SECONDS)) {
        snprintf(reason, sizeof reason, "not over after %g s (--limit-seconds): rank 0 hangs in %s", program->settings.limit_seconds, where);
        program->kind->close_hung(program, record, reason);
    }
    timer_sleep(rank == 0 ? LINES_SECONDS : GROUP_SECONDS);
    if (rank == 0 && phase_now() != PHASE_FINALIZE) {
        /* The whole group, with this exit code. It may hang as well: it is called while another thread is inside MPI. In MPI_Finalize there is
         * nothing left to abort; a launcher ends the group when a process of it fails. */
        if (signal(SIGALRM, end_process) == SIG_ERR) {
            _exit(PROGRAM_FAILED);
        }
        alarm((unsigned)GROUP_SECONDS);
        MPI_Abort(MPI_COMM_WORLD, PROGRAM_FAILED);
    }
    _exit(PROGRAM_FAILED);
}

static void begin(struct program *program, int argc, char **argv) {
    fail_setup(program->kind->name, -1, NULL);
    timer_check();
    program->began = timer_now_ns();
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc) == NULL ||
        strftime(program->started_utc, sizeof program->started_utc, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0) {
        fail_die("the date cannot be read");
    }
    /* A record that outgrows a limit is reported like a full disk, not ended by a signal. */
    if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR) {
        fail_die("signal failed");
    }
    if (program->settings.limit_seconds > 0) {
        program->watch = watch_start(program->began + (int64_t)(program->settings.limit_seconds * 1e9), run_hangs, program);
    }
    program->place = placement_create(); /* after the watch, which is no thread of MPI's */
    if (MPI_Init_thread(&argc, &argv, program->configuration->thread_level, &program->thread_level) != MPI_SUCCESS) {
        fail_die("MPI_Init_thread failed");
    }
    phase_enter(PHASE_SETUP);
    program->argc = argc;
    program->argv = argv;
    MPI_Comm_rank(MPI_COMM_WORLD, &program->rank);
    atomic_store(&program->known_rank, program->rank);
    fail_mpi_setup(program->kind->name, program->rank);
    MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &program->ranks));
    placement_complete(program->place);
}

/* What the table of options cannot say. */
static void check_options(const struct program *program, char *error, size_t error_size) {
    const struct program_settings *s = &program->settings;
    const struct configuration *c = &configuration_table[s->configuration];
    if (s->dedicated_cpus.count > 0 && !c->gives_up_core) {
        snprintf(error, error_size, "--dedicated-cpus: configuration %s gives no core up; use dedicated or apphelper, or leave it out", c->name);
    } else if (s->move_progress_threads && !(c->gives_up_core && c->source == PROGRESS_LIBRARY)) {
        snprintf(error, error_size, "--move-progress-threads: configuration %s has no thread to move; use dedicated or dedicated_unbound, or leave it out",
                 c->name);
    }
}

static void print_help(const struct program *program, const struct option_entry *entries) {
    char *options = options_describe(entries);
    printf("%s\noptions:\n%s\nexit codes: %s\n", program->kind->help, options, program->kind->exits);
    free(options);
}

int program_main(const struct program_kind *kind, int argc, char **argv) {
    struct program program = {.kind = kind,
                              .settings = {.toolchain = "unknown", .provider = "unknown", .network = "native"},
                              .configuration = &configuration_table[CONFIGURATION_BASIC],
                              .known_rank = -1};
    char error[PROGRAM_MOST_ERROR] = "";
    struct option_entry entries[PROGRAM_MOST_OPTIONS] = {{.name = NULL}};
    fail_setup(kind->name, -1, NULL);
    /* Before MPI_Init, which must know the thread level. What is wrong is said after it, once. */
    describe_options(&program, entries);
    const bool parsed = options_parse(entries, argc, argv, error, sizeof error);
    if (parsed) {
        check_options(&program, error, sizeof error);
        program.configuration = &configuration_table[program.settings.configuration];
    }
    begin(&program, argc, argv);
    int code = PROGRAM_GOOD;
    if (parsed && (program.settings.help || program.settings.version)) {
        if (program.rank == 0 && program.settings.help) {
            print_help(&program, entries);
        } else if (program.rank == 0) {
            printf("%s " BUILD_VERSION " (commit " BUILD_COMMIT ")\n", kind->name);
        }
    } else if (!program_all_good(error)) {
        code = PROGRAM_WRONG_USE;
    } else if (program.thread_level < MPI_THREAD_FUNNELED) {
        code = PROGRAM_FAILED;
        if (program.rank == 0) {
            fail_report("the MPI library does not provide MPI_THREAD_FUNNELED, which threads that compute need");
        }
    } else {
        choose_threads(&program);
        program.memory_bytes = placement_memory_share(program.place);
        code = kind->run(&program);
    }
    atomic_store(&program.unfinished, NULL);
    helper_destroy(program.helper);
    clock_destroy(program.clock);
    compute_destroy(program.team);
    placement_disconnect(program.place);
    phase_enter(PHASE_FINALIZE);
    MPI_CHECK(MPI_Finalize());
    watch_stop(program.watch);
    placement_destroy(program.place);
    record_close(program.record);
    free(program.metadata);
    options_free_list(&program.settings.dedicated_cpus);
    return code;
}
