/*
 * record - the record file: JSON Lines, schema mpi-campaign.record, version 3 (results/schema/record-v3.schema.json); its header and
 * footer also serve records of other schemas.
 *
 * Plain values go in, lines come out; nothing here knows MPI. The file is created anew, never over another, and is on the disk after
 * every line: what a reader finds is what was measured, up to the last complete line. A file without a footer was cut off.
 * Every function that writes returns false when the disk refuses; record_error then says why, in one line.
 */
#ifndef CAMPAIGN_RECORD_H
#define CAMPAIGN_RECORD_H

#include "calibrate.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct record_file record_file;

struct record_thread {
    const char *name;
    const char *cpuset;
};

struct record_placement {
    int rank;
    const char *host;
    int node;
    const char *cpuset;
    size_t physical_cores;
    char *const *compute_cpusets;
    size_t compute_count;
    const struct record_thread *mpi_threads;
    size_t mpi_thread_count;
    const struct record_thread *helper_threads;
    size_t helper_thread_count;
    const char *dedicated_cpuset; /* NULL: left out, and the helper threads with it */
};

/* What a configuration asks for. */
struct record_progress {
    const char *source;    /* "none", "library", "application" */
    const char *pinned_by; /* "none", "library", "program" */
    int64_t given_up_cores;
};

struct record_header {
    const char *schema;
    int schema_version;
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
    const struct record_progress *progress; /* NULL: left out */
    char *const *placements; /* by rank: record_placement_text of each */
    const char *timer_name;
    int64_t timer_resolution_ns;
    double timer_overhead_ns;
    const char *start_method; /* NULL: left out */
    int64_t seed;             /* negative: left out */
    const char *build_compiler;
    const char *build_flags;
    const char *build_commit;
    int build_dirty; /* 0, 1, or -1: not known */
    const char *build_blas;
    char *const *environment; /* NAME=VALUE, NULL-terminated; record_environment_allowed filters it */
    const char *environment_list; /* what that is given beside them; NULL: nothing */
    const char *mpi_variables; /* JSON object: control variables of MPI_T by name; NULL: left out */
    const char *clock;    /* JSON object: record_clock_text; NULL: left out */
    const char *plan;     /* JSON object: what the benchmark was asked for; NULL: left out */
    const char *metadata; /* a JSON object in one line, or NULL */
};

/* Per repetition, over ranks. */
struct record_spread {
    const int64_t *min;
    const int64_t *median;
    const int64_t *max;
    const int64_t *max_rank;
};

struct record_calibration {
    enum calibrate_status status;
    int64_t time_ns;
    double error_relative;
    int64_t measurements;
};

/* Of a header: the clock when it was set up (clock_quality). */
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

/* Of one reference of a point; NAN: not known, written as null. */
struct record_reference {
    double drift_relative; /* from the first to the last repetition */
    double drift_p_value;
    double moved_relative; /* its median against the time that its size was calibrated to, or was given with */
};

/* One rank's own samples of one term, all repetitions: rank_samples[rank * repetitions + repetition]. */
struct record_point {
    int64_t index;
    const char *collective;
    int64_t comm_target_ns;
    int64_t comp_target_ns;
    int64_t message_bytes;
    int64_t work_size;
    struct record_calibration comm;
    struct record_calibration comp;
    size_t repetitions;
    const char *start_method;
    size_t warmup_repetitions;         /* the length of the three arrays of warm-up samples */
    const int64_t *warmup_t_measured_ns;
    const int64_t *warmup_t_comm_ref_ns;
    const int64_t *warmup_t_comp_ref_ns;
    int64_t late_repetitions;
    int64_t discarded_repetitions;
    int64_t recalibrations;
    int64_t buffer_sets;
    struct record_reference comm_reference;
    struct record_reference comp_reference;
    const char *stop_reason;
    double interval_relative_reached; /* negative: none */
    int64_t data_errors;
    int64_t test_calls;
    const char *clock_method;
    double clock_residual_ns; /* NAN: there is no clock */
    int64_t clock_synchronisations;
    double clock_drift_ppm;
    const int64_t *t_measured_ns;
    const int64_t *t_comm_ref_ns;
    const int64_t *t_comp_ref_ns;
    struct record_spread t_call_ns;
    struct record_spread t_comp_ns;
    struct record_spread t_test_ns;
    struct record_spread t_wait_ns;
    const int64_t *start_imbalance_ns; /* NULL: not known, for want of a clock */
    size_t ranks;
    const int64_t *median_t_mpi_ns; /* by rank */
    const int64_t *median_t_comm_ref_ns;
    const int64_t *median_t_comp_ns;
    const int64_t *median_t_comp_ref_ns;
    size_t threads;
    const int64_t *thread_median_t_comp_ns; /* by rank and thread: [rank * threads + thread]; NULL: both left out */
    const int64_t *thread_median_t_comp_ref_ns;
    bool rank_samples;
    const int64_t *rank_t_call_ns;
    const int64_t *rank_t_comp_ns;
    const int64_t *rank_t_test_ns;
    const int64_t *rank_t_wait_ns;
    const int64_t *rank_t_comm_ref_ns;
    const int64_t *rank_t_comp_ref_ns;
};

struct record_footer {
    bool complete;
    const char *reason;
    int64_t points;
    double wall_seconds;
    double measured_seconds;
    double clock_residual_ns; /* NAN: there is no clock */
    int64_t clock_synchronisations;
    double clock_synchronisation_seconds;
    const char *clock_refusal;
    size_t ranks;
    const int64_t *const *mpi_thread_cpu_ns; /* by rank */
    const size_t *mpi_thread_counts;
    const int64_t *const *helper_thread_cpu_ns; /* by rank */
    const size_t *helper_thread_counts;
    const int64_t *tcp_bytes_sent; /* by rank; negative: not known */
};

/* Creates the file; NULL where it exists or cannot be made, with one line in error. path NULL: a record that goes nowhere. */
record_file *record_create(const char *path, char *error, size_t error_size);

bool record_write_header(record_file *record, const struct record_header *header);
bool record_write_point(record_file *record, const struct record_point *point);

/* A line of another schema: the text of one JSON object. RECORD_POINT: any line between header and footer. */
enum record_kind { RECORD_HEADER, RECORD_POINT, RECORD_FOOTER };
bool record_write_text(record_file *record, enum record_kind kind, const char *object);

bool record_write_footer(record_file *record, const struct record_footer *footer);
const char *record_error(const record_file *record);

/*
 * For a thread that closes the record of a run whose main thread hangs: waits so long for the line that is being written. true: from now on
 * only the calling thread can write, a footer is missing, and record_points tells how many points there are; others that write wait for ever.
 */
bool record_seize(record_file *record, double seconds);
int64_t record_points(const record_file *record);
void record_close(record_file *record);

/* The header's clock as a JSON object. Free with free(). */
char *record_clock_text(const struct record_clock *clock);

/* One rank's placement as a JSON object. Free with free(). */
char *record_placement_text(const struct record_placement *placement);

/* Whether a variable (NAME=VALUE) is recorded: one that steers OpenMP or BLAS, or that a list of names lets in (names_let_in; NULL: none).
 * One whose name looks like that of a secret never is. */
bool record_environment_allowed(const char *variable, const char *list);

#endif
