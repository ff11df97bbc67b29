/*
 * program - the main function of every benchmark: starts MPI, reads the command line, finds out where the ranks run,
 * writes the record, and ends in order with the right exit code.
 *
 * A benchmark hands over a struct program_kind. Its `run` is called on all ranks when the options are valid. Most
 * benchmarks then call program_measure, which does everything from threads, clock and header over the points
 * (sampler.h) to the footer; the others call the functions of the section on single steps. program_main frees what
 * these make.
 */
#pragma once

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

/* The options that all programs have, then those of some programs. */
struct program_settings {
    bool help;
    bool version;
    bool list;
    bool quiet;
    int describe;    /* enum program_description */
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
    bool oversubscribed;         /* whatever the nodes themselves see */
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

/* Bytes of the hash of a description, as text. */
enum { PROGRAM_HASH = 17 };

struct program {
    const struct program_kind *kind;
    const struct option_entry *options; /* the table of all options */
    char description[PROGRAM_HASH];
    struct program_settings settings;
    int argc;
    char **argv;
    int rank;
    int ranks;
    const struct configuration *configuration;
    int thread_level; /* the thread level that MPI provides */
    char started_utc[32];
    int64_t began; /* local time of the start of the process */
    placement *place;
    uint64_t memory_bytes;         /* memory that this rank may take, the same on all ranks; 0: not known */
    int threads;                   /* computing threads of each rank */
    enum compute_kind computation; /* the kernel that they compute */
    char *metadata;                /* rank 0; NULL: none */
    compute_team *team;            /* made by program_prepare */
    helper *helper;                /* made by program_prepare, where the configuration has a helper */
    record_file *record;           /* made by program_prepare or program_open_record, on rank 0 */
    clock_model *clock;            /* made by program_synchronise */
    bool wrong_use;                /* set by a `begin` that fails because of what was asked for */
    watchdog *watchdog;            /* with --limit-seconds */
    /* Read by the watchdog's thread: */
    atomic_int known_rank;             /* -1: MPI_Init has not returned yet */
    _Atomic(record_file *) unfinished; /* rank 0: the record, once it has a header */
};

enum { PROGRAM_MOST_OPTIONS = 44 };

/* Appends a benchmark's own options. size: bytes of the table. */
void program_add_options(struct option_entry *entries, const struct option_entry *table, size_t size);

/* What several benchmarks can be asked for, by option_one_of. */
enum { GRID_SMOKE, GRID_NIGHTLY, GRID_FULL };
enum { METHOD_CAMPAIGN, METHOD_PAPER };
enum { CACHE_WARM, CACHE_COLD };
extern const struct option_choice program_grid_choices[];
extern const struct option_choice program_method_choices[];
extern const struct option_choice program_cache_choices[];

/* The option --virtual-node-ranks, an axis that only the plan has. */
struct option_entry program_virtual_node_ranks(int64_t *ranks);

/* Bytes of a line about wrong use, which may list all legal values. */
enum { PROGRAM_MOST_ERROR = 1536 };

/* Bytes of a line that says why a run ends. */
enum { PROGRAM_MOST_REASON = 768 };

/* What a benchmark is. A field that does not apply is 0, false or NULL. */
struct program_kind {
    const char *name;   /* name of the program in its messages, and of the benchmark in the record */
    const char *family; /* family of its records, as in the schema's name */
    /* The method of measuring, from 1. Counted up when it changes: results are only compared with those of the same
     * method. */
    int method;
    int thread_level;    /* thread level of MPI that it needs at least; 0: MPI_THREAD_FUNNELED. A configuration may need
                            more */
    bool configurations; /* it has the options about progress threads, and --limit-seconds */
    bool repeats;        /* it has the options about repetitions: --budget-seconds, --interval, ... */
    int64_t max_repetitions;     /* the default of --max-repetitions; 0: 100 */
    double usual_budget_seconds; /* the budget where --budget-seconds is not given; 0: none */
    bool clockless; /* it never compares times of different ranks: they start from a barrier, and the record has no
                       clock */
    const struct field *header; /* the fields of the header's `own`, and of that of its plan. NULL: none */
    const struct field *plan;
    /* The kinds of its points, NULL-terminated, where they are not `points` alone. */
    const struct sampler_kind *const *kinds;
    const char *help;  /* the text of --help above the options: usage and purpose */
    const char *exits; /* its exit codes, in one line; NULL: the usual ones */
    /* Writes its own options with program_add_options. */
    void (*describe)(struct option_entry *entries);
    /* Before MPI_Init: checks what the table of options cannot express. One line in error. NULL: nothing. */
    void (*check_options)(const struct program *program, char *error, size_t error_size);
    void (*list)(void); /* prints on rank 0 what --list shows; NULL: it has no such option */
    /* Collective: the benchmark itself, which frees no list of its options. Returns the exit code. */
    int (*run)(struct program *program);

