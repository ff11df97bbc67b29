/*
 * compute_alone - the computation of mpi_impact without MPI: t_comp_ref of r_mpi_impact (Denis 2022, section 3.2.1,
 * equation 2).
 *
 * The launcher that starts mpi_impact starts it with the same options of binding: as many processes, each of which
 * computes on the CPUs of the mpi_impact process with the same rank. It is linked without MPI, because a library that
 * is only loaded may have an effect as well.
 */
#include "build_info.h"
#include "compute.h"
#include "fail.h"
#include "impact.h"
#include "json.h"
#include "like.h"
#include "names.h"
#include "options.h"
#include "record.h"
#include "rendezvous.h"
#include "timer.h"
#include "topology.h"

#include <math.h>
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { GOOD = 0, FAILED = 1, WRONG_USE = 2, NO_RANK = -1 };

static struct settings {
    const char *like;
    const char *record;
    const char *rank_variables;
    int64_t rank;
    double wait_seconds;
    int describe; /* 1: program */
    bool version;
    bool help;
} settings = {.rank = NO_RANK, .wait_seconds = 60};

/* The variables in which process managers say a process's rank: PMI, PMIx, and last a batch system, whose variable may
 * be about the launcher itself. */
static const char general_rank_variables[] = "PMI_RANK,PMIX_RANK,SLURM_PROCID";

/* One process. */
struct process {
    int rank;
    char host[256];
    char started_utc[32];
    int64_t began;
    int argc;
    char **argv;
    struct topology_cpus cpus; /* the CPUs that it may use at its start */
    struct like like;
    struct topology_cpus *compute_cpus; /* [threads], as read back */
    record_file *record;
    compute_team *team;
};

/* Whether a variable holds a rank; context: an int for it. */
static bool read_rank(const char *variable, void *context) {
    const char *text = getenv(variable);
    char *end = NULL;
    const long value = text != NULL ? strtol(text, &end, 10) : NO_RANK;
    const bool good = text != NULL && end != text && *end == '\0' && value >= 0 && value < INT32_MAX;
    if (good) {
        *(int *)context = (int)value;
    }
    return good;
}

/* Returns this process's rank; NO_RANK and one line in error where no variable says it. */
static int find_rank(char *error, size_t error_size) {
    if (settings.rank != NO_RANK) {
        return (int)settings.rank;
    }
    int rank = NO_RANK;
    if (!names_find(settings.rank_variables, read_rank, &rank) &&
        !names_find(general_rank_variables, read_rank, &rank)) {
        snprintf(error, error_size,
                 "no launcher says which process this is (%s); start it with mpiexec, and name its variable with "
                 "--rank-variables, or give --rank N",
                 general_rank_variables);
    }
    return rank;
}

/* The first line of a process's file. */
struct first_line {
    const struct process *process;
    const char *family;
    const char *program;
    int rank;
    const char *host;
    const char *started_utc;
    char *cpuset;
    struct record_build build;
};

static void put_command_line(json_line *line, const char *name, const void *of) {
    const struct process *process = ((const struct first_line *)of)->process;
    json_open_array(line, name);
    for (int i = 0; i < process->argc; i++) {
        json_put_string(line, NULL, process->argv[i]);
    }
    json_close_array(line);
}

static void put_cpusets(json_line *line, const char *name, const void *of) {
    const struct process *process = ((const struct first_line *)of)->process;
    json_open_array(line, name);
    for (int i = 0; i < process->like.threads; i++) {
        char *text = topology_cpus_format(&process->compute_cpus[i]);
        json_put_string(line, NULL, text);
        free(text);
    }
    json_close_array(line);
}

static const struct field first_line_fields[] = {
    FIELD(struct first_line, family, "what is measured"),
    FIELD(struct first_line, program, "compute_alone"),
    FIELD(struct first_line, rank, "which process this is, as the launcher says"),
    FIELD(struct first_line, host, "where it ran"),
    FIELD(struct first_line, started_utc, "ISO 8601, in seconds, ends in Z"),
    FIELD_BY("command_line", put_command_line, "texts", "the program and its options"),
    FIELD(struct first_line, cpuset, "the CPUs that the process may use when it starts"),
    FIELD_BY("compute_cpusets", put_cpusets, "texts", "the CPUs of each computing thread, as bound while it computes"),
    FIELD_STRUCT(struct first_line, build, record_build_fields, "how the program was built"),
    FIELDS_END,
};

