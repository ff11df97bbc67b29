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

static void put_environment(json_line *line, const char *name_of, const void *of) {
    const struct record_header *header = of;
    json_open_object(line, name_of);
    for (char *const *environment = header->environment; *environment != NULL; environment++) {
        if (record_environment_allowed(*environment, header->environment_list)) {
            const char *equals = strchr(*environment, '=');
            char *name = fail_strdup(*environment);
            name[equals - *environment] = '\0';
            json_put_string(line, name, equals + 1);
            free(name);
        }
    }
    json_close_object(line);
}

/* ---- the header ---- */

/* Functions that write an object which is handed over as text; NULL: an empty one. */
#define OBJECT_OF(line_of, member)                                                                                     \
    static void put_##line_of##_##member(json_line *line, const char *name, const void *of) {                          \
        const char *object = ((const struct record_##line_of *)of)->member;                                            \
        json_put_raw(line, name, object != NULL ? object : "{}");                                                      \
    }
OBJECT_OF(header, own)
OBJECT_OF(header, metadata)
OBJECT_OF(header, mpi_variables)
OBJECT_OF(plan, own)
OBJECT_OF(plan, parameters)
OBJECT_OF(point, own)
OBJECT_OF(point, parameters)
OBJECT_OF(footer, own)

static void put_command_line(json_line *line, const char *name, const void *of) {
    const struct record_header *header = of;
    json_open_array(line, name);
    for (size_t i = 0; i < header->command_line_count; i++) {
        json_put_string(line, NULL, header->command_line[i]);
    }
    json_close_array(line);
}

static void put_placements(json_line *line, const char *name, const void *of) {
    const struct record_header *header = of;
    json_open_array(line, name);
    for (int i = 0; i < header->ranks; i++) {
        json_put_raw(line, NULL, header->placements[i]);
    }
    json_close_array(line);
}

static const char *const thread_levels[] = {"single", "funneled", "serialized", "multiple", NULL};
const char *const record_clock_methods[] = {"shared", "interpolated", "none", NULL};
const char *const record_start_methods[] = {"deadline", "barrier", NULL};
static const char *const sources[] = {"none", "library", "application", NULL};
static const char *const binders[] = {"none", "library", "program", NULL};

static const struct field progress_fields[] = {
    FIELD_ONE_OF(struct record_progress, source, sources,
                 "whose progress thread the configuration asks for: none, the MPI library's, or the application's"),
    FIELD_ONE_OF(struct record_progress, pinned_by, binders,
                 "what binds this thread to the dedicated core: nothing, variables of the library, or the program "
                 "after MPI_Init"),
    FIELD(struct record_progress, given_up_cores,
          "cores of each rank's share that the configuration keeps free of computation: 0 where it keeps none, or "
          "where a rank has one core"),
    FIELDS_END,
};

static const struct field thread_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .help = "the name of the thread"},
    {.name = "cpuset", .kind = FIELD_TEXT, .help = "the CPUs that it may use"},
    FIELDS_END,
};

/* placement_text writes them. */
static const struct field placement_fields[] = {
    {.name = "rank", .kind = FIELD_INT, .help = "its number"},
    {.name = "host", .kind = FIELD_TEXT, .help = "the name of its host"},
    {.name = "node",
     .kind = FIELD_INT,
     .help = "the number of its node, 0 of rank 0: ranks of one host name and one boot of a kernel are on one node"},
    {.name = "cpuset",
     .kind = FIELD_TEXT,
     .help = "CPUs that the rank may use when main starts, as the kernel lists them: 0-3,8"},
    {.name = "physical_cores", .kind = FIELD_INT, .help = "distinct physical cores in cpuset"},
    {.name = "compute_cpusets",
     .kind = FIELD_OTHER,
     .shape = "texts",
     .help = "CPUs of each computing thread, as bound while it computes"},
    {.name = "mpi_threads",
     .kind = FIELD_OBJECTS,
     .members = thread_fields,
     .help = "threads that MPI had started when measuring began"},
    {.name = "helper_threads",
     .kind = FIELD_OBJECTS,
     .members = thread_fields,
     .help = "the benchmark's own progress threads, as bound; only in apphelper"},
    {.name = "dedicated_cpuset",
     .kind = FIELD_TEXT,
     .help = "CPUs for a progress thread, on which the rank does not compute unless it has one core only; empty where "
             "the configuration has none"},
    FIELDS_END,
};

