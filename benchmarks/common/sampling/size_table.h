/*
 * size_table - the sizes that a calibration found, as a table and as a file (a "sizes file"), so that other
 * configurations do the same work.
 *
 * The lines of the file (key_values.h): ranks, threads_per_rank, computation;
 *
 *   message COLLECTIVE target_ns message_bytes status time_ns
 *   work target_ns work_size status time_ns
 *   point COLLECTIVE comm_target_ns comp_target_ns message_bytes work_size
 *
 * status is a word of size_status_name. A point is one that was measured with other sizes than the lists have now,
 * because a reference moved and its size was searched again during the run.
 */
#pragma once

#include "size_search.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct size_entry {
    int64_t target_ns;
    uint64_t size; /* bytes, or work_size */
    enum size_status status;
    int64_t time_ns; /* median time of that size; 0: not known */
};

struct size_list {
    const char *name; /* the collective's name; NULL for the work */
    struct size_entry *entries;
    size_t count;
};

/* The sizes that one point was measured with, or is to be measured with. */
struct size_point {
    uint64_t message_bytes;
    uint64_t work_size;
};

struct size_table {
    int64_t ranks;
    int64_t threads_per_rank;
    int64_t given_up_cores; /* of each rank; a file made with threads_per_rank + given_up_cores threads is accepted too,
                               because the work per thread is the same */
    const char *computation; /* name of the kernel (compute.h) */
    struct size_list *collectives;
    size_t collective_count;
    struct size_list work;
    struct size_point *points; /* [collective][communication target][computation target]; NULL: every point has the
                                  sizes of the lists */
};

/* Returns the number of points: the product of the lengths of the lists. */
size_t size_table_point_count(const struct size_table *table);

/* Returns the index of a point in points. */
size_t size_table_point_index(const struct size_table *table, size_t collective, size_t comm_target,
                              size_t comp_target);

/*
 * Reads from a file the entries of the table. On entry the table holds ranks, threads, computation and, in every list,
 * the targets; on return it also holds their sizes, times and statuses and, unless points is NULL, the sizes of every
 * point. Returns false and one line, without a newline, in error where the file cannot be read, is no sizes file, was
 * made for other ranks or threads or another computation, or lacks a target.
 */
bool size_table_read(const char *path, struct size_table *table, char *error, size_t error_size);

/* Writes the table to a file, by file_replace: a reader sees the old file or the whole new one. Returns false and one
 * line in error on a fault. */
bool size_table_write(const char *path, const struct size_table *table, char *error, size_t error_size);
