#include "delays.h"

#include "fail.h"
#include "fail_mpi.h"
#include "file.h"
#include "json.h"
#include "size_search_mpi.h"
#include "timer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA "mpi-campaign.delays"
enum { VERSION = 1 };

/* Where the bandwidth is from that the targets were planned with; a file that does not say it had measured one. */
static const char *const bandwidth_words[] = {[false] = "measured", [true] = "guessed"};

/* A delay is measured in every repetition: its target only says where a point stands on the axis. */
static const double tolerance = 0.05;

/* Sizes that are tried for one target, and measurements of each. */
enum { MOST_MEASUREMENTS = 8, READINGS = 5 };

/* Most of the budget that all searches together may take. */
static const double most_of_budget = 0.3;

/* A size that is farther off its target when the time is up, relative, is not used: the point would stand elsewhere. */
static const double most_error = 0.2;

int64_t delays_target_ns(int64_t message_bytes, int64_t partitions, int64_t ratio_millionths, double bytes_per_second) {
    const double partition_bytes = (double)message_bytes / (double)partitions;
    return (int64_t)llround((double)ratio_millionths / 1e6 * partition_bytes / bytes_per_second * 1e9);
}

void delays_add(struct delays *delays, int64_t message_bytes, int64_t partitions, int64_t ratio_millionths) {
    delays->items = fail_realloc(delays->items, delays->count + 1, sizeof *delays->items);
    delays->items[delays->count++] = (struct delay){.message_bytes = message_bytes,
                                                    .partitions = partitions,
                                                    .ratio_millionths = ratio_millionths,
                                                    .calibration = {.status = SIZE_NOT_SEARCHED}};
}

const struct delay *delays_find(const struct delays *delays, int64_t message_bytes, int64_t partitions,
                                int64_t ratio_millionths) {
    for (size_t i = 0; i < delays->count; i++) {
        const struct delay *item = &delays->items[i];
        if (item->message_bytes == message_bytes && item->partitions == partitions &&
            item->ratio_millionths == ratio_millionths) {
            return item;
        }
    }
    return NULL;
}

void delays_free(struct delays *delays) {
    free(delays->items);
    *delays = (struct delays){.items = NULL};
}

/* ---- searching ---- */

struct job {
    const struct program *program;
    bool computes;
    int64_t began; /* as if all searches before had been made right before this one */
};

/* Collective: returns the time of one thread on the slowest rank that computes, the shortest of a few readings, because
 * a disturbance only makes a time longer. */
static double measure_size(void *context, uint64_t size) {
    const struct job *job = context;
    int64_t shortest = INT64_MAX;
    compute_reserve(job->program->team, size);
    for (int i = -1; i < READINGS; i++) { /* -1 warms up */
        MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
        int64_t time = job->computes ? compute_run_alone(job->program->team, 0, size) : 0;
        MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &time, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD));
        shortest = i >= 0 && time < shortest ? time : shortest;
    }
    return fmax((double)shortest, 1);
}

static bool has_time(void *context) {
    const struct job *job = context;
    const double budget = job->program->settings.budget_seconds;
    return budget == 0 || (double)(timer_now_ns() - job->began) / 1e9 < most_of_budget * budget;
}

/* Returns whether a search ended for want of time, with nothing or far from its target. */
static bool was_too_short(const struct size_search_result *found, struct job *job) {
    const bool is_far = found->status == SIZE_OFF_TARGET && fabs(found->error_relative) > most_error;
    return found->status == SIZE_NOT_SEARCHED || (is_far && !has_time(job));
}

static int by_target(const void *left, const void *right) {
    const struct delay *a = left;
    const struct delay *b = right;
    return (a->target_ns > b->target_ns) - (a->target_ns < b->target_ns);
}

void delays_aim(struct delays *delays, double bytes_per_second) {
    for (size_t i = 0; i < delays->count; i++) {
        struct delay *item = &delays->items[i];
        item->target_ns =
            delays_target_ns(item->message_bytes, item->partitions, item->ratio_millionths, bytes_per_second);
    }
}

