/*
 * cells - which cells of cpu_overhead are points: the collectives, communicators, sizes, ways and times that were asked
 * for, and which of their combinations are measured.
 */
#pragma once

#include "operations.h"
#include "program.h"
#include "ways.h"

enum { AXIS_OPERATION, AXIS_COMMUNICATOR, AXIS_MESSAGE, AXIS_WAY, AXIS_LATENESS, AXES };

enum { CELLS_MOST_COMMUNICATORS = 64, CELLS_MOST_LATENESS = 16 };

/* What was asked for, in the order of the lists. */
struct cells_asked {
    struct option_list operations;    /* indices of operation_table */
    struct option_list communicators; /* their ranks, ascending; empty: powers of two, and all ranks */
    struct option_list message_bytes;
    struct option_list ways; /* indices of way_table */
    struct option_list lateness_ms;
    bool preset;             /* the sizes are a grid's: those that do not fit are no points */
    const int64_t *detailed; /* sizes for which other ways than `blocking` are measured */
    size_t detailed_count;
};

struct cells {
    const struct program *program;
    const struct cells_asked *asked;
    const struct operation *operations[OPERATION_COUNT];
    struct collective blocking[OPERATION_COUNT]; /* the same as collectives, and their nonblocking forms */
    struct collective nonblocking[OPERATION_COUNT];
    int64_t communicators[CELLS_MOST_COMMUNICATORS]; /* their sizes, ascending: the first ranks of MPI_COMM_WORLD */
    size_t communicator_count;
    int64_t lateness_ns[CELLS_MOST_LATENESS]; /* of the last rank, or the work of a batch out of step; ascending */
    size_t lateness_count;
};

/* What the grids have: sizes of messages, and by how much the last rank comes late. */
extern const struct option_values cells_message_bytes[];
extern const struct option_values cells_lateness_ms[];

/* Lists that were not given get all collectives and the grid's values; the ways are given. */
void cells_fill(struct cells_asked *asked, int grid);

/* Returns what follows from what was asked for. A rank comes late by the time of a batch at least. */
struct cells cells_of(const struct program *program, const struct cells_asked *asked, int64_t batch_ns);

/* Collective: one line in error, the same on all ranks, where these ranks cannot measure it. */
void cells_check(const struct cells *cells, char *error, size_t error_size);

/* Of a cell, by the indices of its values: the size of its message (of a collective without data 0), its way, and by
 * how much the last rank comes late (0 where none does). */
int64_t cells_message(const struct cells *cells, const size_t at[AXES]);
const struct way *cells_way(const struct cells *cells, const size_t at[AXES]);
int64_t cells_lateness(const struct cells *cells, const size_t at[AXES]);

/* Advances to the next cell of the product that is a point, or the first one. false: there is none. */
bool cells_next(const struct cells *cells, size_t at[AXES], bool first);
