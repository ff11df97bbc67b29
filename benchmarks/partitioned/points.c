#include "points.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the values ---- */

/* Behind the grids stand the figures. */
enum { FIGURE_4 = GRID_FULL + 1, FIGURE_5, FIGURE_7, FIGURE_8, GRIDS };

const struct option_choice points_figures[] = {{"none", "the points of a grid, or those that are asked for"},
                                               {"4", "one thread, one partition"},
                                               {"5", "32 threads; with --interfaces per_thread it is figure 6"},
                                               {"7", "4 threads with 32 partitions each, aggregated"},
                                               {"8", "4 threads, the last partition delayed"},
                                               {NULL, NULL}};

/* Of each rank in the figure; 0: any number. */
static const int threads_of[GRIDS] = {[FIGURE_4] = 1, [FIGURE_5] = 32, [FIGURE_7] = 4, [FIGURE_8] = 4};

const struct option_values points_message_bytes[] = {
    [GRID_SMOKE] = {{16384, 1048576}, 2},
    [GRID_NIGHTLY] = {{1024, 16384, 131072, 1048576, 4194304}, 5},
    [GRID_FULL] = {{64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216}, 10},
    [FIGURE_4] = {{64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216}, 10},
    [FIGURE_5] = {{256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216}, 9},
    [FIGURE_7] = {{1024, 4096, 16384, 65536, 262144, 1048576, 4194304}, 7},
    [FIGURE_8] = {{64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216}, 10},
};

const struct option_values points_partitions_per_thread[] = {
    [GRID_SMOKE] = {{4}, 1}, [GRID_NIGHTLY] = {{1, 4, 32}, 3}, [GRID_FULL] = {{1, 4, 32}, 3}, [FIGURE_4] = {{1}, 1},
    [FIGURE_5] = {{1}, 1},   [FIGURE_7] = {{32}, 1},           [FIGURE_8] = {{1}, 1},
};

const struct option_values points_ratio_millionths[] = {
    [GRID_SMOKE] = {{0, 2500000}, 2},
    [GRID_NIGHTLY] = {{0, 2500000}, 2},
    [GRID_FULL] = {{0, 500000, 1000000, 2500000, 4000000}, 5},
    [FIGURE_4] = {{0}, 1},
    [FIGURE_5] = {{0}, 1},
    [FIGURE_7] = {{0}, 1},
    [FIGURE_8] = {{2500000}, 1},
};

const struct option_values points_aggregation_bytes[] = {
    [GRID_SMOKE] = {{0}, 1},
    [GRID_NIGHTLY] = {{0, 512, 4096, 16384}, 4},
    [GRID_FULL] = {{0, 512, 1024, 2048, 4096, 8192, 16384}, 7},
    [FIGURE_4] = {{0}, 1},
    [FIGURE_5] = {{0}, 1},
    [FIGURE_7] = {{0, 512, 1024, 2048, 4096, 8192, 16384}, 7},
    [FIGURE_8] = {{0}, 1},
};

static int grid_of(const struct points_plan *plan) {
    return plan->figure > 0 ? FIGURE_4 + plan->figure - 1 : plan->grid;
}

const struct approach *points_approach(const struct points_plan *plan) {
    return &approach_table[plan->approach];
}

static int by_size(const void *left, const void *right) {
    const int64_t a = *(const int64_t *)left;
    const int64_t b = *(const int64_t *)right;
    return (a < b) - (a > b);
}

/* Fills the lists of the axes. Returns whether all are those of a grid, and not of a figure. Long messages come first:
 * they need few repetitions, and the time that they leave goes to the short ones, which need many. */
