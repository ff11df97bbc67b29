/*
 * record - the record file: JSON Lines, schema mpi-campaign.record, version 4 (results/schema/header-v4, point-v4 and
 * footer-v4).
 *
 * The lines are the same for every family of benchmarks: what only a family knows stands in `own`, a JSON object that
 * it hands over. Plain values go in, lines come out; nothing here knows MPI. The file is created anew, never over
 * another, and is on the disk after every line: what a reader finds is what was measured, up to the last complete line.
 * A file without a footer was cut off. Every function that writes returns false when the disk refuses; record_error
 * then says why, in one line.
 *
 * What is not known is NAN among real numbers, RECORD_UNKNOWN among integers, NULL among texts and structs; it becomes
 * null, or an empty object where that is said.
 */
#ifndef CAMPAIGN_RECORD_H
#define CAMPAIGN_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RECORD_UNKNOWN = -1 };

typedef struct record_file record_file;

/* ---- the header ---- */

/* What a configuration asks for. */
struct record_progress {
    const char *source;    /* "none", "library", "application" */
    const char *pinned_by; /* "none", "library", "program" */
    int64_t given_up_cores;
};

/* The clock when it was set up (clock_quality). */
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

/* What was asked for. */
struct record_plan {
    const char *parameters; /* JSON object: of each parameter the values, an array */
    int64_t points;         /* not known: they are found on the way */
    double budget_seconds;
    double interval_relative;
    int64_t min_repetitions;
    int64_t max_repetitions;
    int sizes_given; /* 0, 1; not known: there are no sizes */
    const char *own; /* JSON object; NULL: an empty one */
};

struct record_header {
    const char *family;
    int method;
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
    char *const *placements; /* by rank: the JSON object of each */
    const char *timer_name;
    int64_t timer_resolution_ns;
    double timer_overhead_ns;
    const char *start_method;
    int64_t seed;
    const char *build_compiler;
    const char *build_flags;
    const char *build_commit;
    int build_dirty; /* 0, 1 */
    const char *build_blas;
    char *const *environment;         /* NAME=VALUE, NULL-terminated; record_environment_allowed filters it */
    const char *environment_list;     /* what that is given beside them; NULL: nothing */
    const char *mpi_variables;        /* JSON object: control variables of MPI_T by name */
    const struct record_clock *clock; /* NULL: no times of different ranks are compared */
    struct record_plan plan;
    const char *own;      /* JSON object; NULL: an empty one */
    const char *metadata; /* likewise, in one line */
};

/* ---- a point ---- */

/* The clock that its times were taken on. */
struct record_point_clock {
    const char *method;
    double residual_ns;
    int64_t synchronisations;
    double drift_ppm;
};

/* Values by the name of what they are. */
struct record_values {
    const char *name;
    const int64_t *values;
};

/* Any number of them. */
struct record_list {
    const struct record_values *items;
    size_t count;
};

/* Of a term that each rank times: over ranks, per repetition. */
struct record_spread {
    const char *name;
    const int64_t *min;
    const int64_t *median;
    const int64_t *max;
    const int64_t *max_rank;
};

struct record_point {
    const char *parameters; /* JSON object: what the point is */
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
    struct record_list warmup; /* the same of the repetitions before: [warm-up repetition] */
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

/* Where the wall time of a run went beside the repetitions that count, seconds; what is left is the end of the run. */
struct record_spent {
    double start_up;    /* until the header was written */
    double calibration; /* whatever precedes the first point */
    double warm_up;
    double thrown_away;
    double clock; /* synchronising it, from the first point on */
    double
        between; /* between repetitions: what is to be sent is filled in, what came is checked, a start is agreed on */
};

struct record_footer {
    bool complete;
    const char *reason;
    int64_t points;
    double wall_seconds;
    double measured_seconds;
    const struct record_spent *spent; /* NULL: nobody counted */
    double clock_residual_ns;
    int64_t clock_synchronisations;
    double clock_synchronisation_seconds;
    const char *clock_refusal;
    size_t ranks; /* of the arrays below, which are by rank; 0: nobody asked */
    const int64_t *const *mpi_thread_cpu_ns;
    const size_t *mpi_thread_counts;
    const int64_t *const *helper_thread_cpu_ns;
    const size_t *helper_thread_counts;
    const int64_t *tcp_bytes_sent;
    const char *own; /* JSON object; NULL: an empty one */
};

/* ---- writing ---- */

/* The schema's name and version: for whoever writes a line of another kind, or reads one. */
#define RECORD_SCHEMA "mpi-campaign.record"
enum { RECORD_VERSION = 4 };

/* Creates the file; NULL where it exists or cannot be made, with one line in error. path NULL: a record that goes
 * nowhere. */
record_file *record_create(const char *path, char *error, size_t error_size);

bool record_write_header(record_file *record, const struct record_header *header);

/* Its index is the number of points before it. */
bool record_write_point(record_file *record, const struct record_point *point);
bool record_write_footer(record_file *record, const struct record_footer *footer);

/* A first line of another kind: the text of one JSON object. */
bool record_write_first(record_file *record, const char *object);

const char *record_error(const record_file *record);

/*
 * For a thread that closes the record of a run whose main thread hangs: waits so long for the line that is being
 * written. true: from now on only the calling thread can write, a footer is missing, and record_points tells how many
 * points there are; others that write wait for ever.
 */
bool record_seize(record_file *record, double seconds);
int64_t record_points(const record_file *record);
void record_close(record_file *record);

/* Whether a variable (NAME=VALUE) is recorded: one that steers OpenMP or BLAS, or that a list of names lets in
 * (names_let_in; NULL: none). One whose name looks like that of a secret never is. */
bool record_environment_allowed(const char *variable, const char *list);

#endif
