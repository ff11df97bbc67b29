/*
 * record - writes the record file: JSON Lines of schema mpi-campaign.record, version 4. No MPI.
 *
 * The lines are the same for every family of benchmarks, and record.c has the tables of their fields. What only a
 * family knows goes into `own`, a JSON object that the family hands over. The file is created anew, never over an
 * existing one, and is flushed to the disk after every line: a reader finds what was measured up to the last complete
 * line. A file without a footer was cut off. Every function that writes returns false when the disk refuses;
 * record_error then says why, in one line.
 *
 * A value that is not known is NAN where it is real, RECORD_UNKNOWN where it is an integer, NULL where it is a text or
 * a struct. It is written as null, or as an empty object where the field says so.
 */
#pragma once

#include "fields.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RECORD_UNKNOWN = -1 };

typedef struct record_file record_file;

/* ---- the header ---- */

/* The progress thread that the configuration asks for. */
struct record_progress {
    const char *source;    /* "none", "library", "application" */
    const char *pinned_by; /* "none", "library", "program" */
    int64_t given_up_cores;
};

struct record_timer {
    const char *name;
    int64_t resolution_ns;
    double overhead_ns;
};

struct record_build {
    const char *compiler;
    const char *flags;
    const char *commit;
    int dirty; /* 0, 1 */
    const char *blas;
};

/* The clock after its first synchronisation (struct clock_quality). */
struct record_clock {
    const char *method;
    const char *refusal;
    int clocks;
    int rounds;
    double residual_ns;
    double shortest_trip_ns;
    double drift_ppm;
    double synchronisation_seconds;
};

/* What the command line asked for. */
struct record_plan {
    const char *parameters; /* JSON object: for each parameter the array of its values */
    int64_t points;         /* RECORD_UNKNOWN: points are found while the run goes on */
    double budget_seconds;
    double interval_relative;
    int64_t min_repetitions;
    int64_t max_repetitions;
    int sizes_given; /* 0, 1; RECORD_UNKNOWN: this benchmark has no sizes */
    const char *own; /* JSON object; NULL: an empty one */
};

struct record_header {
    const char *family;
    int method;
    const char *description;
    const char *benchmark;
    const char *toolchain;
    const char *provider;
    const char *configuration;
    const char *network;
    char *const *command_line;
    size_t command_line_count;
    const char *started_utc;
    const char *mpi_library_version;
    const char *mpi_standard;
    const char *thread_level_required;
    const char *thread_level_provided;
    int ranks;
    int nodes;
    int64_t threads_per_rank;
    int64_t physical_cores;
    bool oversubscribed;
    bool shared_core;
    struct record_progress progress;
    char *const *placements; /* [ranks]: a JSON object for each rank */
    struct record_timer timer;
    const char *start_method;
    int64_t seed;
    struct record_build build;
    char *const *environment;         /* NAME=VALUE, NULL-terminated; record_environment_allowed filters it */
    const char *environment_list;     /* the second argument of record_environment_allowed; NULL: none */
    const char *mpi_variables;        /* JSON object: control variables of MPI_T by name */
    const struct record_clock *clock; /* NULL: no times of different ranks are compared */
    struct record_plan plan;
    const char *own;      /* JSON object; NULL: an empty one */
    const char *metadata; /* JSON object in one line; NULL: an empty one */
};

/* ---- a point ---- */

/* The clock while the point was measured. */
struct record_point_clock {
    const char *method;
    double residual_ns;
    int64_t synchronisations;
    double drift_ppm;
};

/* An array of values under the name that the record gives it; its length follows from where it is used. */
struct record_values {
    const char *name;
    const int64_t *values;
};

/* Any number of such arrays. */
struct record_list {
    const struct record_values *items;
    size_t count;
};

/* How a term that each rank times spreads over ranks: arrays of one value per repetition. */
struct record_spread {
    const char *name;
    const int64_t *min;
    const int64_t *median;
    const int64_t *max;
    const int64_t *max_rank;
};