static bool fill_lists(struct points_plan *plan) {
    const struct option_values alone = {{0}, 1};
    const int grid = grid_of(plan);
    bool preset = options_fill_list(&plan->message_bytes, &points_message_bytes[grid]);
    qsort(plan->message_bytes.values, plan->message_bytes.count, sizeof *plan->message_bytes.values, by_size);
    preset = options_fill_list(&plan->partitions_per_thread, &points_partitions_per_thread[grid]) && preset;
    preset = options_fill_list(&plan->ratio_millionths, &points_ratio_millionths[grid]) && preset;
    /* A grid has points with an aggregation size beside its others. */
    const bool aggregates = points_approach(plan)->aggregates && preset;
    const bool usual =
        options_fill_list(&plan->aggregation_bytes, aggregates ? &points_aggregation_bytes[grid] : &alone);
    return preset && usual && plan->figure == 0;
}

void points_fill(struct points_plan *plan, int threads) {
    plan->preset = fill_lists(plan);
    options_fill_range(&plan->partitions, 0, plan->partitions_per_thread.count);
    for (size_t i = 0; i < plan->partitions.count; i++) {
        plan->partitions.values[i] = plan->partitions_per_thread.values[i] * threads;
    }
}

/* ---- which are points ---- */

int64_t points_receive_partitions(const struct points_plan *plan, int64_t send_partitions) {
    const int64_t coarser = (int64_t)points_approach(plan)->coarser;
    if (plan->receive_partitions > 0) {
        return plan->receive_partitions;
    }
    if (coarser == 0) {
        return send_partitions;
    }
    return send_partitions % coarser == 0 ? send_partitions / coarser : 1;
}

/* Returns whether a message divides into whole words for the partitions of both sides. */
static bool divides(const struct points_plan *plan, int64_t message_bytes, int64_t send_partitions) {
    const int64_t received = points_receive_partitions(plan, send_partitions);
    const int64_t more = send_partitions > received ? send_partitions : received;
    return message_bytes % (more * (int64_t)sizeof(uint64_t)) == 0;
}

/* Points of a grid are those of the paper's figures: one partition per thread without delay (4 to 6), some with and
 * without delay (8), many without delay and with every aggregation size (7). */
bool points_has(const struct points_plan *plan, int threads, const size_t at[SAMPLER_MOST_AXES]) {
    enum { MANY = 32 };
    const int64_t partitions = plan->partitions.values[at[AXIS_PARTITIONS]];
    const int64_t each = partitions / threads;
    const bool delayed = plan->ratio_millionths.values[at[AXIS_DELAY]] > 0;
    if (plan->preset) {
        const bool aggregated = plan->aggregation_bytes.values[at[AXIS_AGGREGATION]] > 0;
        return divides(plan, plan->message_bytes.values[at[AXIS_MESSAGE]], partitions) &&
               !(delayed && (each == 1 || each >= MANY)) && !(aggregated && each < MANY);
    }
    return !(delayed && partitions == 1 && plan->noise == NOISE_LAST);
}

/* ---- whether they can be measured ---- */

void points_check_options(const struct points_plan *plan, char *error, size_t error_size) {
    const struct approach *approach = points_approach(plan);
    if (plan->sizes != NULL && plan->save_sizes != NULL) {
        snprintf(error, error_size,
                 "--save-sizes has nothing to save with --sizes, which searches nothing; use one of them");
    } else if (approach_lacks(approach) != NULL) {
        snprintf(error, error_size,
                 "this MPI library has no %s, which approach %s needs; --list shows the approaches that it has",
                 approach_lacks(approach), approach->name);
    } else if (plan->receive_partitions > 0 && !approach->regroups) {
        snprintf(
            error, error_size,
            "--receive-partitions: with approach %s both sides have the same partitions; leave it out, or use part, "
            "part_parrived or layer",
            approach->name);
    } else if (plan->aggregation_bytes.count > 0 && !approach->aggregates) {
        snprintf(error, error_size, "--aggregation-bytes: approach %s does not aggregate; leave it out, or use layer",
                 approach->name);
    }
}

