#include "program_internal.h"

#include "fail.h"
#include "stats.h"

#include <stdio.h>
#include <string.h>

static void append_options(struct option_entry entries[PROGRAM_MOST_OPTIONS], const struct option_entry *table,
                           size_t size) {
    size_t own = 0;
    while (own < PROGRAM_MOST_OPTIONS && entries[own].name != NULL) {
        own++;
    }
    if (own + size / sizeof *table > PROGRAM_MOST_OPTIONS) {
        fail_die("more options than PROGRAM_MOST_OPTIONS");
    }
    memcpy(entries + own, table, size);
}

/* Appends the options of programs with configurations. */
static void describe_configuration(struct program *program, struct option_entry entries[PROGRAM_MOST_OPTIONS]) {
    struct program_settings *s = &program->settings;
    const struct option_entry table[] = {
        {.name = "configuration",
         .kind = OPTION_CHOICE,
         .target = &s->configuration,
         .choices = configuration_names(),
         .value_name = "NAME",
         .help = "which thread makes communication progress: basic, none (default); async, a thread of the MPI "
                 "library; dedicated, such a thread on a core that does not compute; apphelper, a thread of this "
                 "program on such a core. Two controls compute on one core less: dedicated_unbound, the library's "
                 "thread bound to no core, and basic_reduced, no thread. The launch must ask the MPI library for its "
                 "thread; this program verifies that it is there"},
        {.name = "dedicated-cpus",
         .kind = OPTION_INTEGERS,
         .target = &s->dedicated_cpus,
         .minimum = 0,
         .maximum = TOPOLOGY_MOST_CPUS - 1,
         .value_name = "LIST",
         .help = "the CPU whose core does not compute, for each rank of a node in the order of ranks; default: the "
                 "last core of each rank's share"},
        {.name = "move-progress-threads",
         .kind = OPTION_FLAG,
         .target = &s->move_progress_threads,
         .help = "after MPI_Init this program moves the threads that MPI started: with dedicated to the dedicated "
                 "core, for libraries that cannot bind them; with dedicated_unbound to all CPUs of the rank, for "
                 "libraries that always bind them"},
        {.name = "oversubscribed",
         .kind = OPTION_FLAG,
         .target = &s->oversubscribed,
         .help = "the record says oversubscribed although each node has cores enough: nodes share their cores"},
        {.name = "record-controls",
         .kind = OPTION_TEXT,
         .target = &s->record_controls,
         .value_name = "LIST",
         .help = "control variables of MPI_T whose values the record keeps: names, comma-separated, '*' for any "
                 "letters; default: none"},
        {.name = "limit-seconds",
         .kind = OPTION_REAL,
         .target = &s->limit_seconds,
         .minimum = 0,
         .maximum = 1e7,
         .value_name = "S",
         .help = "a run that is not over after so many seconds hangs: each rank says on standard error where it is, "
                 "the record is closed, and the run ends with exit code 1. 0: no limit (default)"},
        {.name = NULL},
    };
    append_options(entries, table, sizeof table);
}

/* Appends the options of programs that repeat points. */
static void describe_repetitions(struct program *program, struct option_entry entries[PROGRAM_MOST_OPTIONS]) {
    static const char *const start_names[] = {"deadline", "barrier", NULL}; /* enum start_method */
    struct program_settings *s = &program->settings;
    const struct option_entry table[] = {
        {.name = "budget-seconds",
         .kind = OPTION_REAL,
         .target = &s->budget_seconds,
         .minimum = 0,
         .maximum = 1e7,
         .value_name = "S",
         .help = "time for the whole run, MPI_Init included: up to 30 % of it for calibration, the rest is divided "
                 "over the remaining points as the run goes. --min-repetitions takes precedence, but after 3 times the "
                 "budget nothing more is measured: the current point ends with the repetitions it has, and the "
                 "remaining points are written as not_measured. 0: no budget, the default where nothing else is said "
                 "above"},
        {.name = "interval",
         .kind = OPTION_REAL,
         .target = &s->interval,
         .minimum = 1e-4,
         .maximum = 10,
         .value_name = "W",
         .help = "a point is done when the 95 % intervals of the medians of its times are at most this wide, relative "
                 "to the median; default: 0.02"},
        {.name = "min-repetitions",
         .kind = OPTION_INTEGER,
         .target = &s->min_repetitions,
         .minimum = 1,
         .maximum = 100000,
         .value_name = "N",
         .help = "at least this many valid repetitions per point; default: 9, the fewest whose 95 % interval of the "
                 "median leaves out the smallest and the largest, or --max-repetitions where that is less"},
        {.name = "max-repetitions",
         .kind = OPTION_INTEGER,
         .target = &s->max_repetitions,
         .minimum = 1,
         .maximum = 100000,
         .value_name = "N",
         .help = "at most this many valid repetitions per point; default: 100, where nothing else is said above"},
        {.name = "start",
         .kind = OPTION_CHOICE,
         .target = &s->start,
         .choices = start_names,
         .value_name = "NAME",
         .help = "how ranks begin together: deadline, on a synchronised clock (default), or barrier, for comparison; "
                 "where a clock is refused ranks start from a barrier in any case, and the record says so"},
        {.name = "settle",
         .kind = OPTION_DURATION,
         .target = &s->settle_ns,
         .value_name = "T",
         .help = "nothing is sent for this long before every start, such as 300us: a network that is faster after a "
                 "pause then serves all timed parts alike; ignored where ranks start from a barrier; default: 0"},
        {.name = "rank-samples",
         .kind = OPTION_FLAG,
         .target = &s->rank_samples,
         .help = "record every rank's samples above 64 ranks as well"},
        {.name = NULL},
    };
    append_options(entries, table, sizeof table);
}

