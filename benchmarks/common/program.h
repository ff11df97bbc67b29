/*
 * program - what every benchmark's main does: start MPI, read the command line, find out where the ranks are, write the record's header,
 * and end in order with the right exit code.
 *
 * A benchmark hands over a struct program_kind. Its run is called on all ranks with good options; what it needs of teams, clocks and
 * records it makes with the functions here, and program_main gives it all back.
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
#include "watch.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum program_exit { PROGRAM_GOOD = 0, PROGRAM_FAILED = 1, PROGRAM_WRONG_USE = 2 };

/* The options that all programs have. */
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
    double limit_seconds; /* 0: none */
};

struct program {
    const struct program_kind *kind;
    struct program_settings settings;
    int argc;
    char **argv;
    int rank;
    int ranks;
    const struct configuration *configuration;
    int thread_level;      /* that MPI provides */
    char started_utc[32];
    int64_t began;         /* local: when the process started */
    placement *place;
    uint64_t memory_bytes; /* that this rank may take, the same on all; 0: not known */
    int threads;           /* computing threads of each rank */
    enum compute_kind computation; /* what they compute */
    char *metadata;        /* rank 0; NULL: none */
    compute_team *team;    /* program_prepare makes this */
    helper *helper;        /* program_prepare, in a configuration with one */
    record_file *record;   /* program_prepare, on rank 0 */
    clock_model *clock;    /* program_synchronise */
    watch *watch;          /* with --limit-seconds */
    /* What the watch may know: */
    atomic_int known_rank;                 /* -1: MPI_Init has not said */
    _Atomic(record_file *) unfinished;     /* rank 0's, from its header on */
};

struct program_kind {
    const char *name;
    const char *schema; /* of its record */
    int schema_version;
    bool clockless;     /* times of different ranks are never compared: its record has no clock */
    const char *help;   /* what stands above the options: usage, and what it is about */
    const char *exits;  /* its exit codes, in one line */
    void (*describe)(struct option_entry *entries); /* its own options, without an end; at most PROGRAM_MOST_OPTIONS */
    int (*run)(struct program *program);            /* collective. Returns the exit code */
    /* Programs with configurations have the options about them, and this: rank 0 writes the footer of a run whose main thread hangs. It is called
     * by another thread, which has seized the record; what the main thread may change meanwhile it must not read. */
    void (*close_hung)(struct program *program, record_file *record, const char *reason);
};

enum { PROGRAM_MOST_OPTIONS = 40 };

/* Bytes of the longest line about wrong use: one that lists the legal values. */
enum { PROGRAM_MOST_ERROR = 1536 };

/* The whole of main. */
int program_main(const struct program_kind *kind, int argc, char **argv);

/* Collective: rank 0's verdict for all. */
bool program_agree(bool good);

/* Collective: true where no rank has an error text; otherwise rank 0 prints that of the lowest rank that has one, in one line. */
bool program_all_good(const char *error);

/*
 * Collective, once everything else is known to be good: threads, their binding, the metadata and the record. false: it cannot be, and was
 * said. error: what the caller found wrong, on any rank; "" for nothing.
 */
bool program_prepare(struct program *program, const char *error);

/* Collective: the record and its metadata alone, for a run that is refused before it began. */
bool program_open_record(struct program *program);

/* Collective: one line in error, the same on all ranks, where so many of them share a core that nothing can be timed. */
void program_check_crowd(const struct program *program, char *error, size_t error_size);

/* Collective, for programs with configurations: takes the asked one up. One line in error, the same on all ranks, where this library or these
 * cores cannot give it. */
void program_configure(struct program *program, char *error, size_t error_size);

/* Collective, after the header: one line in error, the same on all ranks, where what the configuration promised is not there. */
void program_verify(const struct program *program, char *error, size_t error_size);

/* Collective: the clock. One that cannot be had is said on stderr; the record says it too. */
void program_synchronise(struct program *program);

/* What is the benchmark's own in a header. */
struct program_header {
    const char *start_method;
    int64_t seed;
    const char *plan;
};

/* Collective: rank 0 writes the header, and prints the table's first line unless --quiet. false on all ranks: the disk refused. */
bool program_write_header(struct program *program, const struct program_header *own);

/* Rank 0, and not --quiet. */
bool program_prints(const struct program *program);

#endif