static const struct field timer_fields[] = {
    FIELD(struct record_timer, name, "the clock"),
    FIELD(struct record_timer, resolution_ns, "its smallest step"),
    FIELD(struct record_timer, overhead_ns, "the time that a reading takes"),
    FIELDS_END,
};

const struct field record_build_fields[] = {
    FIELD(struct record_build, compiler, "the compiler and its version"),
    FIELD(struct record_build, flags, "its flags"),
    FIELD(struct record_build, commit, "the commit of this project"),
    FIELD_TRUTH_OR_NULL(struct record_build, dirty, "whether files differed from that commit"),
    FIELD(struct record_build, blas, "the BLAS library"),
    FIELDS_END,
};

static const struct field clock_fields[] = {
    FIELD_ONE_OF(struct record_clock, method, record_clock_methods,
                 "shared: all ranks read one clock. interpolated: several clocks, synchronised before and after each "
                 "point. none: there is no common clock"),
    FIELD(struct record_clock, refusal, "why there is no common clock; empty where there is one"),
    FIELD(struct record_clock, clocks, "distinct clocks among the ranks"),
    FIELD(struct record_clock, rounds, "rounds of the exchange in one synchronisation"),
    FIELD(struct record_clock, residual_ns,
          "the largest difference between the offset that a clock's line predicted and the measured one"),
    FIELD(struct record_clock, shortest_trip_ns,
          "mean of the shortest round trips of a pair, the largest over pairs: an offset is known to half of it"),
    FIELD(struct record_clock, drift_ppm, "the largest drift against rank 0's clock"),
    FIELD(struct record_clock, synchronisation_seconds, "the time that it took"),
    FIELDS_END,
};

static const struct field plan_fields[] = {
    FIELD_BY("parameters", put_plan_parameters, "values by name",
             "the values of each parameter, in the order in which they were asked for. A parameter that is the same in "
             "all points has one value here, and no point repeats it"),
    FIELD_OR_NULL(struct record_plan, points, "the number of points; null where it is not known before"),
    FIELD(struct record_plan, budget_seconds, "0: there is no budget"),
    FIELD(struct record_plan, interval_relative,
          "a point is done when the 95 % intervals of its medians are at most so wide, relative to the median"),
    FIELD_OR_NULL(struct record_plan, min_repetitions, "the fewest repetitions of a point"),
    FIELD_OR_NULL(struct record_plan, max_repetitions, "the most"),
    FIELD_TRUTH_OR_NULL(struct record_plan, sizes_given, "whether sizes came from a file, so that none was calibrated"),
    FIELD_BY("own", put_plan_own, "object", "what only this family plans"),
    FIELDS_END,
};

