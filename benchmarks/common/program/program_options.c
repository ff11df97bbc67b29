#include "program_internal.h"

#include "fail.h"
#include "stats.h"

#include <stdio.h>
#include <string.h>

const struct option_choice program_grid_choices[] = {{"smoke", NULL}, {"nightly", NULL}, {"full", NULL}, {NULL, NULL}};
const struct option_choice program_method_choices[] = {
    {"campaign", "repetitions until the intervals are narrow"}, {"paper", "as the paper did"}, {NULL, NULL}};
const struct option_choice program_cache_choices[] = {
    {"warm", "every repetition uses the same buffers"},
    {"cold", "buffers in turn, so many that none is found in a cache"},
    {NULL, NULL}};

void program_add_options(struct option_entry *entries, const struct option_entry *table, size_t size) {
    size_t own = 0;
    while (own < PROGRAM_MOST_OPTIONS && entries[own].name != NULL) {
        own++;
    }
    if (own + size / sizeof *table >= PROGRAM_MOST_OPTIONS) {
        fail_die("more options than PROGRAM_MOST_OPTIONS");
    }
    memcpy(entries + own, table, size);
}

struct option_entry program_virtual_node_ranks(int64_t *ranks) {
    enum { MOST_RANKS = 65536 };
    return (struct option_entry){.name = "virtual-node-ranks",
                                 .kind = OPTION_INTEGER,
                                 .target = ranks,
                                 .maximum = MOST_RANKS,
                                 .parameter = "virtual_node_ranks",
                                 .of_plan = true,
                                 .help = "virtual nodes of at most so many ranks, fewer than there are, of which the "
                                         "MPI library does not know; default: 0, the nodes there are"};
}

/* Appends the options of programs with configurations. */
static void describe_configuration(struct program *program, struct option_entry entries[PROGRAM_MOST_OPTIONS]) {
    struct program_settings *s = &program->settings;
    const struct option_entry table[] = {
        option_one_of(
            "configuration", &s->configuration, configuration_choices(),
            "which thread makes communication progress; default: basic. The launch must ask the MPI library for "
            "its thread; this program verifies that it is there"),
        option_integers("dedicated-cpus", &s->dedicated_cpus, 0, TOPOLOGY_MOST_CPUS - 1,
                        "the CPU whose core does not compute, for each rank of a node in the order of ranks; default: "
                        "the last core of each rank's share"),
        option_flag("move-progress-threads", &s->move_progress_threads,
                    "after MPI_Init this program moves the threads that MPI started: with dedicated to the dedicated "
                    "core, for libraries that cannot bind them; with dedicated_unbound to all CPUs of the rank, for "
                    "libraries that always bind them"),
        option_flag("oversubscribed", &s->oversubscribed,
                    "the record says oversubscribed although each node has cores enough: nodes share their cores"),
        option_text("record-controls", &s->record_controls, "LIST",
                    "control variables of MPI_T whose values the record keeps: names, comma-separated, '*' for any "
                    "letters; default: none"),
        option_real("limit-seconds", &s->limit_seconds, 0, 1e7, "S",
                    "a run that is not over after so many seconds hangs: each rank says on standard error where it is, "
                    "the record is closed, and the run ends with exit code 1. 0: no limit (default)"),
    };
    program_add_options(entries, table, sizeof table);
}

