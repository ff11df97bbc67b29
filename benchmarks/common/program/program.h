/*
 * program - what every benchmark's main does: start MPI, read the command line, find out where the ranks are, write the
 * record, and end in order with the right exit code.
 *
 * A benchmark hands over a struct program_kind. Its run is called on all ranks with good options. Most then call
 * program_measure, which takes the whole course: threads, clock, header, points (sampler.h), footer. Others make what
 * they need with the functions here. program_main gives it all back.
 */
#ifndef CAMPAIGN_PROGRAM_H
#define CAMPAIGN_PROGRAM_H

#include "clock.h"
#include "compute.h"
#include "configuration.h"
#include "helper.h"
#include "options.h"
#include "placement.h"
#include "record.h"
#include "sampler.h"
#include "watchdog.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum program_exit { PROGRAM_GOOD = 0, PROGRAM_FAILED = 1, PROGRAM_WRONG_USE = 2 };

/* The options that all programs have, and those of some. */
struct program_settings {
    bool help;
    bool version;
    bool quiet;
    int64_t threads; /* 0: not given */
    const char *record;
    const char *metadata;
    const char *record_environment; /* NULL: not given */
    const char *toolchain;
    const char *provider;
    const char *network;
    /* of programs that have configurations */
    int configuration;
    struct option_list dedicated_cpus;
    bool move_progress_threads;
    const char *record_controls; /* NULL: not given */
    double limit_seconds;        /* 0: none */
    /* of programs that repeat points */
    double budget_seconds; /* 0: none */
    double interval;
    int64_t min_repetitions;
    int64_t max_repetitions;
    int start; /* enum start_method */
    int64_t settle_ns;
    bool rank_samples;
};

struct program {
    const struct program_kind *kind;
    struct program_settings settings;
    int argc;
    char **argv;
    int rank;
    int ranks;
    const struct configuration *configuration;
    int thread_level; /* that MPI provides */
    char started_utc[32];
    int64_t began; /* local: when the process started */
    placement *place;
    uint64_t memory_bytes;         /* that this rank may take, the same on all; 0: not known */
    int threads;                   /* computing threads of each rank */
    enum compute_kind computation; /* what they compute */
    char *metadata;                /* rank 0; NULL: none */
    compute_team *team;            /* program_prepare makes this */
    helper *helper;                /* program_prepare, in a configuration with one */
    record_file *record;           /* program_prepare, on rank 0 */
    clock_model *clock;            /* program_synchronise */
    watchdog *watchdog;            /* with --limit-seconds */
    /* What the watchdog may know: */
    atomic_int known_rank;             /* -1: MPI_Init has not said */
    _Atomic(record_file *) unfinished; /* rank 0's, from its header on */
};

enum { PROGRAM_MOST_OPTIONS = 40 };

/* Bytes of the longest line about wrong use: one that lists the legal values. */
enum { PROGRAM_MOST_ERROR = 1536 };

/* Bytes of a line that says why a run ends. */
enum { PROGRAM_MOST_REASON = 768 };

/* What a benchmark is. What is left out is 0, false or NULL: it has none. */
struct program_kind {
    const char *name;   /* of the program: in its messages, and the benchmark's in the record */
    const char *family; /* of its records: the schema's name */
    int method; /* from 1. Who measures another way counts up: its numbers are compared with those of no other method */
    int thread_level; /* of MPI, the least that it needs: MPI_THREAD_FUNNELED where 0. A configuration may need more */
    bool configurations; /* it has the options about progress threads, and --limit-seconds */
    bool repeats;        /* it has the options about repetitions: --budget-seconds, --interval, ... */
    bool clockless;    /* times of different ranks are never compared: ranks start from a barrier, and the record has no
                          clock */
    const char *help;  /* what stands above the options: usage, and what it is about */
    const char *exits; /* its exit codes, in one line */
    void (*describe)(
        struct option_entry *entries); /* its own options, ended by one without a name; at most PROGRAM_MOST_OPTIONS */
    int (*run)(struct program *program); /* collective. Returns the exit code */

    /* For program_measure; context is the benchmark's own. */
    const struct sampler_kind *points;
    /* On every rank, before anything is made: what else can be wrong. One line in error. */
    void (*check)(struct program *program, void *context, char *error, size_t error_size);
    /* Collective, before the points: what is calibrated. false, which rank 0 decides: the run ends here, and its reason
     * says why. */
    bool (*begin)(struct program *program, void *context, sampler *s, char *reason, size_t reason_size);
    /* Collective, after the points, or after a begin that failed. false, which rank 0 decides: something could not be
     * saved. */
    bool (*end)(struct program *program, void *context, char *reason, size_t reason_size);
};

