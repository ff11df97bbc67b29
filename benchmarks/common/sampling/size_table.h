/*
 * sizes - the sizes file: what a calibration found, so that other configurations do the same work.
 *
 * JSON: {"schema": "mpi-campaign.sizes", "schema_version": 3, "ranks": P, "threads_per_rank": T,
 *        "computation": "dgemm",
 *        "collectives": {"ibcast": [{"target_ns", "message_bytes", "status", "time_ns"}, ...], ...},
 *        "work": [{"target_ns", "work_size", "status", "time_ns"}, ...],
 *        "points": [{"collective", "comm_target_ns", "comp_target_ns", "message_bytes", "work_size"}, ...]}
 *
 * status is a calibration status of the record schema. points: those that were measured with other sizes than the lists
 * have now, because a reference moved and was calibrated anew in the course of the run. Versions 1 and 2 are read as
 * well: all of DGEMM, whose list of sizes was called computation, and a work_size matrix_size; version 1 has no points.
 */
#ifndef CAMPAIGN_SIZE_TABLE_H
#define CAMPAIGN_SIZE_TABLE_H

#include "size_search.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct size_entry {
    int64_t target_ns;
    uint64_t size; /* bytes, or work_size */
    enum size_status status;
    int64_t time_ns; /* 0: not known */
};

struct size_list {
    const char *name; /* of the collective; NULL of the work */
    struct size_entry *entries;
    size_t count;
};

/* What one point was, or is to be, measured with. */
struct size_point {
    uint64_t message_bytes;
    uint64_t work_size;
};

struct size_table {
    int64_t ranks;
    int64_t threads_per_rank;
    int64_t given_up_cores;  /* of each rank; a file that was made with that many threads more is good too: the work per
                                thread is the same */
    const char *computation; /* its name */
    struct size_list *collectives;
    size_t collective_count;
    struct size_list work;
    struct size_point *points; /* [collective][communication target][computation target]; NULL: the lists say it all */
};

/* How many points there are: the product of the lists. */
size_t size_table_point_count(const struct size_table *table);

/* Where a point stands in points. */
size_t size_table_point_index(const struct size_table *table, size_t collective, size_t comm_target,
                              size_t comp_target);

/*
 * Reads from a file the entries that are asked for: on entry, table holds ranks, threads, computation and, in every
 * list, the targets; on return their sizes, times and statuses, and in points, unless it is NULL, the sizes of every
 * point. false and one line (without a newline) where the file cannot be read, is no sizes file, was made for other
 * ranks, threads or another computation, or lacks a target.
 */
bool size_table_read(const char *path, struct size_table *table, char *error, size_t error_size);

/* Writes a file beside and renames it, so that a reader sees the old file or the whole new one. */
bool size_table_write(const char *path, const struct size_table *table, char *error, size_t error_size);

#endif
