/*
 * timing_selfcheck - can times be trusted on this machine, with this MPI library?
 *
 * Measures what every number of the other benchmarks rests on: the timer, the clock that ranks share, the start, the noise of the
 * cores, and how well fixed work can be timed with all of these (Denis et al. 2022, section 4).
 */
#include "build_info.h"
#include "fail.h"
#include "fail_mpi.h"
#include "header.h"
#include "imbalance.h"
#include "noise.h"
#include "residual.h"
#include "session.h"
#include "sizing.h"
#include "timer.h"
#include "timing.h"
#include "work.h"

#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { EXIT_GOOD = 0, EXIT_FAILED = 1, EXIT_WRONG_USE = 2 };

enum { DEFAULT_REPETITIONS = 20, DEFAULT_MOST_REPETITIONS = 1000 };
static const int64_t default_targets_ns[] = {500000, 4000000, 16000000, 64000000};

/* In the order in which they run. Each is collective; false: the run ends, and the session's reason says why. */
enum section { TIMER, CLOCK, START, NOISE, WORK, SECTIONS };
static const char *const section_names[SECTIONS + 1] = {
    [TIMER] = "timer", [CLOCK] = "clock", [START] = "start", [NOISE] = "noise", [WORK] = "work"};
static bool (*const sections[SECTIONS])(struct session *) = {
    [TIMER] = timing_measure, [CLOCK] = residual_measure, [START] = imbalance_measure, [NOISE] = noise_measure, [WORK] = work_measure};

#define MOST_OPTIONS 32

/* The table of options: what --help prints and the parser knows is this. */
static void describe_options(struct settings *s, struct option_entry entries[MOST_OPTIONS]) {
    const struct option_entry table[] = {
        {.name = "only", .kind = OPTION_CHOICES, .target = &s->only, .choices = section_names, .value_name = "LIST",
         .help = "sections to run, comma-separated, may be repeated; default: all"},
        {.name = "hold", .kind = OPTION_REAL, .target = &s->hold_seconds, .minimum = 0, .maximum = 3600, .value_name = "S",
         .help = "clock: the residual is measured at once and after so many seconds; where clocks differ their drift is first observed for "
                 "as long; default: 10"},
        {.name = "starts", .kind = OPTION_INTEGER, .target = &s->starts, .minimum = 1, .maximum = 100000, .value_name = "N",
         .help = "start: so many starts of each method, taking turns; default: 500"},
        {.name = "noise-seconds", .kind = OPTION_REAL, .target = &s->noise_seconds, .minimum = 0.01, .maximum = 600, .value_name = "S",
         .help = "noise: how long all threads listen; default: 2"},
        {.name = "detour-ns", .kind = OPTION_INTEGER, .target = &s->detour_ns, .minimum = 100, .maximum = 1e9, .value_name = "NS",
         .help = "noise: a gap between two readings of the timer above this is a detour; default: 1000"},
        {.name = "targets", .kind = OPTION_DURATIONS, .target = &s->targets, .value_name = "LIST",
         .help = "work: times that the fixed work shall take, ascending, with units; default: 500us,4ms,16ms,64ms"},
        {.name = "repetitions", .kind = OPTION_INTEGER, .target = &s->repetitions, .minimum = 1, .maximum = 100000, .value_name = "N",
         .help = "work: at least so many samples of each, warm-ups not counted; default: 20"},
        {.name = "interval", .kind = OPTION_REAL, .target = &s->interval, .minimum = 1e-4, .maximum = 10, .value_name = "W",
         .help = "work: instead of --repetitions, samples until the 95 % interval of the median is at most this wide, relative to the median"},
        {.name = "max-repetitions", .kind = OPTION_INTEGER, .target = &s->max_repetitions, .minimum = 1, .maximum = 100000, .value_name = "N",
         .help = "work: with --interval, at most this many; default: 1000"},
        {.name = "sizes", .kind = OPTION_TEXT, .target = &s->sizes, .value_name = "FILE",
         .help = "work: message and matrix sizes from this file, nothing is calibrated"},
        {.name = "save-sizes", .kind = OPTION_TEXT, .target = &s->save_sizes, .value_name = "FILE",
         .help = "work: write the sizes that the calibration found (for --sizes)"},
        {.name = "max-message-bytes", .kind = OPTION_INTEGER, .target = &s->max_message_bytes, .minimum = 64, .maximum = 17179869176.0,
         .value_name = "N",
         .help = "work: largest message that the calibration tries, never more than half of the rank's share of memory; default: 1 GiB"},
        {.name = "threads", .kind = OPTION_INTEGER, .target = &s->threads, .minimum = 1, .maximum = 4096, .value_name = "N",
         .help = "computing threads of each rank; default: OMP_NUM_THREADS, else the physical cores of the rank's share of its node"},
        {.name = "record", .kind = OPTION_TEXT, .target = &s->record, .value_name = "FILE",
         .help = "the record, JSON Lines; must not exist"},
        {.name = "metadata", .kind = OPTION_TEXT, .target = &s->metadata, .value_name = "FILE",
         .help = "a JSON object that is put into the record's header as it is"},
        {.name = "toolchain", .kind = OPTION_TEXT, .target = &s->toolchain, .value_name = "NAME", .help = "label in the record's header"},
        {.name = "provider", .kind = OPTION_TEXT, .target = &s->provider, .value_name = "NAME", .help = "label in the record's header"},
        {.name = "network", .kind = OPTION_TEXT, .target = &s->network, .value_name = "NAME",
         .help = "label in the record's header; default: native"},
        {.name = "quiet", .kind = OPTION_FLAG, .target = &s->quiet, .help = "no table, no progress"},
        {.name = "version", .kind = OPTION_FLAG, .target = &s->version, .help = "print the version and end"},
        {.name = "help", .kind = OPTION_FLAG, .target = &s->help, .help = "print this and end"},
        {.name = NULL},
    };
    _Static_assert(sizeof table / sizeof *table <= MOST_OPTIONS, "MOST_OPTIONS is too small");
    memcpy(entries, table, sizeof table);
}

