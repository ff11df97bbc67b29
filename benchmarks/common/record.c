#include "record.h"

#include "fail.h"
#include "json.h"
#include "names.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct record_file {
    FILE *file; /* NULL: goes nowhere */
    pthread_mutex_t writing; /* held from the beginning of a line until it is on the disk; recursive, for record_seize */
    int64_t points;          /* lines between header and footer */
    bool closed;             /* the footer is written */
    char *path;
    json_line *line;
    char error[512];
};

record_file *record_create(const char *path, char *error, size_t error_size) {
    FILE *file = NULL;
    if (path != NULL) {
        int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor < 0) {
            if (errno == EEXIST) {
                snprintf(error, error_size, "record file '%s' exists; records are never overwritten, name another", path);
            } else {
                snprintf(error, error_size, "cannot create the record file '%s': %s", path, strerror(errno));
            }
            return NULL;
        }
        file = fdopen(descriptor, "wb");
        if (file == NULL) {
            fail_die("fdopen of '%s' failed: %s", path, strerror(errno));
        }
    }
    record_file *record = fail_alloc(1, sizeof *record);
    pthread_mutexattr_t attributes;
    if (pthread_mutexattr_init(&attributes) != 0 || pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE) != 0 ||
        pthread_mutex_init(&record->writing, &attributes) != 0 || pthread_mutexattr_destroy(&attributes) != 0) {
        fail_die("pthread_mutex_init failed");
    }
    record->file = file;
    record->path = path != NULL ? fail_strdup(path) : NULL;
    record->line = json_line_create();
    return record;
}

const char *record_error(const record_file *record) {
    return record->error;
}

void record_close(record_file *record) {
    if (record != NULL) {
        if (record->file != NULL) {
            fclose(record->file); /* every line was flushed to the disk already, and checked */
        }
        pthread_mutex_destroy(&record->writing);
        json_line_destroy(record->line);
        free(record->path);
        free(record);
    }
}

bool record_seize(record_file *record, double seconds) {
    struct timespec until;
    if (clock_gettime(CLOCK_REALTIME, &until) != 0) {
        return false;
    }
    until.tv_sec += (time_t)seconds + 1;
    if (pthread_mutex_timedlock(&record->writing, &until) != 0) {
        return false;
    }
    const bool closed = record->closed;
    if (closed && pthread_mutex_unlock(&record->writing) != 0) {
        fail_die("pthread_mutex_unlock failed");
    }
    return !closed;
}

int64_t record_points(const record_file *record) {
    return record->points;
}

/* An empty line, and no other thread's until write_line. */
static json_line *begin_line(record_file *record) {
    if (pthread_mutex_lock(&record->writing) != 0) {
        fail_die("pthread_mutex_lock failed");
    }
    json_line_clear(record->line);
    return record->line;
}

static bool put_line(record_file *record) {
    if (record->file == NULL) {
        return true;
    }
    size_t length = json_line_length(record->line);
    bool good = fwrite(json_line_text(record->line), 1, length, record->file) == length && fputc('\n', record->file) != EOF &&
                fflush(record->file) == 0;
    /* EINVAL: a pipe or a device, which has no disk behind it */
    if (good && fdatasync(fileno(record->file)) != 0 && errno != EINVAL && errno != EROFS) {
        good = false;
    }
    if (!good) {
        snprintf(record->error, sizeof record->error, "cannot write the record file '%s': %s", record->path, strerror(errno));
    }
    return good;
}

static bool write_line(record_file *record, enum record_kind kind) {
    const bool good = put_line(record);
    record->points += good && kind == RECORD_POINT;
    record->closed = record->closed || kind == RECORD_FOOTER;
    if (pthread_mutex_unlock(&record->writing) != 0) {
        fail_die("pthread_mutex_unlock failed");
    }
    return good;
}