/* Checks that every message divides into its partitions. One line in error. */
static void check_sizes(const struct points_plan *plan, char *error, size_t error_size) {
    for (size_t i = 0; i < plan->partitions.count && error[0] == '\0'; i++) {
        const int64_t send = plan->partitions.values[i];
        const int64_t receive = points_receive_partitions(plan, send);
        const int64_t more = send > receive ? send : receive;
        const int64_t fewer = send > receive ? receive : send;
        if (more > POINTS_MOST_PARTITIONS) {
            snprintf(error, error_size, "%" PRId64 " partitions are too many; at most %d are possible", more,
                     POINTS_MOST_PARTITIONS);
        } else if (more % fewer != 0) {
            snprintf(error, error_size,
                     "%" PRId64 " partitions cannot be received as %" PRId64
                     ": one number must be a multiple of the other",
                     send, receive);
        }
        for (size_t j = 0; j < plan->message_bytes.count && error[0] == '\0' && !plan->preset; j++) {
            if (plan->message_bytes.values[j] % (8 * more) != 0) {
                snprintf(error, error_size,
                         "--message-bytes: %" PRId64 " bytes do not divide into %" PRId64
                         " partitions of whole words of 8 bytes; a multiple of %" PRId64 " does",
                         plan->message_bytes.values[j], more, 8 * more);
            }
        }
    }
}

/* Checks that a grid has a point with these partitions: it leaves out those that do not divide. One line in error. */
static void check_grid(const struct points_plan *plan, char *error, size_t error_size) {
    bool any = !plan->preset || error[0] != '\0';
    for (size_t i = 0; i < plan->partitions.count; i++) {
        for (size_t j = 0; j < plan->message_bytes.count; j++) {
            any = any || divides(plan, plan->message_bytes.values[j], plan->partitions.values[i]);
        }
    }
    if (!any) {
        snprintf(error, error_size,
                 "no message of the grid divides into these partitions; set --message-bytes and "
                 "--partitions-per-thread, or leave out --receive-partitions");
    }
}

/* Checks that ranks have the threads of the figure. One line in error. */
static void check_figure(const struct points_plan *plan, int threads, char *error, size_t error_size) {
    const int needed = threads_of[grid_of(plan)];
    if (needed > 0 && threads != needed) {
        snprintf(error, error_size, "--figure %s needs %d thread%s per rank, and here are %d: set --threads %d",
                 points_figures[plan->figure].name, needed, needed == 1 ? "" : "s", threads, needed);
    }
}

void points_check(const struct points_plan *plan, int threads, char *error, size_t error_size) {
    check_sizes(plan, error, error_size);
    check_figure(plan, threads, error, error_size);
    check_grid(plan, error, error_size);
}

void points_check_ranks(const struct points_plan *plan, const struct program *program, char *error, size_t error_size) {
    const int64_t *sizes = plan->message_bytes.values;
    const size_t neighbours = approach_neighbours(points_approach(plan));
    int64_t largest = 0;
    program_check_crowd(program, error, error_size);
    for (size_t i = 0; i < plan->message_bytes.count; i++) {
        largest = sizes[i] > largest ? sizes[i] : largest;
    }
    if (program->ranks % 2 != 0) {
        snprintf(error, error_size,
                 "%d rank%s: partitioned communication is measured between pairs; start an even number", program->ranks,
                 program->ranks == 1 ? "" : "s");
    } else if (program->thread_level < MPI_THREAD_MULTIPLE) {
        snprintf(error, error_size,
                 "the MPI library provides %s, and every thread calls MPI: MPI_THREAD_MULTIPLE is needed",
                 program_thread_level_name(program->thread_level));
    } else if (program->memory_bytes > 0 && (uint64_t)largest * neighbours > program->memory_bytes / 4) {
        snprintf(error, error_size,
                 "--message-bytes: %zu times %" PRId64
                 " bytes are more than a quarter of the rank's share of memory, %.0f MiB",
                 neighbours, largest, (double)program->memory_bytes / 1048576);
    } else {
        approach_started_for(points_approach(plan), program->threads, error, error_size);
    }
}