static bool write_first_line(const struct process *process) {
    const struct first_line first = {
        .process = process,
        .family = "mpi_impact",
        .program = "compute_alone",
        .rank = process->rank,
        .host = process->host,
        .started_utc = process->started_utc,
        .cpuset = topology_cpus_format(&process->cpus),
        .build = {BUILD_COMPILER, BUILD_FLAGS, BUILD_COMMIT, BUILD_DIRTY, compute_blas_description()}};
    json_line *line = json_line_create();
    json_open_object(line, NULL);
    json_put_string(line, "type", "process");
    json_put_string(line, "schema", RECORD_SCHEMA);
    json_put_integer(line, "schema_version", RECORD_VERSION);
    fields_put(line, first_line_fields, &first);
    json_close_object(line);
    const bool good = record_write_first(process->record, json_line_text(line));
    json_line_destroy(line);
    free(first.cpuset);
    return good;
}

static void describe(const struct option_entry *entries) {
    json_line *line = json_line_create();
    json_open_object(line, NULL);
    json_put_string(line, "program", "compute_alone");
    json_put_string(line, "family", "mpi_impact");
    options_describe(line, entries, NULL, NULL);
    fields_describe(line, "plan", NULL);
    fields_describe(line, "header", NULL);
    fields_describe(line, "points", NULL); /* those of mpi_impact */
    fields_describe(line, "process", first_line_fields);
    json_close_object(line);
    char *text = json_line_take_broken(line);
    printf("%s\n", text);
    free(text);
}

static bool write_footer(const struct process *process) {
    return record_write_footer(process->record,
                               &(struct record_footer){.complete = true,
                                                       .reason = "",
                                                       .points = record_points(process->record),
                                                       .wall_seconds = (double)(timer_now_ns() - process->began) / 1e9,
                                                       .measured_seconds = NAN,
                                                       .clock_residual_ns = NAN,
                                                       .clock_synchronisations = RECORD_UNKNOWN,
                                                       .clock_synchronisation_seconds = NAN,
                                                       .clock_refusal = ""});
}

/* Binds the threads to the CPUs of the same threads of mpi_impact. false and one line in error where the system refuses
 * or does something else. */
static bool bind_threads(struct process *process, char *error, size_t error_size) {
    const struct like *like = &process->like;
    bool good = true;
#pragma omp parallel num_threads(like->threads) reduction(&& : good)
    good = topology_bind_thread(0, &like->cpus[omp_get_thread_num()]);
    process->compute_cpus = fail_alloc((size_t)like->threads, sizeof *process->compute_cpus);
    compute_cpusets(process->team, process->compute_cpus);
    if (good && memcmp(process->compute_cpus, like->cpus, (size_t)like->threads * sizeof *like->cpus) == 0) {
        return true;
    }
    char *text = topology_cpus_format(&process->cpus);
    snprintf(error, error_size,
             "threads cannot be bound where those of rank %d of '%s' were: this process may use CPUs %s; start it with "
             "the same options of binding",
             process->rank, settings.like, text);
    free(text);
    return false;
}

/* Creates the record of this process and starts its threads. false and one line in error on a fault. */
static bool prepare(struct process *process, char *error, size_t error_size) {
    const int length = snprintf(NULL, 0, "%s.%d", settings.record, process->rank);
    char *path = fail_alloc((size_t)length + 1, 1);
    snprintf(path, (size_t)length + 1, "%s.%d", settings.record, process->rank);
    process->record = record_create(path, error, error_size);
    free(path);
    if (process->record == NULL) {
        return false;
    }
    process->team = compute_create(process->like.plan.computation, process->like.threads, error, error_size);
    return process->team != NULL && bind_threads(process, error, error_size);
}

static bool write_points(const struct process *process, const struct impact_samples *samples) {
    bool good = true;
    for (size_t i = 0; i < process->like.plan.count && good; i++) {
        const int64_t window[2] = {samples[i].begin_utc_ns, samples[i].end_utc_ns};
        good = impact_write_point(process->record, &process->like.plan, i, 1, window, samples[i].t_comp_ns);
    }
    return good;
}