bool record_environment_allowed(const char *variable, const char *list) {
    static const char general[] = "OMP_*,GOMP_*,KMP_*,OPENBLAS_*,BLIS_*,MKL_*,VECLIB_*,GOTO_*";
    static const char *const secret[] = {"KEY", "TOKEN", "SECRET", "PASSW", "CREDENTIAL", "UUID", "HOSTNAME"};
    const size_t name_length = strcspn(variable, "=");
    if (variable[name_length] != '=') {
        return false;
    }
    char *name = fail_strdup(variable);
    name[name_length] = '\0';
    bool good = names_let_in(list, name, names_let_in(general, name, false));
    for (size_t i = 0; i < sizeof secret / sizeof *secret; i++) {
        good = good && strstr(name, secret[i]) == NULL;
    }
    free(name);
    return good;
}

static void put_threads(json_line *line, const char *name, const struct record_thread *threads, size_t count) {
    json_open_array(line, name);
    for (size_t i = 0; i < count; i++) {
        json_open_object(line, NULL);
        json_put_string(line, "name", threads[i].name);
        json_put_string(line, "cpuset", threads[i].cpuset);
        json_close_object(line);
    }
    json_close_array(line);
}

char *record_placement_text(const struct record_placement *placement) {
    json_line *line = json_line_create();
    json_open_object(line, NULL);
    json_put_integer(line, "rank", placement->rank);
    json_put_string(line, "host", placement->host);
    json_put_integer(line, "node", placement->node);
    json_put_string(line, "cpuset", placement->cpuset);
    json_put_integer(line, "physical_cores", (int64_t)placement->physical_cores);
    json_open_array(line, "compute_cpusets");
    for (size_t i = 0; i < placement->compute_count; i++) {
        json_put_string(line, NULL, placement->compute_cpusets[i]);
    }
    json_close_array(line);
    put_threads(line, "mpi_threads", placement->mpi_threads, placement->mpi_thread_count);
    if (placement->dedicated_cpuset != NULL) {
        put_threads(line, "helper_threads", placement->helper_threads, placement->helper_thread_count);
        json_put_string(line, "dedicated_cpuset", placement->dedicated_cpuset);
    }
    json_close_object(line);
    char *text = fail_strdup(json_line_text(line));
    json_line_destroy(line);
    return text;
}

char *record_clock_text(const struct record_clock *clock) {
    json_line *line = json_line_create();
    json_open_object(line, NULL);
    json_put_string(line, "method", clock->method);
    json_put_string(line, "refusal", clock->refusal);
    json_put_integer(line, "clocks", clock->clocks);
    json_put_integer(line, "rounds", clock->rounds);
    json_put_real(line, "residual_ns", clock->residual_ns);
    json_put_real(line, "shortest_trip_ns", clock->shortest_trip_ns);
    json_put_real(line, "drift_ppm", clock->drift_ppm);
    json_put_real(line, "synchronisation_seconds", clock->synchronisation_seconds);
    json_close_object(line);
    char *text = fail_strdup(json_line_text(line));
    json_line_destroy(line);
    return text;
}

static void put_environment(json_line *line, char *const *environment, const char *list) {
    json_open_object(line, "environment");
    for (; *environment != NULL; environment++) {
        if (record_environment_allowed(*environment, list)) {
            const char *equals = strchr(*environment, '=');
            char *name = fail_strdup(*environment);
            name[equals - *environment] = '\0';
            json_put_string(line, name, equals + 1);
            free(name);
        }
    }
    json_close_object(line);
}

