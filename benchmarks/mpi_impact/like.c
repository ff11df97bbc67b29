#include "like.h"

#include "fail.h"
#include "file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_cpus(const json_value *placement, struct like *like) {
    const json_value *cpusets = json_member(placement, "compute_cpusets");
    if (json_count(cpusets) != (size_t)like->threads) {
        return false;
    }
    like->cpus = fail_alloc((size_t)like->threads, sizeof *like->cpus);
    for (int i = 0; i < like->threads; i++) {
        const char *text = json_string(json_item(cpusets, (size_t)i));
        if (text == NULL || !topology_cpus_parse(text, &like->cpus[i]) || topology_cpus_count(&like->cpus[i]) == 0) {
            return false;
        }
    }
    return true;
}

/* 0 where it is not said: all are on one then. */
static uint64_t node_of(const json_value *placement) {
    uint64_t node = 0;
    return json_count_value(json_member(placement, "node"), &node) ? node : 0;
}

static void find_neighbours(const json_value *placements, int rank, struct like *like) {
    const uint64_t node = node_of(json_item(placements, (size_t)rank));
    like->neighbours = fail_alloc((size_t)like->ranks, sizeof *like->neighbours);
    for (int i = 0; i < like->ranks; i++) {
        if (node_of(json_item(placements, (size_t)i)) == node) {
            like->neighbours[like->neighbour_count++] = i;
        }
    }
}

static bool read_header(const json_value *root, const char *path, int rank, struct like *like, char *error,
                        size_t error_size) {
    const char *schema = json_string(json_member(root, "schema"));
    const char *benchmark = json_string(json_member(root, "benchmark"));
    uint64_t ranks = 0;
    uint64_t threads = 0;
    char fault[256] = "";
    if (schema == NULL || strcmp(schema, RECORD_SCHEMA) != 0 || benchmark == NULL ||
        strcmp(benchmark, "mpi_impact") != 0) {
        snprintf(error, error_size, "'%s' is no record of mpi_impact; make one with mpi_impact --record", path);
        return false;
    }
    if (!json_count_value(json_member(root, "ranks"), &ranks) || ranks == 0 || ranks > INT32_MAX ||
        !json_count_value(json_member(root, "threads_per_rank"), &threads) || threads == 0 || threads > INT32_MAX) {
        snprintf(error, error_size, "'%s': ranks and threads_per_rank must be numbers above 0", path);
        return false;
    }
    like->ranks = (int)ranks;
    like->threads = (int)threads;
    if (rank >= like->ranks) {
        snprintf(error, error_size, "rank %d: that launch, '%s', had %d rank%s; start as many processes", rank, path,
                 like->ranks, like->ranks == 1 ? "" : "s");
        return false;
    }
    if (!read_cpus(json_item(json_member(root, "placement"), (size_t)rank), like)) {
        snprintf(error, error_size, "'%s' does not say on which CPUs the %d threads of rank %d computed", path,
                 like->threads, rank);
        return false;
    }
    find_neighbours(json_member(root, "placement"), rank, like);
    if (!impact_plan_parse(json_member(root, "plan"), &like->plan, fault, sizeof fault)) {
        snprintf(error, error_size, "'%s': %s", path, fault);
        return false;
    }
    return true;
}

bool like_read(const char *path, int rank, struct like *like, char *error, size_t error_size) {
    *like = (struct like){0};
    size_t length = 0;
    char fault[256];
    char *text = file_read(path, &length, error, error_size);
    if (text == NULL) {
        return false;
    }
    const char *end = memchr(text, '\n', length);
    bool good = false;
    if (end == NULL) {
        snprintf(error, error_size, "'%s' was cut off before the end of its header", path);
    } else {
        json_value *root = json_parse(text, (size_t)(end - text), fault, sizeof fault);
        if (root == NULL) {
            snprintf(error, error_size, "'%s': %s", path, fault);
        } else {
            good = read_header(root, path, rank, like, error, error_size);
        }
        json_destroy(root);
    }
    free(text);
    if (!good) {
        like_free(like);
    }
    return good;
}

void like_free(struct like *like) {
    impact_plan_free(&like->plan);
    free(like->cpus);
    free(like->neighbours);
    *like = (struct like){0};
}