static void print_help(const struct option_entry *entries) {
    char *options = options_describe(entries);
    printf("usage: mpiexec -n RANKS " SESSION_PROGRAM " [OPTION]...\n\n"
           "Measures, on this machine and with this MPI library, whether times can be trusted. Sections:\n\n"
           "  timer  resolution and cost of a reading, on the rank where they are worst\n"
           "  clock  how far the ranks' common time is off, at once and after a while\n"
           "  start  how far apart ranks begin: a deadline on that clock, MPI_Barrier, a dissemination barrier\n"
           "  noise  what takes cores away from computing threads: detours, their lengths, the share of time lost\n"
           "  work   medians of a fixed computation (DGEMM) and of a fixed communication (MPI_Ibcast, MPI_Wait)\n\n"
           "options:\n%s\n"
           "exit codes: 0 good, however noisy the machine; 1 wrong data, a full disk or an MPI error; 2 wrong use\n",
           options);
    free(options);
}

static bool runs(const struct settings *s, int section) {
    bool found = s->only.count == 0;
    for (size_t i = 0; i < s->only.count; i++) {
        found = found || s->only.values[i] == section;
    }
    return found;
}

/* What the table of options cannot say, and what was left out. One line in error where something contradicts. */
static void complete_settings(struct settings *s, char *error, size_t error_size) {
    if (s->interval > 0 && s->repetitions > 0) {
        snprintf(error, error_size, "--repetitions and --interval both say when to stop; use one of them (--max-repetitions caps --interval)");
    } else if (s->max_repetitions > 0 && !(s->interval > 0)) {
        snprintf(error, error_size, "--max-repetitions caps --interval, which is not given; use --repetitions");
    } else if (s->sizes != NULL && s->save_sizes != NULL) {
        snprintf(error, error_size, "--save-sizes has nothing to save with --sizes, which calibrates nothing; use one of them");
    } else if (s->sizes != NULL && s->max_message_bytes > 0) {
        snprintf(error, error_size, "--max-message-bytes bounds the calibration, and --sizes calibrates nothing; use one of them");
    } else if ((s->sizes != NULL || s->save_sizes != NULL) && !runs(s, WORK)) {
        snprintf(error, error_size, "%s belongs to the section work, which --only leaves out", s->sizes != NULL ? "--sizes" : "--save-sizes");
    }
    if (s->interval > 0 && s->max_repetitions == 0) {
        s->max_repetitions = DEFAULT_MOST_REPETITIONS;
    } else if (!(s->interval > 0) && s->repetitions == 0) {
        s->repetitions = DEFAULT_REPETITIONS;
    }
    if (s->targets.count == 0) {
        s->targets.count = sizeof default_targets_ns / sizeof *default_targets_ns;
        s->targets.values = fail_alloc(s->targets.count, sizeof *s->targets.values);
        memcpy(s->targets.values, default_targets_ns, sizeof default_targets_ns);
    }
}