#define HEADER_FIELD(member, sentence) FIELD(struct record_header, member, sentence)
const struct field record_header_fields[] = {
    HEADER_FIELD(family, "what is measured"),
    HEADER_FIELD(method,
                 "the number of the method of measuring, from 1. A family that measures in a new way raises it; "
                 "times of different methods are never compared"),
    HEADER_FIELD(description, "the hash of what the program's --describe printed; older records lack it"),
    HEADER_FIELD(benchmark, "the program, or the other benchmark, that measured"),
    HEADER_FIELD(toolchain, "the MPI library, such as openmpi@5.0.11"),
    HEADER_FIELD(provider, "where it came from: wheels, prefix, spack"),
    HEADER_FIELD(configuration, "which thread makes communication progress, and which cores compute"),
    HEADER_FIELD(network, "shm, wire:<rate>:duplex, tcp or native"),
    FIELD_BY("command_line", put_command_line, "texts", "the program and its options"),
    HEADER_FIELD(started_utc, "ISO 8601, in seconds, ends in Z"),
    HEADER_FIELD(mpi_library_version, "what the library says of itself"),
    HEADER_FIELD(mpi_standard, "the version of the standard that it says it follows"),
    FIELD_ONE_OF(struct record_header, thread_level_required, thread_levels, "the thread level that was asked for"),
    FIELD_ONE_OF(struct record_header, thread_level_provided, thread_levels, "the thread level that MPI provides"),
    HEADER_FIELD(ranks, "the ranks of MPI_COMM_WORLD"),
    HEADER_FIELD(nodes, "the nodes that they run on"),
    HEADER_FIELD(threads_per_rank, "computing threads of each rank"),
    HEADER_FIELD(physical_cores, "distinct physical cores that the ranks may use, over all nodes"),
    HEADER_FIELD(oversubscribed,
                 "on a node there are more computing, dedicated and helper threads than physical cores"),
    HEADER_FIELD(shared_core, "the configuration asks for a progress thread, which may run on a core that computes"),
    FIELD_STRUCT(struct record_header, progress, progress_fields, "what the configuration asks for"),
    {.name = "placement",
     .kind = FIELD_OTHER,
     .shape = "objects",
     .put = put_placements,
     .members = placement_fields,
     .help = "where each rank runs"},
    FIELD_STRUCT(struct record_header, timer, timer_fields, "the local clock that times are read from"),
    {FIELD_BEGIN(struct record_header, start_method,
                 "deadline: ranks wait for an agreed time of the common clock. barrier: they leave a dissemination "
                 "barrier, because that was asked for or because there is no clock. null: they do not start together"),
     .or_null = true, .values = record_start_methods},
    FIELD_OR_NULL(struct record_header, seed, "of the contents of messages; null where there are none"),
    FIELD_STRUCT(struct record_header, build, record_build_fields, "how the program was built"),
    FIELD_BY("environment", put_environment, "texts by name",
             "variables that steer MPI, its network layers, OpenMP and BLAS, as --record-environment chooses them. "
             "Variables of launchers for their own processes, and names like that of a secret, are left out"),
    FIELD_BY("mpi_variables", put_header_mpi_variables, "texts by name",
             "control variables of MPI_T that --record-controls asks for, as the library reports them: a setting or a "
             "default, not necessarily what the library used"),
    FIELD_STRUCT_OR_NULL(struct record_header, clock, clock_fields,
                         "the common clock when it was set up; null where no times of different ranks are compared"),
    FIELD_STRUCT(struct record_header, plan, plan_fields, "what the program planned to measure"),
    FIELD_BY("own", put_header_own, "object", "what only this family knows"),
    FIELD_BY("metadata", put_header_metadata, "object", "the object of the file of --metadata, unchanged"),
    FIELDS_END,
};

bool record_write_header(record_file *record, const struct record_header *header) {
    json_line *line = begin_line(record);
    json_open_object(line, NULL);
    json_put_string(line, "type", "header");
    json_put_string(line, "schema", RECORD_SCHEMA);
    json_put_integer(line, "schema_version", RECORD_VERSION);
    fields_put(line, record_header_fields, header);
    json_close_object(line);
    return write_line(record, HEADER);
}

bool record_write_first(record_file *record, const char *object) {
    json_put_raw(begin_line(record), NULL, object);
    return write_line(record, HEADER);
}

/* ---- a point ---- */

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

static void put_series(json_line *line, const char *name, const void *of) {
    const struct record_point *point = of;
    put_list(line, name, &point->series, point->repetitions);
}

static void put_warmup(json_line *line, const char *name, const void *of) {
    const struct record_point *point = of;
    put_list(line, name, &point->warmup, point->warmup_repetitions);
}

static void put_spreads(json_line *line, const char *name, const void *of) {
    const struct record_point *point = of;
    json_open_object(line, name);
    for (size_t i = 0; i < point->spread_count; i++) {
        const struct record_spread *spread = &point->spreads[i];
        json_open_object(line, spread->name);
        json_put_integers(line, "min", spread->min, point->repetitions);
        json_put_integers(line, "median", spread->median, point->repetitions);
        json_put_integers(line, "max", spread->max, point->repetitions);
        json_put_integers(line, "max_rank", spread->max_rank, point->repetitions);
        json_close_object(line);
    }
    json_close_object(line);
}

