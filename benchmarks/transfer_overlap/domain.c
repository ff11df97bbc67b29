#include "domain.h"

#include "fail.h"
#include "fail_mpi.h"

#include <stdbool.h>
#include <stdlib.h>

double domain_bytes(int64_t points, int ranks) {
    const double own = (double)points / ranks;
    const double entry = sizeof(int) + sizeof(double);
    return own * (GRID_MOST_NEIGHBOURS * entry + 2 * sizeof(int64_t) + sizeof(double)) +
           (double)points * (sizeof(uint16_t) + sizeof(int32_t));
}

/* A point and the other rank that it concerns: whose it is, or who needs it. */
struct shared {
    int rank;
    int64_t point;
};

struct shared_list {
    struct shared *items;
    size_t count;
    size_t room;
};

static void add(struct shared_list *list, int rank, int64_t point) {
    if (list->count == list->room) {
        list->room = list->room > 0 ? 2 * list->room : 64;
        list->items = fail_realloc(list->items, list->room, sizeof *list->items);
    }
    list->items[list->count++] = (struct shared){.rank = rank, .point = point};
}

static int by_rank_and_point(const void *left, const void *right) {
    const struct shared *a = left;
    const struct shared *b = right;
    if (a->rank != b->rank) {
        return a->rank < b->rank ? -1 : 1;
    }
    return (a->point > b->point) - (a->point < b->point);
}

/* Sorts by rank and point, and keeps each pair once. */
static void sort_once(struct shared_list *list) {
    size_t kept = 0;
    if (list->count > 0) {
        qsort(list->items, list->count, sizeof *list->items, by_rank_and_point);
    }
    for (size_t i = 0; i < list->count; i++) {
        if (kept == 0 || by_rank_and_point(&list->items[kept - 1], &list->items[i]) != 0) {
            list->items[kept++] = list->items[i];
        }
    }
    list->count = kept;
}

/* ---- making ---- */

/* The indices of this rank's points, by leaf and number: local[point], -1 for points of others. */
static int32_t *number_rows(struct domain *d, const struct grid *g, const struct partition *p, int rank) {
    int32_t *local = fail_alloc((size_t)g->points, sizeof *local);
    int *next = fail_alloc((size_t)p->leaves, sizeof *next);
    d->leaves = p->leaves;
    d->leaf_first = fail_alloc((size_t)p->leaves + 1, sizeof *d->leaf_first);
    for (int64_t i = 0; i < g->points; i++) {
        d->leaf_first[p->leaf[i] + 1] += partition_owner(p, p->leaf[i]) == rank;
    }
    for (int leaf = 0; leaf < p->leaves; leaf++) {
        next[leaf] = d->leaf_first[leaf];
        d->leaf_first[leaf + 1] += d->leaf_first[leaf];
    }
    d->rows = d->leaf_first[p->leaves];
    for (int64_t i = 0; i < g->points; i++) {
        local[i] = partition_owner(p, p->leaf[i]) == rank ? next[p->leaf[i]]++ : -1;
    }
    free(next);
    return local;
}

/* Finds which points come from other ranks, and which go to them. */
static void find_shared(const struct grid *g, const struct partition *p, int rank, const int32_t *local,
                        struct shared_list *received, struct shared_list *sent) {
    for (int64_t i = 0; i < g->points; i++) {
        int64_t neighbours[GRID_MOST_NEIGHBOURS];
        const int count = local[i] >= 0 ? grid_neighbours(g, i, neighbours) : 0;
        for (int k = 0; k < count; k++) {
            const int owner = partition_owner(p, p->leaf[neighbours[k]]);
            if (owner != rank) {
                add(received, owner, neighbours[k]);
                add(sent, owner, i);
            }
        }
    }
    sort_once(received);
    sort_once(sent);
}

/* The neighbouring ranks, and what goes to each and comes from each. Points are shared in both directions, so that both
 * lists have the same ranks. */
static void find_neighbours(struct domain *d, const int32_t *local, const struct shared_list *received,
                            const struct shared_list *sent) {
    size_t r = 0;
    size_t s = 0;
    d->ghosts = (int)received->count;
    d->sent = (int)sent->count;
    d->send_rows = fail_alloc(sent->count > 0 ? sent->count : 1, sizeof *d->send_rows);
    d->neighbours = fail_alloc(sent->count > 0 ? sent->count : 1, sizeof *d->neighbours);
    while (r < received->count) {
        struct domain_neighbour *n = &d->neighbours[d->neighbour_count++];
        *n = (struct domain_neighbour){.rank = received->items[r].rank, .first_received = (int)r, .first_sent = (int)s};
        for (; r < received->count && received->items[r].rank == n->rank; r++) {
            n->received++;
        }
        for (; s < sent->count && sent->items[s].rank == n->rank; s++) {
            d->send_rows[s] = local[sent->items[s].point];
            n->sent++;
        }
    }
}