bool record_write_header(record_file *record, const struct record_header *header) {
    json_line *line = begin_line(record);
    json_open_object(line, NULL);
    json_put_string(line, "type", "header");
    json_put_string(line, "schema", header->schema);
    json_put_integer(line, "schema_version", header->schema_version);
    json_put_string(line, "benchmark", header->benchmark);
    json_put_string(line, "toolchain", header->toolchain);
    json_put_string(line, "provider", header->provider);
    json_put_string(line, "configuration", header->configuration);
    json_put_string(line, "network", header->network);
    json_open_array(line, "command_line");
    for (size_t i = 0; i < header->command_line_count; i++) {
        json_put_string(line, NULL, header->command_line[i]);
    }
    json_close_array(line);
    json_put_string(line, "started_utc", header->started_utc);
    json_put_string(line, "mpi_library_version", header->mpi_library_version);
    json_put_string(line, "mpi_standard", header->mpi_standard);
    json_put_string(line, "thread_level_required", header->thread_level_required);
    json_put_string(line, "thread_level_provided", header->thread_level_provided);
    json_put_integer(line, "ranks", header->ranks);
    json_put_integer(line, "nodes", header->nodes);
    json_put_integer(line, "threads_per_rank", header->threads_per_rank);
    json_put_integer(line, "physical_cores", header->physical_cores);
    json_put_boolean(line, "oversubscribed", header->oversubscribed);
    json_put_boolean(line, "shared_core", header->shared_core);
    if (header->progress != NULL) {
        json_open_object(line, "progress");
        json_put_string(line, "source", header->progress->source);
        json_put_string(line, "pinned_by", header->progress->pinned_by);
        json_put_integer(line, "given_up_cores", header->progress->given_up_cores);
        json_close_object(line);
    }
    json_open_array(line, "placement");
    for (int i = 0; i < header->ranks; i++) {
        json_put_raw(line, NULL, header->placements[i]);
    }
    json_close_array(line);
    json_open_object(line, "timer");
    json_put_string(line, "name", header->timer_name);
    json_put_integer(line, "resolution_ns", header->timer_resolution_ns);
    json_put_real(line, "overhead_ns", header->timer_overhead_ns);
    json_close_object(line);
    if (header->clock != NULL) {
        json_put_raw(line, "clock", header->clock);
    }
    if (header->start_method != NULL) {
        json_put_string(line, "start_method", header->start_method);
    }
    if (header->seed >= 0) {
        json_put_integer(line, "seed", header->seed);
    }
    json_open_object(line, "build");
    json_put_string(line, "compiler", header->build_compiler);
    json_put_string(line, "flags", header->build_flags);
    json_put_string(line, "commit", header->build_commit);
    if (header->build_dirty < 0) {
        json_put_null(line, "dirty");
    } else {
        json_put_boolean(line, "dirty", header->build_dirty != 0);
    }
    json_put_string(line, "blas", header->build_blas);
    json_close_object(line);
    put_environment(line, header->environment, header->environment_list);
    if (header->mpi_variables != NULL) {
        json_put_raw(line, "mpi_variables", header->mpi_variables);
    }
    if (header->plan != NULL) {
        json_put_raw(line, "plan", header->plan);
    }
    if (header->metadata != NULL) {
        json_put_raw(line, "metadata", header->metadata);
    } else {
        json_put_null(line, "metadata");
    }
    json_close_object(line);
    return write_line(record, RECORD_HEADER);
}

static void put_calibration(json_line *line, const char *name, const struct record_calibration *calibration) {
    json_open_object(line, name);
    json_put_string(line, "status", calibrate_status_name(calibration->status));
    json_put_integer(line, "time_ns", calibration->time_ns);
    json_put_real(line, "error_relative", calibration->error_relative);
    json_put_integer(line, "measurements", calibration->measurements);
    json_close_object(line);
}

/* NAN, a value that is not known, becomes null. */
static void put_known(json_line *line, const char *name, double value) {
    if (isnan(value)) {
        json_put_null(line, name);
    } else {
        json_put_real(line, name, value);
    }
}

static void put_drift(json_line *line, const char *name, const struct record_reference *reference) {
    json_open_object(line, name);
    put_known(line, "change_relative", reference->drift_relative);
    put_known(line, "p_value", reference->drift_p_value);
    json_close_object(line);
}

