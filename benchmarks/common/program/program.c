#include "program_internal.h"

#include "budget.h"
#include "build_info.h"
#include "fail.h"
#include "fail_mpi.h"
#include "group.h"
#include "phase.h"
#include "timer.h"

#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

bool program_agree(bool good) {
    int verdict = good;
    MPI_CHECK(MPI_Bcast(&verdict, 1, MPI_INT, 0, MPI_COMM_WORLD));
    return verdict != 0;
}

bool program_is_spent(const struct program *program) {
    const struct budget budget = {.seconds = program->settings.budget_seconds, .began_ns = program->began};
    return program_agree(budget_is_over(&budget));
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

int program_thread_level(const struct program *program) {
    const int wanted = program->configuration->thread_level;
    return program->kind->thread_level > wanted ? program->kind->thread_level : wanted;
}

struct sampler_session program_session(const struct program *program) {
    return (struct sampler_session){.rank = program->rank,
                                    .ranks = program->ranks,
                                    .threads = program->threads,
                                    .clock = program->clock,
                                    .clockless = program->kind->clockless,
                                    .record = program->record,
                                    .quiet = program->settings.quiet};
}

bool program_prints(const struct program *program) {
    return program->rank == 0 && !program->settings.quiet;
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
        program->watchdog =
            watchdog_start(program->began + (int64_t)(program->settings.limit_seconds * 1e9), program_hangs, program);
    }
    program->place = placement_create(); /* after the watchdog, which is no thread of MPI's */
    if (MPI_Init_thread(&argc, &argv, program_thread_level(program), &program->thread_level) != MPI_SUCCESS) {
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

static void print_help(const struct program *program, const struct option_entry *entries) {
    char *options = options_help(entries);
    const char *usual = "0 good; 1 wrong data, a full disk or an MPI error; 2 wrong use, or nothing could be measured";
    const char *exits = program->kind->exits != NULL ? program->kind->exits : usual;
    printf("%s\noptions:\n%s\nexit codes: %s\n", program->kind->help, options, exits);
    free(options);
}

int program_main(const struct program_kind *kind, int argc, char **argv) {
    struct program program = {.kind = kind,
                              .settings = {.toolchain = "unknown",
                                           .provider = "unknown",
                                           .network = "native",
                                           .budget_seconds = kind->usual_budget_seconds,
                                           .interval = 0.02,
                                           .max_repetitions = kind->max_repetitions > 0 ? kind->max_repetitions : 100},
                              .configuration = &configuration_table[CONFIGURATION_BASIC],
                              .known_rank = -1};
    char error[PROGRAM_MOST_ERROR] = "";
    struct option_entry entries[PROGRAM_MOST_OPTIONS] = {{.name = NULL}};
    fail_setup(kind->name, -1, NULL);
    /* Parsed before MPI_Init, which must know the thread level. A fault is reported after it, once. */
    program_describe_options(&program, entries);
    program.options = entries;
    program_describe_hash(&program, program.description);
    const bool parsed = options_parse(entries, argc, argv, error, sizeof error);
    if (parsed) {
        program.configuration = &configuration_table[program.settings.configuration];
        program_check_options(&program, error, sizeof error);
    }
    const enum program_description what = (enum program_description)program.settings.describe;
    program.settings.describe = DESCRIBE_NOTHING; /* its default, which the description tells */
    if (parsed && what != DESCRIBE_NOTHING) {
        program_describe(&program, what);
        options_free(entries);
        return PROGRAM_GOOD;
    }
    begin(&program, argc, argv);
    int code = PROGRAM_GOOD;
    if (parsed && (program.settings.help || program.settings.version || program.settings.list)) {
        if (program.rank == 0 && program.settings.help) {
            print_help(&program, entries);
        } else if (program.rank == 0 && program.settings.list) {
            kind->list();
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
    watchdog_stop(program.watchdog);
    placement_destroy(program.place);
    record_close(program.record);
    free(program.metadata);
    options_free(entries);
    return code;
}