    /* For program_measure; context is the benchmark's own. */
    const struct sampler_kind *points;
    /* On every rank, before anything is made: checks what else can be wrong. One line in error. */
    void (*check)(struct program *program, void *context, char *error, size_t error_size);
    /* Collective, before the points, such as the calibration. Rank 0's answer decides; false: the run ends here, and
     * reason says why. */
    bool (*begin)(struct program *program, void *context, sampler *s, char *reason, size_t reason_size);
    /* Collective, after the points, or after a begin that failed. Rank 0's answer decides; false: something could not
     * be saved, and reason says what. */
    bool (*end)(struct program *program, void *context, char *reason, size_t reason_size);
};

/* Runs a benchmark. Returns the exit code for main. */
int program_main(const struct program_kind *kind, int argc, char **argv);

/* ---- the usual course ---- */

struct program_measurement {
    void *context;
    struct sampler_plan plan; /* from program_plan or the benchmark's own */
    int64_t seed;             /* of the contents of messages; RECORD_UNKNOWN: there are no messages */
    int sizes_given;          /* 1: sizes came from a file, 0: they did not; RECORD_UNKNOWN: there are no sizes */
    const void *plan_own;     /* the structs of the kind's fields in plan and header; NULL: they have none */
    const void *own;
    const char *impossible; /* why these ranks cannot measure it, the same text on all ranks; printed as one line and
                               written in a record. "": they can measure it */
};

/* Returns the plan that the options ask for: its axes are those of the table of options (sampler_axes), which the
 * caller may change. names: of the axes that the benchmark numbers; NULL: none. axes must outlive the plan. */
struct sampler_plan program_plan(const struct program *program, const char *const *names,
                                 struct sampler_axis axes[SAMPLER_MOST_AXES]);

/* Collective: prepares, writes the header, measures all points of the kind, writes the footer. Returns the exit code.
 */
int program_measure(struct program *program, const struct program_measurement *measurement);

/* ---- its single steps, for a benchmark that takes another course ---- */

/* Collective: returns rank 0's `good` on all ranks. */
bool program_agree(bool good);

/* Collective: returns whether the budget of the run is spent, as rank 0 sees it. */
bool program_is_spent(const struct program *program);

/* Collective: returns true where no rank has an error text; otherwise rank 0 prints the text of the lowest rank that
 * has one, in one line. */
bool program_all_good(const char *error);

/*
 * Collective, when everything else was found valid: makes the threads and binds them, reads the metadata and creates
 * the record. error: what the caller found wrong on any rank; "": nothing. Returns false, after one line on stderr,
 * where there is an error or something cannot be made.
 */
bool program_prepare(struct program *program, const char *error);

/* Collective: reads the metadata and creates the record, and nothing else, for a run that is refused before it begins.
 * Returns false as program_prepare. */
bool program_open_record(struct program *program);

/* Returns the largest work that fits in a quarter of the rank's share of memory. */
uint64_t program_largest_work(const struct program *program);

/* Collective: one line in error, the same on all ranks, where so many ranks share a core that nothing can be timed.
 */
void program_check_crowd(const struct program *program, char *error, size_t error_size);

/* Collective: program_check_crowd, and one line in error where collectives lack ranks: there is one rank, or virtual
 * nodes of so many are no part of all (0: there are none). */
void program_check_nodes(const struct program *program, int64_t virtual_node_ranks, char *error, size_t error_size);

/* Collective, for programs with configurations: sets up the configuration that was asked for. One line in error, the
 * same on all ranks, where this library or these cores do not allow it. */
void program_configure(struct program *program, char *error, size_t error_size);

/* Collective, after the header: placement_verify for the configuration. One line in error, the same on all ranks, where
 * something that it promises is missing. */
void program_verify(const struct program *program, char *error, size_t error_size);

/* Collective: creates the clock. Where it is refused, a line on stderr and the record say why. */
void program_synchronise(struct program *program);

/* What a benchmark adds to the header. */
struct program_header {
    const char *start_method; /* NULL: ranks do not start together */
    int64_t seed;
    struct record_plan plan;
    const void *own; /* the struct of the kind's `header` fields */
};

/* Frees the plan's texts. */
void program_free_header(struct program_header *header);

/* Collective: rank 0 writes the header, and prints the table's first line unless --quiet. Returns false on all ranks
 * where the disk refuses. */
bool program_write_header(struct program *program, const struct program_header *own);

/* CPU times of this rank's threads that do not compute, ns: the threads that MPI started, and the helper. */
struct program_cpu {
    int64_t *mpi; /* [mpi_threads], in the order of the header */
    size_t mpi_threads;
    int64_t helper;
    size_t helpers; /* 1 or 0 */
};

/* Returns the CPU times so far. Free with program_cpu_free. */
struct program_cpu program_cpu_so_far(const struct program *program);
void program_cpu_free(struct program_cpu *cpu);

/* What a benchmark adds to the footer. */
struct program_footer {
    const char *reason;               /* why the record is not complete; "": it is complete */
    double measured_seconds;          /* NAN: not counted */
    const struct record_spent *spent; /* NULL: not counted */
    const struct program_cpu *cpu;    /* NULL: program_cpu_so_far */
};

/* Collective: synchronises the clock once more, and rank 0 writes the footer. Returns false on all ranks where the disk
 * refuses. */
bool program_write_footer(struct program *program, const struct program_footer *own);

/* Collective: refuses a run that cannot be measured: prints the reason in one line, and writes a record that has this
 * header and says so. Returns the exit code. */
int program_refuse(struct program *program, const struct program_header *header, const char *reason);

/* Returns what samplers of this program measure with. */
struct sampler_session program_session(const struct program *program);

/* Returns whether this rank prints the table: rank 0 without --quiet. */
bool program_prints(const struct program *program);

/* The thread level that MPI is asked for, and the name of a level. */
int program_thread_level(const struct program *program);
const char *program_thread_level_name(int level);
