/*
 * ordered_sum - adds a number per leaf in an order that does not depend on the number of ranks, so that the result has
 * the same bits on any number of ranks.
 *
 * The sum is that of the binary tree over the leaves. A rank adds up the largest subtrees that are wholly its own;
 * these pieces go through one MPI_Allreduce, in which all other ranks add 0; then every rank adds the pieces up the
 * rest of the tree. A power of two of ranks has a piece each.
 */
#pragma once

#include "partition.h"

struct ordered_piece {
    int first; /* leaves [first, first + leaves) */
    int leaves;
    int owner;
};

struct ordered_sum {
    struct ordered_piece *pieces; /* from the first leaf to the last */
    int count;
    int leaves;
    int rank;
};

struct ordered_sum ordered_sum_make(const struct partition *p, int rank);
void ordered_sum_free(struct ordered_sum *s);

/* Writes this rank's pieces of the leaves' numbers, [leaves], and 0 for those of others, into pieces[count]. */
void ordered_sum_pieces(const struct ordered_sum *s, const double *of_leaves, double *pieces);

/* Returns the sum of all ranks' pieces. */
double ordered_sum_total(const struct ordered_sum *s, const double *pieces);