/* The whole of main. */
int program_main(const struct program_kind *kind, int argc, char **argv);

/* ---- the usual course ---- */

struct program_measurement {
    void *context;
    struct sampler_plan plan; /* program_plan, or one's own */
    int64_t seed;             /* of the contents of messages; RECORD_UNKNOWN: there are none */
    int sizes_given;          /* whether sizes came from a file; RECORD_UNKNOWN: there are none */
    const char *plan_own;     /* JSON objects for the header; NULL: empty ones */
    const char *own;
    const char *impossible; /* why these ranks cannot measure it, the same on all of them: said in one line, and in a
                               record. "": they can */
};

/* The plan that the options about repetitions ask for. The axes must outlive it. */
struct sampler_plan program_plan(const struct program *program, const struct sampler_axis *axes, size_t axis_count);

/* Collective: prepares, writes the header, measures all points of the kind, writes the footer. Returns the exit code.
 */
int program_measure(struct program *program, const struct program_measurement *measurement);

/* ---- its steps, for who takes another ---- */

/* Collective: rank 0's verdict for all. */
bool program_agree(bool good);

/* Collective: true where no rank has an error text; otherwise rank 0 prints that of the lowest rank that has one, in
 * one line. */
bool program_all_good(const char *error);

/*
 * Collective, once everything else is known to be good: threads, their binding, the metadata and the record. false: it
 * cannot be, and was said. error: what the caller found wrong, on any rank; "" for nothing.
 */
bool program_prepare(struct program *program, const char *error);

/* Collective: the record and its metadata alone, for a run that is refused before it began. */
bool program_open_record(struct program *program);

/* Collective: one line in error, the same on all ranks, where so many of them share a core that nothing can be timed.
 */
void program_check_crowd(const struct program *program, char *error, size_t error_size);

/* Collective, for programs with configurations: takes the asked one up. One line in error, the same on all ranks, where
 * this library or these cores cannot give it. */
void program_configure(struct program *program, char *error, size_t error_size);

/* Collective, after the header: one line in error, the same on all ranks, where what the configuration promised is not
 * there. */
void program_verify(const struct program *program, char *error, size_t error_size);

/* Collective: the clock. One that cannot be had is said on stderr; the record says it too. */
void program_synchronise(struct program *program);

/* What is the benchmark's own in a header. */
struct program_header {
    const char *start_method; /* NULL: ranks do not start together */
    int64_t seed;
    struct record_plan plan;
    const char *own;
};

/* Collective: rank 0 writes the header, and prints the table's first line unless --quiet. false on all ranks: the disk
 * refused. */
bool program_write_header(struct program *program, const struct program_header *own);

/* CPU times of this rank's threads beside the computing ones, ns: of those that MPI started, and of the helper. */
struct program_cpu {
    int64_t *mpi; /* in the order of the header */
    size_t mpi_threads;
    int64_t helper;
    size_t helpers; /* 1 or 0 */
};

/* What they have had so far. Free with program_cpu_free. */
struct program_cpu program_cpu_so_far(const struct program *program);
void program_cpu_free(struct program_cpu *cpu);

/* What is the benchmark's own in a footer. */
struct program_footer {
    const char *reason;               /* why the record is not complete; "": it is */
    double measured_seconds;          /* NAN: nobody counted */
    const struct record_spent *spent; /* NULL: nobody counted */
    const struct program_cpu *cpu;    /* NULL: what there has been so far */
    const char *own;
};

/* Collective: rank 0 writes the footer, after the clock was synchronised once more. false on all ranks: the disk
 * refused. */
bool program_write_footer(struct program *program, const struct program_footer *own);

/* Collective: what cannot be measured, in one line and in a record that says so, with this header. Returns the exit
 * code. */
int program_refuse(struct program *program, const struct program_header *header, const char *reason);

/* What samplers of this program work with. */
struct sampler_session program_session(const struct program *program);

/* Rank 0, and not --quiet. */
bool program_prints(const struct program *program);

/* What MPI is asked for, and its name. */
int program_thread_level(const struct program *program);
const char *program_thread_level_name(int level);

#endif