/* Appends the options of programs that repeat points. */
static void describe_repetitions(struct program *program, struct option_entry entries[PROGRAM_MOST_OPTIONS]) {
    static const struct option_choice start_choices[] = {
        {"deadline", "on a synchronised clock"}, {"barrier", "for comparison"}, {NULL, NULL}}; /* enum start_method */
    struct program_settings *s = &program->settings;
    const struct option_entry table[] = {
        option_real(
            "budget-seconds", &s->budget_seconds, 0, 1e7, "S",
            "time for the whole run, MPI_Init included: up to 30 % of it for calibration, the rest is divided over the "
            "remaining points as the run goes. --min-repetitions takes precedence, but after 3 times the budget "
            "nothing more is measured: the current point ends with the repetitions it has, and the remaining points "
            "are written as not_measured. 0: no budget, the default where nothing else is said above"),
        option_real("interval", &s->interval, 1e-4, 10, "W",
                    "a point is done when the 95 % intervals of the medians of its times are at most this wide, "
                    "relative to the median; default: 0.02"),
        option_integer("min-repetitions", &s->min_repetitions, 1, 100000, "N",
                       "at least this many valid repetitions per point; default: 9, the fewest whose 95 % interval of "
                       "the median leaves out the smallest and the largest, or --max-repetitions where that is less"),
        option_integer("max-repetitions", &s->max_repetitions, 1, 100000, "N",
                       "at most this many valid repetitions per point; default: 100, where nothing else is said above"),
        option_one_of(
            "start", &s->start, start_choices,
            "how ranks begin together; default: deadline. Where a clock is refused ranks start from a barrier in any "
            "case, and the record says so"),
        option_time("settle", &s->settle_ns, "T",
                    "nothing is sent for this long before every start, such as 300us: a network that is faster after a "
                    "pause then serves all timed parts alike; ignored where ranks start from a barrier; default: 0"),
        option_flag("rank-samples", &s->rank_samples, "record every rank's samples above 64 ranks as well"),
    };
    program_add_options(entries, table, sizeof table);
}

/* The options of all programs are appended to the benchmark's own. */
void program_describe_options(struct program *program, struct option_entry entries[PROGRAM_MOST_OPTIONS]) {
    static const struct option_choice describe_choices[] = {
        [DESCRIBE_NOTHING] = {"nothing", "the default"},
        [DESCRIBE_PROGRAM] = {"program", "what this program has of its own"},
        [DESCRIBE_RECORD] = {"record", "what all records and all programs have"},
        {NULL, NULL}};
    struct program_settings *s = &program->settings;
    const struct option_entry table[] = {
        option_integer(
            "threads", &s->threads, 1, 4096, "N",
            "computing threads of each rank; default: OMP_NUM_THREADS, else the physical cores of the rank's share of "
            "its node; one core fewer where the configuration gives one up and the rank has two"),
        option_text("record", &s->record, "FILE", "write the record to this file (JSON Lines), which must not exist"),
        option_text("metadata", &s->metadata, "FILE",
                    "a file with a JSON object, which is copied into the record's header"),
        option_text("record-environment", &s->record_environment, "LIST",
                    "environment variables that the record keeps beside those of OpenMP and BLAS: names, "
                    "comma-separated, '*' for any letters; '^' before a name leaves out what an earlier one let in. A "
                    "variable whose name looks like that of a secret is never kept"),
        option_text("toolchain", &s->toolchain, "NAME", "label in the record's header"),
        option_text("provider", &s->provider, "NAME", "label in the record's header"),
        option_text("network", &s->network, "NAME", "label in the record's header; default: native"),
        option_flag("quiet", &s->quiet, "no table, no progress"),
        option_flag("version", &s->version, "print the version and end"),
        option_one_of("describe", &s->describe, describe_choices,
                      "print, as JSON, the tables from which options are read and records are written, and end"),
        option_flag("help", &s->help, "print this and end"),
    };
    if (program->kind->describe != NULL) {
        program->kind->describe(entries);
    }
    if (program->kind->list != NULL) {
        const struct option_entry list[] = {
            option_flag("list", &s->list, "print what can be measured, and end"),
        };
        program_add_options(entries, list, sizeof list);
    }
    if (program->kind->repeats) {
        describe_repetitions(program, entries);
    }
    if (program->kind->configurations) {
        describe_configuration(program, entries);
    }
    program_add_options(entries, table, sizeof table);
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
    if (program->kind->check_options != NULL && error[0] == '\0') {
        program->kind->check_options(program, error, error_size);
    }
}
