#include "like.h"

#include "fail.h"
#include "key_values.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA "mpi-campaign.like"
enum { VERSION = 1 };

bool like_write(const char *path, const struct impact_plan *plan, char *const *places, int ranks, char *error,
                size_t error_size) {
    struct key_writer writer;
    key_values_begin(&writer, SCHEMA, VERSION);
    fprintf(writer.file, "computation %s\n# rank node cpus...\n", compute_choices()[plan->computation].name);
    for (int i = 0; i < ranks; i++) {
        fprintf(writer.file, "rank %s\n", places[i]);
    }
    fprintf(writer.file, "# target comp_target_ns work_size time_ns warmup_repetitions repetitions slot_ns\n");
    for (size_t i = 0; i < plan->count; i++) {
        const struct impact_target *target = &plan->targets[i];
        fprintf(writer.file, "target %" PRId64 " %" PRIu64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n",
                target->comp_target_ns, target->work_size, (int64_t)target->calibration.time_ns,
                target->warmup_repetitions, target->repetitions, target->slot_ns);
    }
    return key_values_end(&writer, path, error, error_size);
}

/* Takes the CPUs of this rank's threads from its line. */
static void take_cpus(struct key_values *file, const struct key_line *line, struct like *like) {
    const char *first = key_values_text(file, line, 1, "the CPUs of a thread");
    if (first[0] == '\0') {
        return;
    }
    like->threads = (int)line->count - 1;
    like->cpus = fail_alloc(line->count, sizeof *like->cpus);
    for (size_t i = 1; i < line->count; i++) {
        if (!topology_cpus_parse(line->values[i], &like->cpus[i - 1]) || topology_cpus_count(&like->cpus[i - 1]) == 0) {
            key_values_fail(file, line, "'%s' are no CPUs, such as 0-1,4", line->values[i]);
        }
    }
}

/* Takes where the ranks ran, and finds those of this rank's node. */
static void take_ranks(struct key_values *file, int rank, struct like *like) {
    const struct key_line *own = NULL;
    const struct key_line *line = NULL;
    while ((line = key_values_next(file, "rank", line)) != NULL) {
        own = like->ranks++ == rank ? line : own;
    }
    if (own == NULL) {
        key_values_fail(file, NULL, "is of %d rank%s, and this is rank %d; start as many processes", like->ranks,
                        like->ranks == 1 ? "" : "s", rank);
        return;
    }
    take_cpus(file, own, like);
    const uint64_t node = key_values_number(file, own, 0, "the node", 0);
    like->neighbours = fail_alloc((size_t)like->ranks, sizeof *like->neighbours);
    for (int i = 0; (line = key_values_next(file, "rank", line)) != NULL; i++) {
        if (key_values_number(file, line, 0, "the node", 0) == node) {
            like->neighbours[like->neighbour_count++] = i;
        }
    }
}

static void take_computation(struct key_values *file, struct impact_plan *plan) {
    const struct key_line *line = key_values_line(file, "computation");
    const char *name = key_values_text(file, line, 0, "its name");
    int kind = 0;
    while (kind < COMPUTE_KINDS && strcmp(compute_choices()[kind].name, name) != 0) {
        kind++;
    }
    if (kind == COMPUTE_KINDS) {
        key_values_fail(file, line, "this program does not know the computation '%s'", name);
    } else {
        plan->computation = (enum compute_kind)kind;
    }
}

static void take_targets(struct key_values *file, struct impact_plan *plan) {
    for (const struct key_line *line = key_values_line(file, "target"); line != NULL;
         line = key_values_next(file, "target", line)) {
        plan->targets = fail_realloc(plan->targets, plan->count + 1, sizeof *plan->targets);
        plan->targets[plan->count++] = (struct impact_target){
            .comp_target_ns = (int64_t)key_values_number(file, line, 0, "comp_target_ns", 1),
            .work_size = key_values_number(file, line, 1, "work_size", 1),
            .calibration = {.status = SIZE_GIVEN, .time_ns = (double)key_values_number(file, line, 2, "time_ns", 0)},
            .warmup_repetitions = (int64_t)key_values_number(file, line, 3, "warmup_repetitions", 0),
            .repetitions = (int64_t)key_values_number(file, line, 4, "repetitions", 1),
            .slot_ns = (int64_t)key_values_number(file, line, 5, "slot_ns", 1)};
    }
}

bool like_read(const char *path, int rank, struct like *like, char *error, size_t error_size) {
    struct key_values file = key_values_read("file", path, SCHEMA, VERSION, "make one with mpi_impact --save-like");
    *like = (struct like){0};
    take_computation(&file, &like->plan);
    take_targets(&file, &like->plan);
    take_ranks(&file, rank, like);
    const bool good = file.fault[0] == '\0';
    if (!good) {
        snprintf(error, error_size, "%s", file.fault);
        like_free(like);
    }
    key_values_free(&file);
    return good;
}

void like_free(struct like *like) {
    impact_plan_free(&like->plan);
    free(like->cpus);
    free(like->neighbours);
    *like = (struct like){0};
}