struct record_point {
    const char *parameters; /* JSON object: what the point is */
    int64_t index;          /* record_write_point fills it in */
    size_t repetitions;     /* that count */
    size_t warmup_repetitions;
    int64_t late_repetitions;
    int64_t discarded_repetitions;
    const char *stop_reason;
    double interval_relative_reached;
    int64_t data_errors;
    const char *start_method;
    const struct record_point_clock *clock;
    struct record_list series; /* over all ranks: [repetition] */
    struct record_list warmup; /* the same series in the warm-up before: [warm-up repetition] */
    const struct record_spread *spreads;
    size_t spread_count;
    size_t ranks;
    struct record_list rank_medians; /* [rank] */
    size_t threads;
    struct record_list thread_medians; /* [rank * threads + thread]; none: left out */
    struct record_list rank_samples;   /* [rank * repetitions + repetition]; none: left out */
    const char *own;                   /* JSON object; NULL: an empty one */
};

/* ---- the footer ---- */

/* Where the wall time of a run went apart from the repetitions that count, in seconds. The rest of the wall time is the
 * end of the run. */
struct record_spent {
    double start_up;    /* until the header was written */
    double calibration; /* from the header to the first point */
    double warm_up;
    double thrown_away;
    double clock;   /* synchronising the clock, from the first point on */
    double between; /* between repetitions: buffers are filled and checked, and ranks agree on starts */
};

struct record_footer {
    bool complete;
    const char *reason;
    int64_t points;
    double wall_seconds;
    double measured_seconds;
    const struct record_spent *spent_seconds; /* NULL: not counted */
    double clock_residual_ns;
    int64_t clock_synchronisations;
    double clock_synchronisation_seconds;
    const char *clock_refusal;
    size_t ranks; /* length of the arrays below, which are by rank; 0: there are none */
    const int64_t *const *mpi_thread_cpu_ns;
    const size_t *mpi_thread_counts;
    const int64_t *const *helper_thread_cpu_ns;
    const size_t *helper_thread_counts;
    const int64_t *tcp_bytes_sent;
    const char *own; /* JSON object; NULL: an empty one */
};

/* ---- words ---- */

/* By enum clock_method and enum start_method; NULL-terminated. */
extern const char *const record_clock_methods[];
extern const char *const record_start_methods[];

/* ---- writing ---- */

/* The schema's name and version, for code that writes a line of another kind or reads a record. */
#define RECORD_SCHEMA "mpi-campaign.record"
enum { RECORD_VERSION = 4 };

/* Creates the file. Returns NULL and one line in error where it exists or cannot be created. path NULL: a record whose
 * lines are dropped. */
record_file *record_create(const char *path, char *error, size_t error_size);

bool record_write_header(record_file *record, const struct record_header *header);

/* The fields of the three lines, but for `type` and, in a header, schema and version. */
extern const struct field record_header_fields[];
extern const struct field record_point_fields[];
extern const struct field record_footer_fields[];
/* Those of `build`, for a line of another kind. */
extern const struct field record_build_fields[];

/* Writes a point. Its index is the number of points written before. */
bool record_write_point(record_file *record, const struct record_point *point);
bool record_write_footer(record_file *record, const struct record_footer *footer);

/* Writes a first line of another kind than the header: the text of one JSON object. */
bool record_write_first(record_file *record, const char *object);

const char *record_error(const record_file *record);

/*
 * For a thread that closes the record of a run whose main thread hangs. Waits at most so many seconds for the line that
 * is being written. Returns true where a footer is missing: from now on only the calling thread can write,
 * record_points tells how many points there are, and every other thread that writes waits for ever.
 */
bool record_seize(record_file *record, double seconds);
int64_t record_points(const record_file *record);
void record_close(record_file *record);

/* Returns whether an environment variable (NAME=VALUE) is recorded: one that steers OpenMP or BLAS, or whose name the
 * list lets in (names_let_in; NULL: none). A variable whose name looks like that of a secret never is. */
bool record_environment_allowed(const char *variable, const char *list);