/* The options of all programs are appended to the benchmark's own. */
void program_describe_options(struct program *program, struct option_entry entries[PROGRAM_MOST_OPTIONS]) {
    struct program_settings *s = &program->settings;
    const struct option_entry table[] = {
        {.name = "threads",
         .kind = OPTION_INTEGER,
         .target = &s->threads,
         .minimum = 1,
         .maximum = 4096,
         .value_name = "N",
         .help = "computing threads of each rank; default: OMP_NUM_THREADS, else the physical cores of the rank's "
                 "share of its node; one core fewer where the configuration gives one up and the rank has two"},
        {.name = "record",
         .kind = OPTION_TEXT,
         .target = &s->record,
         .value_name = "FILE",
         .help = "write the record to this file (JSON Lines), which must not exist"},
        {.name = "metadata",
         .kind = OPTION_TEXT,
         .target = &s->metadata,
         .value_name = "FILE",
         .help = "a file with a JSON object, which is copied into the record's header"},
        {.name = "record-environment",
         .kind = OPTION_TEXT,
         .target = &s->record_environment,
         .value_name = "LIST",
         .help = "environment variables that the record keeps beside those of OpenMP and BLAS: names, comma-separated, "
                 "'*' for any letters; '^' before a name leaves out what an earlier one let in. A variable whose name "
                 "looks like that of a secret is never kept"},
        {.name = "toolchain",
         .kind = OPTION_TEXT,
         .target = &s->toolchain,
         .value_name = "NAME",
         .help = "label in the record's header"},
        {.name = "provider",
         .kind = OPTION_TEXT,
         .target = &s->provider,
         .value_name = "NAME",
         .help = "label in the record's header"},
        {.name = "network",
         .kind = OPTION_TEXT,
         .target = &s->network,
         .value_name = "NAME",
         .help = "label in the record's header; default: native"},
        {.name = "quiet", .kind = OPTION_FLAG, .target = &s->quiet, .help = "no table, no progress"},
        {.name = "version", .kind = OPTION_FLAG, .target = &s->version, .help = "print the version and end"},
        {.name = "help", .kind = OPTION_FLAG, .target = &s->help, .help = "print this and end"},
        {.name = NULL},
    };
    if (program->kind->describe != NULL) {
        program->kind->describe(entries);
    }
    if (program->kind->list != NULL) {
        const struct option_entry list[] = {
            {.name = "list", .kind = OPTION_FLAG, .target = &s->list, .help = "print what can be measured, and end"},
            {.name = NULL},
        };
        append_options(entries, list, sizeof list);
    }
    if (program->kind->repeats) {
        describe_repetitions(program, entries);
    }
    if (program->kind->configurations) {
        describe_configuration(program, entries);
    }
    append_options(entries, table, sizeof table);
}

void program_check_options(struct program *program, char *error, size_t error_size) {
    struct program_settings *s = &program->settings;
    const struct configuration *c = program->configuration;
    if (s->dedicated_cpus.count > 0 && !c->gives_up_core) {
        snprintf(error, error_size,
                 "--dedicated-cpus: configuration %s gives no core up; use dedicated or apphelper, or leave it out",
                 c->name);
    } else if (s->move_progress_threads && !(c->gives_up_core && c->source == PROGRESS_LIBRARY)) {
        snprintf(error, error_size,
                 "--move-progress-threads: configuration %s has no thread to move; use dedicated or dedicated_unbound, "
                 "or leave it out",
                 c->name);
    } else if (s->min_repetitions > s->max_repetitions) {
        snprintf(error, error_size,
                 "--min-repetitions %lld is above --max-repetitions %lld; lower one or raise the other",
                 (long long)s->min_repetitions, (long long)s->max_repetitions);
    } else if (s->min_repetitions == 0) {
        s->min_repetitions =
            s->max_repetitions < STATS_FEWEST_WITHOUT_EXTREMES ? s->max_repetitions : STATS_FEWEST_WITHOUT_EXTREMES;
    }
}
