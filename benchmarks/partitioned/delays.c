#include "delays.h"

#include "fail.h"
#include "fail_mpi.h"
#include "key_values.h"
#include "size_search_mpi.h"
#include "timer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA "mpi-campaign.delays"
enum { VERSION = 2 };

/* Where the bandwidth is from that the targets were planned with. */
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
    struct key_writer writer;
    key_values_begin(&writer, SCHEMA, VERSION);
    fprintf(writer.file, "computation %s\nbandwidth %s\n", compute_choices()[program->computation].name,
            bandwidth_words[delays->guessed]);
    fprintf(writer.file, "# delay message_bytes partitions delay_ratio_millionths target_ns work_size time_ns\n");
    for (size_t i = 0; i < delays->count; i++) {
        const struct delay *item = &delays->items[i];
        fprintf(writer.file, "delay %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRIu64 " %" PRId64 "\n",
                item->message_bytes, item->partitions, item->ratio_millionths, item->target_ns, item->calibration.size,
                (int64_t)item->calibration.time_ns);
    }
    const bool good = key_values_end(&writer, path, error, error_size);
    if (!good) {
        char cause[256];
        snprintf(cause, sizeof cause, "%s", error);
        snprintf(error, error_size, "sizes file '%s' cannot be written: %s", path, cause);
    }
    return good;
}

/* Returns the line of a delay; NULL and a fault where the file has none. */
static const struct key_line *find_delay(struct key_values *file, const struct delay *item) {
    const struct key_line *line = NULL;
    while ((line = key_values_next(file, "delay", line)) != NULL) {
        if ((int64_t)key_values_number(file, line, 0, "message_bytes", 0) == item->message_bytes &&
            (int64_t)key_values_number(file, line, 1, "partitions", 0) == item->partitions &&
            (int64_t)key_values_number(file, line, 2, "delay_ratio_millionths", 0) == item->ratio_millionths) {
            return line;
        }
    }
    key_values_fail(file, NULL, "has no delay for %" PRId64 " bytes in %" PRId64 " partitions with gamma * beta = %g",
                    item->message_bytes, item->partitions, (double)item->ratio_millionths / 1e6);
    return NULL;
}

static void take_delay(struct key_values *file, const struct program *program, struct delay *item) {
    const struct compute_kernel *kernel = &compute_kernels[program->computation];
    const struct key_line *line = find_delay(file, item);
    const uint64_t target = key_values_number(file, line, 3, "target_ns", 0);
    const uint64_t size = key_values_number(file, line, 4, "work_size", 0);
    const uint64_t time = key_values_number(file, line, 5, "time_ns", 0);
    item->target_ns = (int64_t)target;
    item->calibration = (struct size_search_result){
        .status = size > 0 ? SIZE_GIVEN : SIZE_NOT_SEARCHED,
        .size = size,
        .time_ns = (double)time,
        .error_relative = target > 0 ? ((double)time - (double)target) / (double)target : 0};
    if (size > program_largest_work(program) || (size > 0 && size < kernel->least)) {
        key_values_fail(file, line, "a %s of size %" PRIu64 " cannot be computed here", kernel->name, size);
    }
}

bool delays_read(const char *path, const struct program *program, struct delays *delays, char *error,
                 size_t error_size) {
    struct key_values file = key_values_read("sizes file", path, SCHEMA, VERSION, "make one with --save-sizes");
    const char *mine = compute_choices()[program->computation].name;
    const struct key_line *computation = key_values_line(&file, "computation");
    const struct key_line *bandwidth = key_values_line(&file, "bandwidth");
    if (strcmp(key_values_text(&file, computation, 0, "a computation"), mine) != 0) {
        key_values_fail(&file, computation, "this run computes %s", mine);
    }
    delays->guessed = strcmp(key_values_text(&file, bandwidth, 0, "measured or guessed"), bandwidth_words[true]) == 0;
    for (size_t i = 0; i < delays->count; i++) {
        take_delay(&file, program, &delays->items[i]);
    }
    const bool good = file.fault[0] == '\0';
    if (!good) {
        snprintf(error, error_size, "%s", file.fault);
    }
    key_values_free(&file);
    return good;
}