static void make_matrix(struct domain *d, const struct grid *g, const int32_t *local) {
    int entries = 0;
    d->first = fail_alloc((size_t)d->rows + 1, sizeof *d->first);
    d->column = fail_alloc((size_t)d->rows * GRID_MOST_NEIGHBOURS, sizeof *d->column);
    d->value = fail_alloc((size_t)d->rows * GRID_MOST_NEIGHBOURS, sizeof *d->value);
    d->diagonal = fail_alloc((size_t)d->rows, sizeof *d->diagonal);
    for (int i = 0; i < d->rows; i++) {
        int64_t neighbours[GRID_MOST_NEIGHBOURS];
        const int count = grid_neighbours(g, d->numbers[i], neighbours);
        d->diagonal[i] = GRID_SHIFT;
        for (int k = 0; k < count; k++) {
            const double weight = grid_weight(g, d->numbers[i], neighbours[k]);
            d->diagonal[i] += weight;
            d->column[entries] = local[neighbours[k]];
            d->value[entries++] = -weight;
        }
        d->first[i + 1] = entries;
    }
}

int domain_chunk_first(int points, int chunk) {
    return (int)((int64_t)points * chunk / DOMAIN_CHUNKS);
}

/* Puts the rows into the order in which they are computed. */
static void order_rows(struct domain *d) {
    int *chunk = fail_alloc((size_t)d->rows, sizeof *chunk);
    int next = 0;
    for (int i = 0; i < d->rows; i++) {
        chunk[i] = DOMAIN_CHUNKS;
    }
    for (int k = 0; k < d->neighbour_count; k++) {
        const struct domain_neighbour *n = &d->neighbours[k];
        for (int c = 0; c < DOMAIN_CHUNKS; c++) {
            for (int i = domain_chunk_first(n->sent, c); i < domain_chunk_first(n->sent, c + 1); i++) {
                int *of_row = &chunk[d->send_rows[n->first_sent + i]];
                *of_row = c < *of_row ? c : *of_row;
            }
        }
    }
    d->order = fail_alloc((size_t)d->rows, sizeof *d->order);
    for (int c = 0; c <= DOMAIN_CHUNKS; c++) {
        for (int i = 0; i < d->rows; i++) {
            if (chunk[i] == c) {
                d->order[next++] = i;
            }
        }
        if (c < DOMAIN_CHUNKS) {
            d->chunk_end[c] = next;
        }
    }
    free(chunk);
}

struct domain domain_make(const struct grid *g, const struct partition *p, int rank) {
    struct domain d = {.rows = 0};
    struct shared_list received = {.count = 0};
    struct shared_list sent = {.count = 0};
    int32_t *local = number_rows(&d, g, p, rank);
    find_shared(g, p, rank, local, &received, &sent);
    find_neighbours(&d, local, &received, &sent);
    d.numbers = fail_alloc((size_t)(d.rows + d.ghosts), sizeof *d.numbers);
    for (int64_t i = 0; i < g->points; i++) {
        if (local[i] >= 0) {
            d.numbers[local[i]] = i;
        }
    }
    for (size_t i = 0; i < received.count; i++) {
        local[received.items[i].point] = d.rows + (int32_t)i;
        d.numbers[d.rows + (int)i] = received.items[i].point;
    }
    make_matrix(&d, g, local);
    order_rows(&d);
    free(local);
    free(received.items);
    free(sent.items);
    return d;
}

void domain_free(struct domain *d) {
    free(d->numbers);
    free(d->first);
    free(d->column);
    free(d->value);
    free(d->diagonal);
    free(d->order);
    free(d->leaf_first);
    free(d->neighbours);
    free(d->send_rows);
    *d = (struct domain){.rows = 0};
}

struct domain_facts domain_facts_of(const struct domain *d, MPI_Comm comm) {
    enum { CUT, INTERFACE, MESSAGES, SENT, SUMS };
    int64_t sums[SUMS] = {
        [INTERFACE] = d->chunk_end[DOMAIN_CHUNKS - 1], [MESSAGES] = d->neighbour_count, [SENT] = d->sent};
    int64_t largest = d->rows;
    for (int i = 0; i < d->first[d->rows]; i++) {
        sums[CUT] += d->column[i] >= d->rows;
    }
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, sums, SUMS, MPI_INT64_T, MPI_SUM, comm));
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_INT64_T, MPI_MAX, comm));
    return (struct domain_facts){.edge_cut = sums[CUT] / 2, /* both ranks count it */
                                 .interface_points = sums[INTERFACE],
                                 .messages = sums[MESSAGES],
                                 .points_sent = sums[SENT],
                                 .largest_part = largest};
}
