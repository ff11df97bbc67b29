#include "partition.h"

#include "fail.h"
#include "fail_mpi.h"
#include "graph.h"

#include <stdbool.h>
#include <stdlib.h>

int partition_leaves(int64_t points) {
    int leaves = 1;
    while (2 * leaves <= PARTITION_MOST_LEAVES && 2 * leaves <= points / PARTITION_LEAST_POINTS) {
        leaves *= 2;
    }
    return leaves;
}

double partition_bytes(int64_t points) {
    return (double)points * (GRID_MOST_NEIGHBOURS * sizeof(int32_t) + 2 * sizeof(int64_t) + 2 * sizeof(double));
}

int partition_owner(const struct partition *p, int leaf) {
    return (int)((int64_t)leaf * p->ranks / p->leaves);
}

/* ---- the program's own bisection of coordinates ---- */

struct bisection {
    const double *coordinates; /* [2 * points] */
    int32_t *points;
    uint16_t *leaf;
};

/* Orders by a coordinate, and by number where two are equal. */
static bool before(const struct bisection *b, int direction, int32_t left, int32_t right) {
    const double l = b->coordinates[2 * left + direction];
    const double r = b->coordinates[2 * right + direction];
    return l < r || (l == r && left < right);
}

static void swap(int32_t *a, int32_t *b) {
    const int32_t kept = *a;
    *a = *b;
    *b = kept;
}

/* Moves the smallest points of [first, end) to its beginning, up to `middle` (C. A. R. Hoare, Find, CACM 4(7), 1961).
 */
static void select_smallest(const struct bisection *b, int direction, int64_t first, int64_t middle, int64_t end) {
    int64_t low = first;
    int64_t high = end - 1;
    while (low < high) {
        const int32_t pivot = b->points[low + (high - low) / 2];
        int64_t i = low;
        int64_t j = high;
        while (i <= j) {
            while (before(b, direction, b->points[i], pivot)) {
                i++;
            }
            while (before(b, direction, pivot, b->points[j])) {
                j--;
            }
            if (i <= j) {
                swap(&b->points[i++], &b->points[j--]);
            }
        }
        if (middle <= j) {
            high = j;
        } else if (middle >= i) {
            low = i;
        } else {
            return;
        }
    }
}

/* Returns the direction in which the points of [first, end) extend further. */
static int longer_direction(const struct bisection *b, int64_t first, int64_t end) {
    double extent[2];
    for (int direction = 0; direction < 2; direction++) {
        double least = b->coordinates[2 * b->points[first] + direction];
        double most = least;
        for (int64_t i = first; i < end; i++) {
            const double at = b->coordinates[2 * b->points[i] + direction];
            least = at < least ? at : least;
            most = at > most ? at : most;
        }
        extent[direction] = most - least;
    }
    return extent[1] > extent[0] ? 1 : 0;
}

static void bisect(const struct bisection *b, int64_t first, int64_t end, int leaf, int leaves) {
    if (leaves == 1) {
        for (int64_t i = first; i < end; i++) {
            b->leaf[b->points[i]] = (uint16_t)leaf;
        }
        return;
    }
    const int64_t middle = first + (end - first) / 2;
    select_smallest(b, longer_direction(b, first, end), first, middle, end);
    bisect(b, first, middle, leaf, leaves / 2);
    bisect(b, middle, end, leaf + leaves / 2, leaves / 2);
}

static void bisect_coordinates(const struct grid *g, struct partition *p) {
    double *coordinates = fail_alloc((size_t)(2 * g->points), sizeof *coordinates);
    int32_t *points = fail_alloc((size_t)g->points, sizeof *points);
    for (int64_t i = 0; i < g->points; i++) {
        points[i] = (int32_t)i;
        coordinates[2 * i] = grid_coordinate(g, i, 0);
        coordinates[2 * i + 1] = grid_coordinate(g, i, 1);
    }
    bisect(&(struct bisection){.coordinates = coordinates, .points = points, .leaf = p->leaf}, 0, g->points, 0,
           p->leaves);
    free(coordinates);
    free(points);
}

/* ---- one of all ways ---- */

const char *const partitioner_names[] = {
    [PARTITIONER_METIS] = "metis", [PARTITIONER_SCOTCH] = "scotch", [PARTITIONER_BISECTION] = "bisection", NULL};

const struct option_choice *partitioner_choices(void) {
    static struct option_choice choices[] = {
        [PARTITIONER_METIS] = {.help = "METIS bisects the graph of the edges"},
        [PARTITIONER_SCOTCH] = {.help = "Scotch does"},
        [PARTITIONER_BISECTION] = {.help = "the program bisects the coordinates, in the longer direction first"},
        {NULL, NULL}};
    for (size_t i = 0; partitioner_names[i] != NULL; i++) {
        choices[i].name = partitioner_names[i];
    }
    return choices;
}

bool partitioner_is_built_in(enum partitioner partitioner) {
    return partitioner == PARTITIONER_METIS    ? graph_has_metis()
           : partitioner == PARTITIONER_SCOTCH ? graph_has_scotch()
                                               : true;
}

enum partitioner partitioner_usual(void) {
    enum partitioner usual = PARTITIONER_METIS;
    while (!partitioner_is_built_in(usual)) {
        usual++;
    }
    return usual;
}

/* Returns what divided the grid: the program itself where a library cannot. */
static enum partitioner divide(const struct grid *g, struct partition *p, enum partitioner asked) {
    if (p->leaves > 1 && asked == PARTITIONER_METIS && graph_divide_by_metis(g, p->leaves, p->leaf)) {
        return asked;
    }
    if (p->leaves > 1 && asked == PARTITIONER_SCOTCH && graph_divide_by_scotch(g, p->leaves, p->leaf)) {
        return asked;
    }
    bisect_coordinates(g, p);
    return PARTITIONER_BISECTION;
}

struct partition partition_make(const struct grid *g, enum partitioner partitioner, MPI_Comm comm) {
    struct partition p = {.leaf = fail_alloc((size_t)g->points, sizeof *p.leaf), .leaves = partition_leaves(g->points)};
    int rank = 0;
    int divided_by = PARTITIONER_BISECTION;
    MPI_CHECK(MPI_Comm_rank(comm, &rank));
    MPI_CHECK(MPI_Comm_size(comm, &p.ranks));
    if (rank == 0) {
        divided_by = (int)divide(g, &p, partitioner);
    }
    MPI_CHECK(MPI_Bcast(&divided_by, 1, MPI_INT, 0, comm));
    MPI_CHECK(MPI_Bcast(p.leaf, (int)g->points, MPI_UINT16_T, 0, comm));
    p.method = partitioner_names[divided_by];
    return p;
}

void partition_free(struct partition *p) {
    free(p->leaf);
    p->leaf = NULL;
}