static void put_spread(json_line *line, const char *name, const struct record_spread *spread, size_t count) {
    json_open_object(line, name);
    json_put_integers(line, "min", spread->min, count);
    json_put_integers(line, "median", spread->median, count);
    json_put_integers(line, "max", spread->max, count);
    json_put_integers(line, "max_rank", spread->max_rank, count);
    json_close_object(line);
}

/* values[rank * count + item]. */
static void put_by_rank(json_line *line, const char *name, const int64_t *values, size_t ranks, size_t count) {
    json_open_array(line, name);
    for (size_t i = 0; i < ranks; i++) {
        json_put_integers(line, NULL, count > 0 ? values + i * count : NULL, count);
    }
    json_close_array(line);
}

bool record_write_point(record_file *record, const struct record_point *point) {
    json_line *line = begin_line(record);
    size_t count = point->repetitions;
    json_open_object(line, NULL);
    json_put_string(line, "type", "point");
    json_put_integer(line, "index", point->index);
    json_put_string(line, "collective", point->collective);
    json_put_integer(line, "comm_target_ns", point->comm_target_ns);
    json_put_integer(line, "comp_target_ns", point->comp_target_ns);
    json_put_integer(line, "message_bytes", point->message_bytes);
    json_put_integer(line, "work_size", point->work_size);
    put_calibration(line, "comm_calibration", &point->comm);
    put_calibration(line, "comp_calibration", &point->comp);
    json_put_integer(line, "repetitions", (int64_t)count);
    json_put_string(line, "start_method", point->start_method);
    json_put_integer(line, "warmup_repetitions", (int64_t)point->warmup_repetitions);
    json_open_object(line, "warmup_samples");
    json_put_integers(line, "t_measured_ns", point->warmup_t_measured_ns, point->warmup_repetitions);
    json_put_integers(line, "t_comm_ref_ns", point->warmup_t_comm_ref_ns, point->warmup_repetitions);
    json_put_integers(line, "t_comp_ref_ns", point->warmup_t_comp_ref_ns, point->warmup_repetitions);
    json_close_object(line);
    json_put_integer(line, "late_repetitions", point->late_repetitions);
    json_put_integer(line, "discarded_repetitions", point->discarded_repetitions);
    json_put_integer(line, "recalibrations", point->recalibrations);
    json_put_integer(line, "buffer_sets", point->buffer_sets);
    json_open_object(line, "reference_drift");
    put_drift(line, "comm", &point->comm_reference);
    put_drift(line, "comp", &point->comp_reference);
    json_close_object(line);
    json_open_object(line, "reference_moved");
    put_known(line, "comm", point->comm_reference.moved_relative);
    put_known(line, "comp", point->comp_reference.moved_relative);
    json_close_object(line);
    json_put_string(line, "stop_reason", point->stop_reason);
    if (point->interval_relative_reached < 0) {
        json_put_null(line, "interval_relative_reached");
    } else {
        json_put_real(line, "interval_relative_reached", point->interval_relative_reached);
    }
    json_put_integer(line, "data_errors", point->data_errors);
    json_put_integer(line, "test_calls", point->test_calls);
    json_open_object(line, "clock");
    json_put_string(line, "method", point->clock_method);
    put_known(line, "residual_ns", point->clock_residual_ns);
    json_put_integer(line, "synchronisations", point->clock_synchronisations);
    json_put_real(line, "drift_ppm", point->clock_drift_ppm);
    json_close_object(line);
    json_open_object(line, "samples");
    json_put_integers(line, "t_measured_ns", point->t_measured_ns, count);
    json_put_integers(line, "t_comm_ref_ns", point->t_comm_ref_ns, count);
    json_put_integers(line, "t_comp_ref_ns", point->t_comp_ref_ns, count);
    put_spread(line, "t_call_ns", &point->t_call_ns, count);
    put_spread(line, "t_comp_ns", &point->t_comp_ns, count);
    put_spread(line, "t_test_ns", &point->t_test_ns, count);
    put_spread(line, "t_wait_ns", &point->t_wait_ns, count);
    json_put_integers(line, "start_imbalance_ns", point->start_imbalance_ns, point->start_imbalance_ns != NULL ? count : 0);
    json_close_object(line);
    json_open_object(line, "rank_medians");
    json_put_integers(line, "t_mpi_ns", point->median_t_mpi_ns, point->ranks);
    json_put_integers(line, "t_comm_ref_ns", point->median_t_comm_ref_ns, point->ranks);
    json_put_integers(line, "t_comp_ns", point->median_t_comp_ns, point->ranks);
    json_put_integers(line, "t_comp_ref_ns", point->median_t_comp_ref_ns, point->ranks);
    json_close_object(line);
    if (point->thread_median_t_comp_ns != NULL) {
        json_open_object(line, "thread_medians");
        put_by_rank(line, "t_comp_ns", point->thread_median_t_comp_ns, point->ranks, point->threads);
        put_by_rank(line, "t_comp_ref_ns", point->thread_median_t_comp_ref_ns, point->ranks, point->threads);
        json_close_object(line);
    }
    if (point->rank_samples) {
        json_open_object(line, "rank_samples");
        put_by_rank(line, "t_call_ns", point->rank_t_call_ns, point->ranks, count);
        put_by_rank(line, "t_comp_ns", point->rank_t_comp_ns, point->ranks, count);
        put_by_rank(line, "t_test_ns", point->rank_t_test_ns, point->ranks, count);
        put_by_rank(line, "t_wait_ns", point->rank_t_wait_ns, point->ranks, count);
        put_by_rank(line, "t_comm_ref_ns", point->rank_t_comm_ref_ns, point->ranks, count);
        put_by_rank(line, "t_comp_ref_ns", point->rank_t_comp_ref_ns, point->ranks, count);
        json_close_object(line);
    }
    json_close_object(line);
    return write_line(record, RECORD_POINT);
}