static void put_rank_medians(json_line *line, const char *name, const void *of) {
    const struct record_point *point = of;
    put_list(line, name, &point->rank_medians, point->ranks);
}

static void put_thread_medians(json_line *line, const char *name, const void *of) {
    const struct record_point *point = of;
    put_by_rank(line, name, &point->thread_medians, point->ranks, point->threads);
}

static void put_rank_samples(json_line *line, const char *name, const void *of) {
    const struct record_point *point = of;
    put_by_rank(line, name, &point->rank_samples, point->ranks, point->repetitions);
}

static const struct field point_clock_fields[] = {
    FIELD_ONE_OF(struct record_point_clock, method, record_clock_methods,
                 "as in the header; with none, each time is the longest of the ranks' own durations"),
    FIELD(struct record_point_clock, residual_ns,
          "the largest disagreement with rank 0's clock at the synchronisations after the point and its parts; where "
          "all ranks read one clock, what exceeds the uncertainty of the exchange"),
    FIELD(struct record_point_clock, synchronisations, "how many were made during the point"),
    FIELD(struct record_point_clock, drift_ppm, "the largest drift against rank 0's clock"),
    FIELDS_END,
};

static const char *const stop_reasons[] = {"interval", "repetitions", "budget", "spoilt", "not_measured", NULL};

#define POINT_FIELD(member, sentence) FIELD(struct record_point, member, sentence)
const struct field record_point_fields[] = {
    POINT_FIELD(index, "the number of the point in the order of measuring, from 0"),
    FIELD_BY("parameters", put_point_parameters, "value by name", "what the point is"),
    POINT_FIELD(repetitions, "those that count: the length of every array of samples"),
    POINT_FIELD(warmup_repetitions, "first repetitions that were slower than the rest and do not count"),
    POINT_FIELD(late_repetitions,
                "repetitions that a rank began later than agreed. They count, and their times run from the agreed "
                "moment; in older records without the series late_starts, parts that were thrown away"),
    POINT_FIELD(discarded_repetitions,
                "repetitions that were thrown away because the point was calibrated again, its clock was refused, or a "
                "rank came too late to a step"),
    {FIELD_BEGIN(struct record_point, stop_reason,
                 "interval: the intervals are narrow enough, or answer a step of a search. repetitions: the most were "
                 "made, or data were wrong. spoilt: too many went another way than planned (late in older records: too "
                 "many started late). budget: no time was left. not_measured: no repetition counts. null: the number "
                 "of repetitions was fixed"),
     .or_null = true, .values = stop_reasons},
    POINT_FIELD(interval_relative_reached,
                "the widest 95 % interval of the medians that stop the point, relative to its median"),
    POINT_FIELD(data_errors, "wrong elements received, over all ranks"),
    {FIELD_BEGIN(struct record_point, start_method, "as in the header, of this point"), .or_null = true,
     .values = record_start_methods},
    FIELD_STRUCT_OR_NULL(struct record_point, clock, point_clock_fields, "the clock while the point was measured"),
    FIELD_BY("series", put_series, "series", "over all ranks, a value per repetition that counts"),
    FIELD_BY("warmup", put_warmup, "series", "the same of the warm-up, of the series that stop the point"),
    FIELD_BY("spreads", put_spreads, "spreads",
             "what each rank times: min, median and max over ranks, and the rank with the maximum, per repetition"),
    FIELD_BY("rank_medians", put_rank_medians, "series", "each rank's medians over the repetitions"),
    {.name = "thread_medians",
     .kind = FIELD_OTHER,
     .shape = "tables",
     .put = put_thread_medians,
     .may_lack = true,
     .help = "each computing thread's medians, [rank][thread]: for up to 64 ranks, or with --rank-samples"},
    {.name = "rank_samples",
     .kind = FIELD_OTHER,
     .shape = "tables",
     .put = put_rank_samples,
     .may_lack = true,
     .help = "every rank's own samples, [rank][repetition]: likewise"},
    FIELD_BY("own", put_point_own, "object", "what only this family knows"),
    FIELDS_END,
};

