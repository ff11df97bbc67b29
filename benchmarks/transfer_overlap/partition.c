#include "partition.h"

#include "fail.h"
#include "fail_mpi.h"

#include <stdbool.h>
#include <stdlib.h>

#ifdef HAS_METIS
#include <metis.h>
#endif

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

int partition_first_leaf(const struct partition *p, int rank) {
    return (int)(((int64_t)rank * p->leaves + p->ranks - 1) / p->ranks);
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
    p->method = "bisection";
    free(coordinates);
    free(points);
}

/* ---- METIS ---- */

#ifdef HAS_METIS
/* Returns false where METIS leaves a part empty or refuses. */
static bool bisect_graph(const struct grid *g, struct partition *p) {
    idx_t *first = fail_alloc((size_t)g->points + 1, sizeof *first);
    idx_t *edges = fail_alloc((size_t)g->points * GRID_MOST_NEIGHBOURS, sizeof *edges);
    idx_t *leaf = fail_alloc((size_t)g->points, sizeof *leaf);
    bool *used = fail_alloc((size_t)p->leaves, sizeof *used);
    for (int64_t i = 0; i < g->points; i++) {
        int64_t neighbours[GRID_MOST_NEIGHBOURS];
        const int count = grid_neighbours(g, i, neighbours);
        first[i + 1] = first[i] + count;
        for (int k = 0; k < count; k++) {
            edges[first[i] + k] = (idx_t)neighbours[k];
        }
    }
    idx_t vertices = (idx_t)g->points;
    idx_t constraints = 1;
    idx_t parts = p->leaves;
    idx_t cut = 0;
    idx_t options[METIS_NOPTIONS];
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_SEED] = 1;
    bool good = METIS_PartGraphRecursive(&vertices, &constraints, first, edges, NULL, NULL, NULL, &parts, NULL, NULL,
                                         options, &cut, leaf) == METIS_OK;
    for (int64_t i = 0; good && i < g->points; i++) {
        p->leaf[i] = (uint16_t)leaf[i];
        used[leaf[i]] = true;
    }
    for (int i = 0; i < p->leaves; i++) {
        good = good && used[i];
    }
    p->method = "metis";
    free(first);
    free(edges);
    free(leaf);
    free(used);
    return good;
}
#else
static bool bisect_graph(const struct grid *g, struct partition *p) {
    (void)g;
    (void)p;
    return false;
}
#endif

struct partition partition_make(const struct grid *g, MPI_Comm comm) {
    struct partition p = {.leaf = fail_alloc((size_t)g->points, sizeof *p.leaf), .leaves = partition_leaves(g->points)};
    int rank = 0;
    int of_graph = 0;
    MPI_CHECK(MPI_Comm_rank(comm, &rank));
    MPI_CHECK(MPI_Comm_size(comm, &p.ranks));
    if (rank == 0) {
        of_graph = p.leaves > 1 && bisect_graph(g, &p) ? 1 : 0;
        if (of_graph == 0) {
            bisect_coordinates(g, &p);
        }
    }
    MPI_CHECK(MPI_Bcast(&of_graph, 1, MPI_INT, 0, comm));
    MPI_CHECK(MPI_Bcast(p.leaf, (int)g->points, MPI_UINT16_T, 0, comm));
    p.method = of_graph != 0 ? "metis" : "bisection";
    return p;
}

void partition_free(struct partition *p) {
    free(p->leaf);
    p->leaf = NULL;
}
