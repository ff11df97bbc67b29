/*
 * partition - divides the points of a grid into leaves, small groups of points that lie together, and the leaves among
 * the ranks.
 *
 * The leaves are the same for every number of ranks: 2^k of them, by recursive bisection. So leaf l and its neighbours
 * in number were divided last, and a contiguous range of leaves is a good part for a rank. Rank r has the leaves from
 * r leaves / ranks on. METIS or Scotch bisects the graph of the edges, where the program was built with it; otherwise
 * the coordinates are bisected, in the longer direction first.
 */
#pragma once

#include "grid.h"
#include "options.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* What divides a grid. PARTITIONER_BISECTION, the program's own, is always there. */
enum partitioner { PARTITIONER_METIS, PARTITIONER_SCOTCH, PARTITIONER_BISECTION };

/* Their names, in the order of the enumeration, and NULL at the end; and as the choices of an option. */
extern const char *const partitioner_names[];
const struct option_choice *partitioner_choices(void);
bool partitioner_is_built_in(enum partitioner partitioner);

/* Returns the first one that is built in. */
enum partitioner partitioner_usual(void);

struct partition {
    uint16_t *leaf; /* [points] */
    int leaves;     /* a power of two */
    int ranks;
    const char *method; /* the name of the partitioner that divided it */
};

/* The fewest points per leaf, and so of a grid for each rank. */
enum { PARTITION_LEAST_POINTS = 8, PARTITION_MOST_LEAVES = 1024 };

/* Returns how many leaves a grid of so many points has. No more ranks can have a part of it. */
int partition_leaves(int64_t points);

/* Collective: rank 0 divides the grid, and all ranks get the result. Where the library is not built in, refuses or
 * leaves a leaf empty, the program bisects the coordinates. partition_free frees the leaves of the points; the rest
 * stays. */
struct partition partition_make(const struct grid *g, enum partitioner partitioner, MPI_Comm comm);
void partition_free(struct partition *p);

/* Returns the rank that has a leaf. */
int partition_owner(const struct partition *p, int leaf);

/* Returns the bytes that rank 0 needs to divide so many points. */
double partition_bytes(int64_t points);