void delays_search(const struct program *program, struct delays *delays, bool computes) {
    const struct compute_kernel *kernel = &compute_kernels[program->computation];
    const uint64_t most = program_largest_work(program);
    struct job job = {.program = program, .computes = computes, .began = timer_now_ns() - delays->searched_ns};
    double guess = (double)kernel->least;
    const struct delay *before = NULL;
    qsort(delays->items, delays->count, sizeof *delays->items, by_target);
    for (size_t i = 0; i < delays->count; i++) {
        struct delay *item = &delays->items[i];
        if (item->target_ns == 0) {
            continue;
        }
        if (before != NULL && before->target_ns == item->target_ns) {
            item->calibration = before->calibration;
            continue;
        }
        const struct delay *known = item->calibration.time_ns > 0 ? item : before; /* its own: it is planned anew */
        if (known != NULL && known->calibration.time_ns > 0) {
            guess = (double)known->calibration.size *
                    pow((double)item->target_ns / known->calibration.time_ns, 1 / kernel->exponent);
        }
        const struct size_search_request request = {.target_ns = (double)item->target_ns,
                                                    .tolerance = tolerance,
                                                    .min_size = kernel->least,
                                                    .max_size = most,
                                                    .step = kernel->step,
                                                    .initial_size = guess < (double)most ? (uint64_t)guess : most,
                                                    .exponent = kernel->exponent,
                                                    .max_measurements = MOST_MEASUREMENTS,
                                                    .go_on = has_time};
        item->calibration = size_search_mpi_run(MPI_COMM_WORLD, &request, measure_size, &job);
        if (was_too_short(&item->calibration, &job)) {
            item->calibration = (struct size_search_result){.status = SIZE_NOT_SEARCHED};
        }
        before = item;
    }
    delays->searched_ns = timer_now_ns() - job.began;
}

void delays_share(struct delays *delays) {
    MPI_CHECK(MPI_Bcast(delays->items, (int)(delays->count * sizeof *delays->items), MPI_BYTE, 0, MPI_COMM_WORLD));
}

/* ---- the sizes file ---- */

bool delays_write(const char *path, const struct program *program, const struct delays *delays, char *error,
                  size_t error_size) {
    json_line *line = json_line_create();
    json_open_object(line, NULL);
    json_put_string(line, "schema", SCHEMA);
    json_put_integer(line, "schema_version", VERSION);
    json_put_string(line, "computation", compute_choices()[program->computation].name);
    json_put_integer(line, "threads_per_rank", program->threads);
    json_put_string(line, "bandwidth", bandwidth_words[delays->guessed]);
    json_open_array(line, "delays");
    for (size_t i = 0; i < delays->count; i++) {
        const struct delay *item = &delays->items[i];
        json_open_object(line, NULL);
        json_put_integer(line, "message_bytes", item->message_bytes);
        json_put_integer(line, "partitions", item->partitions);
        json_put_integer(line, "delay_ratio_millionths", item->ratio_millionths);
        json_put_integer(line, "target_ns", item->target_ns);
        json_put_integer(line, "work_size", (int64_t)item->calibration.size);
        json_put_integer(line, "time_ns", (int64_t)item->calibration.time_ns);
        json_close_object(line);
    }
    json_close_array(line);
    json_close_object(line);
    const bool good = file_replace(path, json_line_text(line), json_line_length(line), error, error_size);
    json_line_destroy(line);
    if (!good) {
        char cause[256];
        snprintf(cause, sizeof cause, "%s", error);
        snprintf(error, error_size, "sizes file '%s' cannot be written: %s", path, cause);
    }
    return good;
}

/* Reads a member that is a whole number >= 0. */
static bool read_count(const json_value *object, const char *name, uint64_t *number) {
    const json_value *value = json_member(object, name);
    return value != NULL && json_count_value(value, number);
}

