#include "record.h"

#include "fail.h"
#include "json.h"
#include "names.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum line_kind { HEADER, POINT, FOOTER };

struct record_file {
    FILE *file; /* NULL: lines are dropped */
    pthread_mutex_t
        writing;    /* held from the beginning of a line until it is on the disk; recursive, for record_seize */
    int64_t points; /* lines between header and footer */
    bool closed;    /* the footer is written */
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
                snprintf(error, error_size, "record file '%s' exists; records are never overwritten, name another",
                         path);
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
    if (pthread_mutexattr_init(&attributes) != 0 ||
        pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE) != 0 ||
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

/* Begins an empty line. No other thread can write until write_line. */
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
    bool good = fwrite(json_line_text(record->line), 1, length, record->file) == length &&
                fputc('\n', record->file) != EOF && fflush(record->file) == 0;
    /* EINVAL: a pipe or a device, which has no disk behind it */
    if (good && fdatasync(fileno(record->file)) != 0 && errno != EINVAL && errno != EROFS) {
        good = false;
    }
    if (!good) {
        snprintf(record->error, sizeof record->error, "cannot write the record file '%s': %s", record->path,
                 strerror(errno));
    }
    return good;
}

static bool write_line(record_file *record, enum line_kind kind) {
    const bool good = put_line(record);
    record->points += good && kind == POINT;
    record->closed = record->closed || kind == FOOTER;
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

/* NULL: an empty object. */
static void put_object(json_line *line, const char *name, const char *object) {
    json_put_raw(line, name, object != NULL ? object : "{}");
}

static void put_truth(json_line *line, const char *name, int truth) {
    if (truth == RECORD_UNKNOWN) {
        json_put_null(line, name);
    } else {
        json_put_boolean(line, name, truth != 0);
    }
}

/* ---- the header ---- */

static void put_texts(json_line *line, const char *name, char *const *texts, size_t count) {
    json_open_array(line, name);
    for (size_t i = 0; i < count; i++) {
        json_put_string(line, NULL, texts[i]);
    }
    json_close_array(line);
}

static void put_progress(json_line *line, const struct record_progress *progress) {
    json_open_object(line, "progress");
    json_put_string(line, "source", progress->source);
    json_put_string(line, "pinned_by", progress->pinned_by);
    json_put_integer(line, "given_up_cores", progress->given_up_cores);
    json_close_object(line);
}

static void put_placements(json_line *line, char *const *placements, int ranks) {
    json_open_array(line, "placement");
    for (int i = 0; i < ranks; i++) {
        json_put_raw(line, NULL, placements[i]);
    }
    json_close_array(line);
}

static void put_timer(json_line *line, const struct record_header *header) {
    json_open_object(line, "timer");
    json_put_string(line, "name", header->timer_name);
    json_put_integer(line, "resolution_ns", header->timer_resolution_ns);
    json_put_real(line, "overhead_ns", header->timer_overhead_ns);
    json_close_object(line);
}

static void put_build(json_line *line, const struct record_header *header) {
    json_open_object(line, "build");
    json_put_string(line, "compiler", header->build_compiler);
    json_put_string(line, "flags", header->build_flags);
    json_put_string(line, "commit", header->build_commit);
    put_truth(line, "dirty", header->build_dirty);
    json_put_string(line, "blas", header->build_blas);
    json_close_object(line);
}

static void put_clock(json_line *line, const struct record_clock *clock) {
    if (clock == NULL) {
        json_put_null(line, "clock");
        return;
    }
    json_open_object(line, "clock");
    json_put_string(line, "method", clock->method);
    json_put_string(line, "refusal", clock->refusal);
    json_put_integer(line, "clocks", clock->clocks);
    json_put_integer(line, "rounds", clock->rounds);
    json_put_real(line, "residual_ns", clock->residual_ns);
    json_put_real(line, "shortest_trip_ns", clock->shortest_trip_ns);
    json_put_real(line, "drift_ppm", clock->drift_ppm);
    json_put_real(line, "synchronisation_seconds", clock->synchronisation_seconds);
    json_close_object(line);
}

static void put_plan(json_line *line, const struct record_plan *plan) {
    json_open_object(line, "plan");
    put_object(line, "parameters", plan->parameters);
    json_put_count(line, "points", plan->points);
    json_put_real(line, "budget_seconds", plan->budget_seconds);
    json_put_real(line, "interval_relative", plan->interval_relative);
    json_put_count(line, "min_repetitions", plan->min_repetitions);
    json_put_count(line, "max_repetitions", plan->max_repetitions);
    put_truth(line, "sizes_given", plan->sizes_given);
    put_object(line, "own", plan->own);
    json_close_object(line);
}

bool record_write_header(record_file *record, const struct record_header *header) {
    json_line *line = begin_line(record);
    json_open_object(line, NULL);
    json_put_string(line, "type", "header");
    json_put_string(line, "schema", RECORD_SCHEMA);
    json_put_integer(line, "schema_version", RECORD_VERSION);
    json_put_string(line, "family", header->family);
    json_put_integer(line, "method", header->method);
    json_put_string(line, "benchmark", header->benchmark);
    json_put_string(line, "toolchain", header->toolchain);
    json_put_string(line, "provider", header->provider);
    json_put_string(line, "configuration", header->configuration);
    json_put_string(line, "network", header->network);
    put_texts(line, "command_line", header->command_line, header->command_line_count);
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
    put_progress(line, &header->progress);
    put_placements(line, header->placements, header->ranks);
    put_timer(line, header);
    json_put_string(line, "start_method", header->start_method);
    json_put_count(line, "seed", header->seed);
    put_build(line, header);
    put_environment(line, header->environment, header->environment_list);
    put_object(line, "mpi_variables", header->mpi_variables);
    put_clock(line, header->clock);
    put_plan(line, &header->plan);
    put_object(line, "own", header->own);
    put_object(line, "metadata", header->metadata);
    json_close_object(line);
    return write_line(record, HEADER);
}

bool record_write_first(record_file *record, const char *object) {
    json_put_raw(begin_line(record), NULL, object);
    return write_line(record, HEADER);
}

/* ---- a point ---- */

static void put_point_clock(json_line *line, const struct record_point_clock *clock) {
    if (clock == NULL) {
        json_put_null(line, "clock");
        return;
    }
    json_open_object(line, "clock");
    json_put_string(line, "method", clock->method);
    json_put_real(line, "residual_ns", clock->residual_ns);
    json_put_integer(line, "synchronisations", clock->synchronisations);
    json_put_real(line, "drift_ppm", clock->drift_ppm);
    json_close_object(line);
}

/* count values of each. */
static void put_list(json_line *line, const char *name, const struct record_list *list, size_t count) {
    json_open_object(line, name);
    for (size_t i = 0; i < list->count; i++) {
        json_put_integers(line, list->items[i].name, list->items[i].values, count);
    }
    json_close_object(line);
}

/* values[rank * count + item]; nothing where there are none. */
static void put_by_rank(json_line *line, const char *name, const struct record_list *list, size_t ranks, size_t count) {
    if (list->count == 0) {
        return;
    }
    json_open_object(line, name);
    for (size_t i = 0; i < list->count; i++) {
        json_open_array(line, list->items[i].name);
        for (size_t rank = 0; rank < ranks; rank++) {
            json_put_integers(line, NULL, count > 0 ? list->items[i].values + rank * count : NULL, count);
        }
        json_close_array(line);
    }
    json_close_object(line);
}

static void put_spreads(json_line *line, const struct record_spread *spreads, size_t spread_count, size_t count) {
    json_open_object(line, "spreads");
    for (size_t i = 0; i < spread_count; i++) {
        json_open_object(line, spreads[i].name);
        json_put_integers(line, "min", spreads[i].min, count);
        json_put_integers(line, "median", spreads[i].median, count);
        json_put_integers(line, "max", spreads[i].max, count);
        json_put_integers(line, "max_rank", spreads[i].max_rank, count);
        json_close_object(line);
    }
    json_close_object(line);
}

bool record_write_point(record_file *record, const struct record_point *point) {
    json_line *line = begin_line(record);
    json_open_object(line, NULL);
    json_put_string(line, "type", "point");
    json_put_integer(line, "index", record->points);
    put_object(line, "parameters", point->parameters);
    json_put_integer(line, "repetitions", (int64_t)point->repetitions);
    json_put_integer(line, "warmup_repetitions", (int64_t)point->warmup_repetitions);
    json_put_integer(line, "late_repetitions", point->late_repetitions);
    json_put_integer(line, "discarded_repetitions", point->discarded_repetitions);
    json_put_string(line, "stop_reason", point->stop_reason);
    json_put_real(line, "interval_relative_reached", point->interval_relative_reached);
    json_put_integer(line, "data_errors", point->data_errors);
    json_put_string(line, "start_method", point->start_method);
    put_point_clock(line, point->clock);
    put_list(line, "series", &point->series, point->repetitions);
    put_list(line, "warmup", &point->warmup, point->warmup_repetitions);
    put_spreads(line, point->spreads, point->spread_count, point->repetitions);
    put_list(line, "rank_medians", &point->rank_medians, point->ranks);
    put_by_rank(line, "thread_medians", &point->thread_medians, point->ranks, point->threads);
    put_by_rank(line, "rank_samples", &point->rank_samples, point->ranks, point->repetitions);
    put_object(line, "own", point->own);
    json_close_object(line);
    return write_line(record, POINT);
}

/* ---- the footer ---- */

/* By rank: times of that rank's threads. */
static void put_cpu_times(json_line *line, const char *name, const int64_t *const *times, const size_t *counts,
                          size_t ranks) {
    json_open_array(line, name);
    for (size_t i = 0; i < ranks; i++) {
        json_put_integers(line, NULL, times[i], counts[i]);
    }
    json_close_array(line);
}

static void put_spent(json_line *line, const struct record_spent *spent) {
    if (spent == NULL) {
        json_put_null(line, "spent_seconds");
        return;
    }
    json_open_object(line, "spent_seconds");
    json_put_real(line, "start_up", spent->start_up);
    json_put_real(line, "calibration", spent->calibration);
    json_put_real(line, "warm_up", spent->warm_up);
    json_put_real(line, "thrown_away", spent->thrown_away);
    json_put_real(line, "clock", spent->clock);
    json_put_real(line, "between", spent->between);
    json_close_object(line);
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
    put_spent(line, footer->spent);
    json_put_real(line, "clock_residual_ns", footer->clock_residual_ns);
    json_put_count(line, "clock_synchronisations", footer->clock_synchronisations);
    json_put_real(line, "clock_synchronisation_seconds", footer->clock_synchronisation_seconds);
    json_put_string(line, "clock_refusal", footer->clock_refusal);
    put_cpu_times(line, "mpi_thread_cpu_ns", footer->mpi_thread_cpu_ns, footer->mpi_thread_counts, footer->ranks);
    put_cpu_times(line, "helper_thread_cpu_ns", footer->helper_thread_cpu_ns, footer->helper_thread_counts,
                  footer->ranks);
    json_open_array(line, "tcp_bytes_sent");
    for (size_t i = 0; i < footer->ranks; i++) {
        json_put_count(line, NULL, footer->tcp_bytes_sent[i]);
    }
    json_close_array(line);
    put_object(line, "own", footer->own);
    json_close_object(line);
    return write_line(record, FOOTER);
}