static int choose_threads(const struct session *session) {
    int threads = getenv("OMP_NUM_THREADS") != NULL ? omp_get_max_threads() : placement_core_share(session->place);
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &threads, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    return session->settings->threads > 0 ? (int)session->settings->threads : threads;
}

/* Collective. Everything that can be wrong before anything is measured. false: it was said. */
static bool prepare(struct session *session, struct settings *s) {
    char error[768] = "";
    complete_settings(s, error, sizeof error);
    if (!session_all_good(error)) {
        return false;
    }
    session->threads = choose_threads(session);
    session->memory_bytes = placement_memory_share(session->place);
    session->sizes = sizing_list(s, session->ranks, session->threads);
    if (session->rank == 0 && s->metadata != NULL) {
        session->metadata = header_read_metadata(s->metadata, error, sizeof error);
    }
    if (session->rank == 0 && error[0] == '\0' && s->sizes != NULL && sizes_read(s->sizes, &session->sizes, error, sizeof error)) {
        sizing_check(s, &session->sizes, session->memory_bytes, error, sizeof error);
    }
    if (error[0] == '\0') {
        session->team = compute_create(session->threads, error, sizeof error);
    }
    if (!session_all_good(error)) {
        return false;
    }
    sizing_broadcast(&session->sizes);
    placement_bind(session->place, session->team, session->threads);
    if (session->rank == 0) {
        session->record = record_create(s->record, error, sizeof error);
    }
    return session_all_good(error);
}

/* Collective. */
static int measure(struct session *session) {
    char *identity = placement_clock_identity(session->place);
    session->clock = clock_create(MPI_COMM_WORLD, identity);
    free(identity);
    bool good = header_write(session);
    for (int i = 0; i < SECTIONS && good; i++) {
        if (runs(session->settings, i)) {
            good = sections[i](session);
        }
    }
    if (session_agree(!session->unwritable)) {
        good = header_write_footer(session, good) && good;
    }
    if (session->rank == 0 && !good) {
        fail_report("%s", session->reason);
    }
    return good ? EXIT_GOOD : EXIT_FAILED;
}

int main(int argc, char **argv) {
    struct settings settings = {.hold_seconds = 10,
                                .starts = 500,
                                .noise_seconds = 2,
                                .detour_ns = 1000,
                                .toolchain = "unknown",
                                .provider = "unknown",
                                .network = "native"};
    struct session session = {.settings = &settings};
    fail_setup(SESSION_PROGRAM, -1, NULL);
    timer_check();
    session.began = timer_now_ns();
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc) == NULL ||
        strftime(session.started_utc, sizeof session.started_utc, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0) {
        fail_die("the date cannot be read");
    }
    /* A record that outgrows a limit is reported like a full disk, not ended by a signal. */
    if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR) {
        fail_die("signal failed");
    }
    session.place = placement_create();
    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &session.thread_level) != MPI_SUCCESS) {
        fail_die("MPI_Init_thread failed");
    }
    session.argc = argc;
    session.argv = argv;
    MPI_Comm_rank(MPI_COMM_WORLD, &session.rank);
    fail_mpi_setup(SESSION_PROGRAM, session.rank);
    MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &session.ranks));
    placement_complete(session.place);

    char error[768] = "";
    struct option_entry entries[MOST_OPTIONS];
    describe_options(&settings, entries);
    bool parsed = options_parse(entries, argc, argv, error, sizeof error);
    int code = EXIT_GOOD;
    if (parsed && (settings.help || settings.version)) {
        if (session.rank == 0 && settings.help) {
            print_help(entries);
        } else if (session.rank == 0) {
            printf(SESSION_PROGRAM " " BUILD_VERSION " (commit " BUILD_COMMIT ")\n");
        }
    } else if (!session_all_good(error)) {
        code = EXIT_WRONG_USE;
    } else if (session.thread_level < MPI_THREAD_FUNNELED) {
        code = EXIT_FAILED;
        if (session.rank == 0) {
            fail_report("the MPI library does not provide MPI_THREAD_FUNNELED, which threads that compute need");
        }
    } else if (!prepare(&session, &settings)) {
        code = EXIT_WRONG_USE;
    } else {
        code = measure(&session);
    }

    clock_destroy(session.clock);
    compute_destroy(session.team);
    placement_destroy(session.place);
    record_close(session.record);
    sizing_free(&session.sizes);
    free(session.metadata);
    options_free_list(&settings.only);
    options_free_list(&settings.targets);
    MPI_CHECK(MPI_Finalize());
    return code;
}
