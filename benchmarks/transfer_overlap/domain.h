/*
 * domain - a rank's part of the grid: the rows of its points, the ghosts (points of other ranks that its rows need),
 * and which values go to which rank.
 *
 * A row's own point is called by its index below `rows`; ghosts follow, those of one rank together. Rows are in the
 * order of their leaves and, within a leaf, of their points' numbers. The entries of a row are in the order of the
 * neighbours' numbers. So neither a row's product nor the sum over a leaf depends on the number of ranks.
 */
#pragma once

#include "partition.h"

#include <mpi.h>

/* The values that go to another rank are in so many parts, where they are sent in several messages. */
enum { DOMAIN_CHUNKS = 2 };

struct domain_neighbour {
    int rank;
    int sent; /* points whose values are sent to it: send_rows[first_sent ...] */
    int first_sent;
    int received; /* points whose values come from it: ghosts from rows + first_received on */
    int first_received;
};

struct domain {
    int rows;
    int ghosts;
    int64_t *numbers; /* [rows + ghosts]: of the points in the grid */
    /* The matrix: entries [first[i], first[i + 1]) of row i, without the diagonal. */
    int *first;
    int *column;
    double *value;
    double *diagonal;
    /* The rows in the order in which they are computed: interface rows, whose values other ranks need, then the
     * interior. The interface rows before chunk_end[0] are all that the first chunk needs. */
    int *order;
    int chunk_end[DOMAIN_CHUNKS];
    int *leaf_first; /* [leaves + 1]: rows of a leaf; none for leaves of others */
    int leaves;
    struct domain_neighbour *neighbours;
    int neighbour_count;
    int *send_rows; /* by neighbour */
    int sent;       /* length of send_rows */
};

/* What the parts of all ranks are like. */
struct domain_facts {
    int64_t edge_cut;         /* edges between points of different ranks */
    int64_t interface_points; /* points with such an edge */
    int64_t messages;         /* of one exchange */
    int64_t points_sent;      /* values per unknown that one exchange moves */
    int64_t largest_part;     /* points of the rank that has most */
};

/* Makes this rank's part. Free with domain_free. */
struct domain domain_make(const struct grid *g, const struct partition *p, int rank);
void domain_free(struct domain *d);

/* Returns the first point of a chunk among the points that a neighbour is sent, or that come from it. */
int domain_chunk_first(int points, int chunk);

/* Collective. */
struct domain_facts domain_facts_of(const struct domain *d, MPI_Comm comm);

/* Returns about how many bytes a rank needs for its part of so many points, without the vectors. */
double domain_bytes(int64_t points, int ranks);