bool record_write_point(record_file *record, const struct record_point *point) {
    json_line *line = begin_line(record);
    struct record_point numbered = *point;
    numbered.index = record->points;
    json_open_object(line, NULL);
    json_put_string(line, "type", "point");
    fields_put(line, record_point_fields, &numbered);
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

static void put_mpi_threads(json_line *line, const char *name, const void *of) {
    const struct record_footer *footer = of;
    put_cpu_times(line, name, footer->mpi_thread_cpu_ns, footer->mpi_thread_counts, footer->ranks);
}

static void put_helper_threads(json_line *line, const char *name, const void *of) {
    const struct record_footer *footer = of;
    put_cpu_times(line, name, footer->helper_thread_cpu_ns, footer->helper_thread_counts, footer->ranks);
}

static void put_tcp_bytes(json_line *line, const char *name, const void *of) {
    const struct record_footer *footer = of;
    json_open_array(line, name);
    for (size_t i = 0; i < footer->ranks; i++) {
        json_put_count(line, NULL, footer->tcp_bytes_sent[i]);
    }
    json_close_array(line);
}

static const struct field spent_fields[] = {
    FIELD(struct record_spent, start_up, "until the header was written"),
    FIELD(struct record_spent, calibration, "from the header to the first point"),
    FIELD(struct record_spent, warm_up, "in warm-ups"),
    FIELD(struct record_spent, thrown_away, "in repetitions that were thrown away"),
    FIELD(struct record_spent, clock, "synchronising the clock, from the first point on"),
    FIELD(struct record_spent, between,
          "between repetitions, where ranks agree on starts, wait for them, and check messages"),
    FIELDS_END,
};

#define FOOTER_FIELD(member, sentence) FIELD(struct record_footer, member, sentence)
const struct field record_footer_fields[] = {
    FOOTER_FIELD(complete, "false: the record was cut off or refused, and may have no point"),
    FOOTER_FIELD(reason, "why it is not complete; empty where it is"),
    FOOTER_FIELD(points, "how many lines of points stand before it"),
    FOOTER_FIELD(wall_seconds, "from the start of the process to this line"),
    FOOTER_FIELD(measured_seconds, "the part of it in repetitions that count; null where that is not counted"),
    FIELD_STRUCT_OR_NULL(struct record_footer, spent_seconds, spent_fields,
                         "where the rest went, on rank 0; what is left is the end of the run"),
    FOOTER_FIELD(clock_residual_ns, "the clock's residual, measured once more at the end"),
    FIELD_OR_NULL(struct record_footer, clock_synchronisations, "how many were made"),
    FOOTER_FIELD(clock_synchronisation_seconds, "the time that they took on rank 0"),
    FOOTER_FIELD(clock_refusal, "why there is no common clock any more; empty where there is one"),
    FIELD_BY("mpi_thread_cpu_ns", put_mpi_threads, "lists",
             "CPU time of the threads that MPI started, [rank][thread]: those of the header's placement first, then "
             "those that it started later"),
    FIELD_BY("helper_thread_cpu_ns", put_helper_threads, "lists", "the same of the application's progress threads"),
    FIELD_BY("tcp_bytes_sent", put_tcp_bytes, "counts or nulls",
             "by rank: bytes that the peers acknowledged on TCP connections that were open at the end; null where the "
             "kernel does not tell"),
    FIELD_BY("own", put_footer_own, "object", "what only this family knows"),
    FIELDS_END,
};

bool record_write_footer(record_file *record, const struct record_footer *footer) {
    json_line *line = begin_line(record);
    json_open_object(line, NULL);
    json_put_string(line, "type", "footer");
    fields_put(line, record_footer_fields, footer);
    json_close_object(line);
    return write_line(record, FOOTER);
}
