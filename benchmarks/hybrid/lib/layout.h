/*
 * layout - which rank is on which node. No MPI.
 *
 * Where the ranks of each node are consecutive, only the first rank of each node is kept, and a rank is translated by a
 * binary search. Otherwise, or on request, there is a table of all ranks (Zhou et al. 2020, section 4.3).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct layout layout;

/* node_of: [ranks], 0 ... nodes - 1, every node at least once. Returns NULL where there is no memory. */
layout *layout_create(const int *node_of, int ranks, int nodes, bool table);
void layout_destroy(layout *l);

bool layout_blocks(const layout *l);

/* The bytes that are kept. */
size_t layout_bytes(const layout *l);

/* The node of a rank, and its place among the ranks of that node, which are in rank order. */
void layout_translate(const layout *l, int rank, int *node, int *node_rank);

/* The number of ranks of a node, and the rank of one of them. */
int layout_node_ranks(const layout *l, int node);
int layout_rank(const layout *l, int node, int node_rank);