/* Finds the entry of a delay, and takes it over. false: the file has none. */
static bool take_delay(const json_value *entries, struct delay *item) {
    for (size_t i = 0; i < json_count(entries); i++) {
        const json_value *entry = json_item(entries, i);
        uint64_t bytes = 0;
        uint64_t partitions = 0;
        uint64_t ratio = 0;
        uint64_t target = 0;
        uint64_t size = 0;
        uint64_t time = 0;
        if (read_count(entry, "message_bytes", &bytes) && read_count(entry, "partitions", &partitions) &&
            read_count(entry, "delay_ratio_millionths", &ratio) && read_count(entry, "target_ns", &target) &&
            read_count(entry, "work_size", &size) && read_count(entry, "time_ns", &time) &&
            bytes == (uint64_t)item->message_bytes && partitions == (uint64_t)item->partitions &&
            ratio == (uint64_t)item->ratio_millionths) {
            item->target_ns = (int64_t)target;
            item->calibration = (struct size_search_result){
                .status = size > 0 ? SIZE_GIVEN : SIZE_NOT_SEARCHED,
                .size = size,
                .time_ns = (double)time,
                .error_relative = target > 0 ? ((double)time - (double)target) / (double)target : 0};
            return true;
        }
    }
    return false;
}

/* Checks what the file says about itself, and takes its delays over. One line in error, "" where nothing is wrong. */
static void take_file(const json_value *file, const struct program *program, struct delays *delays, char *error,
                      size_t error_size) {
    const char *schema = json_string(json_member(file, "schema"));
    const char *computation = json_string(json_member(file, "computation"));
    uint64_t version = 0;
    uint64_t threads = 0;
    const char *bandwidth = json_string(json_member(file, "bandwidth"));
    delays->guessed = bandwidth != NULL && strcmp(bandwidth, bandwidth_words[true]) == 0;
    if (schema == NULL || strcmp(schema, SCHEMA) != 0 || !read_count(file, "schema_version", &version) ||
        version != VERSION) {
        snprintf(error, error_size, "it is no file of delays of version %d, as --save-sizes writes it", VERSION);
    } else if (computation == NULL || strcmp(computation, compute_choices()[program->computation].name) != 0) {
        snprintf(error, error_size, "it is of another computation than %s",
                 compute_choices()[program->computation].name);
    } else if (!read_count(file, "threads_per_rank", &threads) || threads == 0) {
        snprintf(error, error_size, "it does not say of how many threads it is");
    }
    for (size_t i = 0; i < delays->count && error[0] == '\0'; i++) {
        struct delay *item = &delays->items[i];
        const struct compute_kernel *kernel = &compute_kernels[program->computation];
        if (!take_delay(json_member(file, "delays"), item)) {
            snprintf(error, error_size,
                     "it has no delay for %" PRId64 " bytes in %" PRId64 " partitions with gamma * beta = %g",
                     item->message_bytes, item->partitions, (double)item->ratio_millionths / 1e6);
        } else if (item->calibration.size > program_largest_work(program) ||
                   (item->calibration.size > 0 && item->calibration.size < kernel->least)) {
            snprintf(error, error_size, "a %s of size %" PRIu64 " cannot be computed here", kernel->name,
                     item->calibration.size);
        }
    }
}

bool delays_read(const char *path, const struct program *program, struct delays *delays, char *error,
                 size_t error_size) {
    char cause[512] = "";
    size_t length = 0;
    char *text = file_read(path, &length, cause, sizeof cause);
    json_value *file = text != NULL ? json_parse(text, length, cause, sizeof cause) : NULL;
    if (file != NULL) {
        take_file(file, program, delays, cause, sizeof cause);
    }
    json_destroy(file);
    free(text);
    if (cause[0] != '\0') {
        snprintf(error, error_size, "sizes file '%s': %s", path, cause);
    }
    return cause[0] == '\0';
}