bool record_write_text(record_file *record, enum record_kind kind, const char *object) {
    json_put_raw(begin_line(record), NULL, object);
    return write_line(record, kind);
}

/* By rank: times of that rank's threads. */
static void put_cpu_times(json_line *line, const char *name, const int64_t *const *times, const size_t *counts, size_t ranks) {
    json_open_array(line, name);
    for (size_t i = 0; i < ranks; i++) {
        json_put_integers(line, NULL, times[i], counts[i]);
    }
    json_close_array(line);
}

bool record_write_footer(record_file *record, const struct record_footer *footer) {
    json_line *line = begin_line(record);
    json_open_object(line, NULL);
    json_put_string(line, "type", "footer");
    json_put_boolean(line, "complete", footer->complete);
    json_put_string(line, "reason", footer->reason);
    json_put_integer(line, "points", footer->points);
    json_put_real(line, "wall_seconds", footer->wall_seconds);
    json_put_real(line, "measured_seconds", footer->measured_seconds);
    put_known(line, "clock_residual_ns", footer->clock_residual_ns);
    json_put_integer(line, "clock_synchronisations", footer->clock_synchronisations);
    json_put_real(line, "clock_synchronisation_seconds", footer->clock_synchronisation_seconds);
    json_put_string(line, "clock_refusal", footer->clock_refusal);
    put_cpu_times(line, "mpi_thread_cpu_ns", footer->mpi_thread_cpu_ns, footer->mpi_thread_counts, footer->ranks);
    put_cpu_times(line, "helper_thread_cpu_ns", footer->helper_thread_cpu_ns, footer->helper_thread_counts, footer->ranks);
    json_open_array(line, "tcp_bytes_sent");
    for (size_t i = 0; i < footer->ranks; i++) {
        if (footer->tcp_bytes_sent[i] < 0) {
            json_put_null(line, NULL);
        } else {
            json_put_integer(line, NULL, footer->tcp_bytes_sent[i]);
        }
    }
    json_close_array(line);
    json_close_object(line);
    return write_line(record, RECORD_FOOTER);
}