/* Returns the exit code. */
static int measure(struct process *process) {
    char error[768] = "";
    int64_t begin = 0;
    if (!write_first_line(process)) {
        fail_report("rank %d: %s", process->rank, record_error(process->record));
        return FAILED;
    }
    impact_prepare(process->team, &process->like.plan);
    struct impact_samples *samples = impact_samples_create(&process->like.plan);
    const bool met = rendezvous_wait(settings.record, process->rank, process->like.neighbours,
                                     process->like.neighbour_count, settings.wait_seconds, &begin, error, sizeof error);
    bool written = true;
    if (met) {
        impact_measure(process->team, &process->like.plan, begin, samples);
        written = write_points(process, samples) && write_footer(process);
    }
    rendezvous_leave(settings.record, process->rank);
    if (!met || !written) {
        fail_report("rank %d: %s", process->rank, met ? record_error(process->record) : error);
    }
    impact_samples_free(&process->like.plan, samples);
    return met && written ? GOOD : FAILED;
}

static void begin(struct process *process, int argc, char **argv) {
    fail_setup("compute_alone", -1, NULL);
    timer_check();
    process->began = timer_now_ns();
    process->argc = argc;
    process->argv = argv;
    const time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc) == NULL ||
        strftime(process->started_utc, sizeof process->started_utc, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0) {
        fail_die("the date cannot be read");
    }
    if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR) {
        fail_die("signal failed");
    }
    if (gethostname(process->host, sizeof process->host - 1) != 0) {
        strcpy(process->host, "unknown");
    }
    topology_own_cpus(&process->cpus);
}

static int run(struct process *process) {
    char error[768] = "";
    if (settings.like == NULL || settings.record == NULL) {
        snprintf(error, sizeof error, "--like FILE and --record FILE are needed; --help tells more");
    } else {
        process->rank = find_rank(error, sizeof error);
    }
    int code = WRONG_USE;
    if (error[0] == '\0' && like_read(settings.like, process->rank, &process->like, error, sizeof error) &&
        prepare(process, error, sizeof error)) {
        code = measure(process);
    }
    if (error[0] != '\0') {
        fail_report("%s", error);
    }
    record_close(process->record);
    compute_destroy(process->team);
    free(process->compute_cpus);
    like_free(&process->like);
    return code;
}

int main(int argc, char **argv) {
    static const struct option_choice describe_choices[] = {
        {"nothing", "the default"}, {"program", "what this program has of its own"}, {NULL, NULL}};
    const struct option_entry entries[] = {
        option_text(
            "like", &settings.like, "FILE",
            "what mpi_impact --save-like wrote: processes, threads, CPUs, work and repetitions are taken from it"),
        option_text(
            "record", &settings.record, "FILE",
            "each process writes its record (JSON Lines) to FILE.0, FILE.1, ..., which must not exist; in a folder "
            "that all processes see"),
        option_integer("rank", &settings.rank, 0, 2147483646, "N",
                       "which process this is; default: what the launcher says in its environment"),
        option_text(
            "rank-variables", &settings.rank_variables, "LIST",
            "variables in which the launcher may say which process this is, comma-separated; looked at in their "
            "order, and before PMI_RANK, PMIX_RANK and SLURM_PROCID"),
        option_real("wait-seconds", &settings.wait_seconds, 0.1, 3600, "S",
                    "how long to wait for the other processes of this host to get ready; default: 60"),
        option_one_of("describe", &settings.describe, describe_choices,
                      "print, as JSON, the tables from which options are read and the first line is written, and end"),
        option_flag("version", &settings.version, "print the version and end"),
        option_flag("help", &settings.help, "print this and end"),
        {.name = NULL},
    };
    struct process process = {.rank = NO_RANK};
    char error[768] = "";
    begin(&process, argc, argv);
    if (!options_parse(entries, argc, argv, error, sizeof error)) {
        fail_report("%s", error);
        return WRONG_USE;
    }
    if (settings.help) {
        char *options = options_help(entries);
        printf("usage: mpiexec -n RANKS compute_alone --like FILE --record FILE [OPTION]...\n\n"
               "The computation of mpi_impact in a program that is linked without MPI: the reference of r_mpi_impact\n"
               "(Denis et al. 2022, equation 2). Start it as mpi_impact is started: by the same launcher, with the\n"
               "same options of binding.\n\n"
               "options:\n%s\nexit codes: 0 good; 1 a process that did not come, or a full disk; 2 wrong use\n",
               options);
        free(options);
        return GOOD;
    }
    if (settings.version) {
        printf("compute_alone " BUILD_VERSION " (commit " BUILD_COMMIT ")\n");
        return GOOD;
    }
    if (settings.describe != 0) {
        describe(entries);
        return GOOD;
    }
    return run(&process);
}
