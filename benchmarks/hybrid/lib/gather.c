#include "gather.h"

#include "error.h"

#include <limits.h>
#include <stdlib.h>

size_t gather_count(const hybrid_gather *g, int rank) {
    return g->counts != NULL ? g->counts[rank] : g->uniform;
}

size_t gather_displacement(const hybrid_gather *g, int rank) {
    return g->displacements != NULL ? g->displacements[rank] : g->uniform * (size_t)rank;
}

static void destroy(hybrid_gather *g) {
    if (g != NULL) {
        free(g->counts);
        free(g->displacements);
        free(g->node_counts);
        free(g->node_places);
        free(g);
    }
}

/* Returns whether the blocks of a node are one piece, and sets its elements. */
static bool one_piece(const hybrid_gather *g, int node, size_t *elements) {
    const layout *l = g->comm->layout;
    bool one = true;
    *elements = 0;
    for (int i = 0; i < layout_node_ranks(l, node); i++) {
        const int rank = layout_rank(l, node, i);
        one = one && gather_displacement(g, rank) == gather_displacement(g, layout_rank(l, node, 0)) + *elements;
        *elements += gather_count(g, rank);
    }
    return one;
}

/* Leaders: what they exchange. Returns false where there is no memory. */
static bool plan_exchange(hybrid_gather *g) {
    const int nodes = g->comm->nodes;
    g->node_counts = calloc((size_t)nodes, sizeof *g->node_counts);
    g->node_places = calloc((size_t)nodes, sizeof *g->node_places);
    if (g->node_counts == NULL || g->node_places == NULL) {
        return false;
    }
    g->direct = true;
    for (int node = 0; node < nodes; node++) {
        size_t elements = 0;
        g->direct = one_piece(g, node, &elements) && g->direct;
        g->elements += elements;
    }
    g->counted = g->total <= INT_MAX && g->elements <= INT_MAX;
    size_t packed = 0;
    for (int node = 0; node < nodes && g->counted; node++) {
        size_t elements = 0;
        one_piece(g, node, &elements);
        g->node_counts[node] = (int)elements;
        g->node_places[node] =
            (int)(g->direct ? gather_displacement(g, layout_rank(g->comm->layout, node, 0)) : packed);
        packed += elements;
    }
    g->even = g->counted;
    for (int node = 0; node < nodes && g->even; node++) {
        g->even = g->node_counts[node] == g->node_counts[0] && g->node_places[node] == node * g->node_counts[0];
    }
    return true;
}

int gather_create_uniform(hybrid_comm *comm, size_t count, hybrid_gather **gather) {
    hybrid_gather *g = calloc(1, sizeof *g);
    *gather = NULL;
    if (g == NULL) {
        return error_set(MPI_ERR_NO_MEM, "no memory for the parameters of an allgather");
    }
    g->comm = comm;
    g->uniform = count;
    g->count = count;
    g->displacement = count * (size_t)comm->rank;
    g->total = count * (size_t)comm->ranks;
    if ((comm_leads(comm) && !plan_exchange(g)) || !handle_add(g)) {
        destroy(g);
        return error_set(MPI_ERR_NO_MEM, "no memory for the parameters of an allgather of %d nodes", comm->nodes);
    }
    *gather = g;
    return MPI_SUCCESS;
}

/* ---- blocks of different sizes ---- */

struct block {
    size_t begin;
    size_t count;
};

static int by_begin(const void *a, const void *b) {
    const struct block *x = a;
    const struct block *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Sets the end of the last block. MPI_ERR_ARG: blocks overlap; MPI_ERR_COUNT: the end cannot be counted. */
static int check_blocks(const size_t *counts, const size_t *displacements, int ranks, size_t *total) {
    struct block *blocks = malloc((size_t)ranks * sizeof *blocks);
    int code = blocks == NULL ? error_set(MPI_ERR_NO_MEM, "no memory for %d blocks", ranks) : MPI_SUCCESS;
    size_t used = 0;
    size_t end = 0;
    for (int rank = 0; rank < ranks && blocks != NULL; rank++) {
        const struct block block = {.begin = displacements != NULL ? displacements[rank] : end, .count = counts[rank]};
        if (__builtin_add_overflow(block.begin, block.count, &end)) {
            code = error_set(MPI_ERR_COUNT, "the block of rank %d ends beyond what can be counted", rank);
            break;
        }
        if (block.count > 0) {
            blocks[used++] = block;
        }
    }
    *total = 0;
    if (code == MPI_SUCCESS) {
        qsort(blocks, used, sizeof *blocks, by_begin);
    }
    for (size_t i = 0; i < used && code == MPI_SUCCESS; i++) {
        if (blocks[i].begin < *total) {
            code = error_set(MPI_ERR_ARG, "the blocks of two ranks overlap at element %zu", blocks[i].begin);
        }
        *total = blocks[i].begin + blocks[i].count;
    }
    free(blocks);
    return code;
}

/* Keeps the blocks of all ranks. Returns false where there is no memory. */
static bool keep_blocks(hybrid_gather *g, const size_t *counts, const size_t *displacements) {
    const size_t ranks = (size_t)g->comm->ranks;
    g->counts = malloc(ranks * sizeof *g->counts);
    g->displacements = malloc(ranks * sizeof *g->displacements);
    if (g->counts == NULL || g->displacements == NULL) {
        return false;
    }
    size_t next = 0;
    for (size_t rank = 0; rank < ranks; rank++) {
        g->counts[rank] = counts[rank];
        g->displacements[rank] = displacements != NULL ? displacements[rank] : next;
        next += counts[rank];
    }
    return true;
}

static void drop_blocks(hybrid_gather *g) {
    free(g->counts);
    free(g->displacements);
    g->counts = NULL;
    g->displacements = NULL;
}

static int create(hybrid_comm *comm, const size_t *counts, const size_t *displacements, hybrid_gather **gather) {
    size_t total = 0;
    TRY(check_blocks(counts, displacements, comm->ranks, &total));
    hybrid_gather *g = calloc(1, sizeof *g);
    *gather = g;
    if (g == NULL) {
        return error_set(MPI_ERR_NO_MEM, "no memory for the parameters of an allgather");
    }
    g->comm = comm;
    g->total = total;
    if (!keep_blocks(g, counts, displacements) || (comm_leads(comm) && !plan_exchange(g)) || !handle_add(g)) {
        return error_set(MPI_ERR_NO_MEM, "no memory for the parameters of an allgather of %d ranks", comm->ranks);
    }
    g->count = g->counts[comm->rank];
    g->displacement = g->displacements[comm->rank];
    if (!comm_leads(comm)) {
        drop_blocks(g);
    }
    return MPI_SUCCESS;
}

int hybrid_gather_create(hybrid_comm *comm, const size_t *counts, const size_t *displacements, hybrid_gather **gather) {
    if (gather == NULL) {
        return error_set(MPI_ERR_ARG, "there is no place for the parameters");
    }
    *gather = NULL;
    TRY(comm_check(comm));
    hybrid_gather *made = NULL;
    const int code = comm_share_error(comm->all, counts == NULL ? error_set(MPI_ERR_ARG, "there are no counts")
                                                                : create(comm, counts, displacements, &made));
    if (code != MPI_SUCCESS) {
        handle_remove(made);
        destroy(made);
        return code;
    }
    *gather = made;
    return MPI_SUCCESS;
}

int hybrid_gather_free(hybrid_gather **gather) {
    if (gather == NULL || *gather == NULL || !handle_exists(*gather)) {
        return error_set(MPI_ERR_ARG, "the parameters do not exist, or were freed");
    }
    handle_remove(*gather);
    destroy(*gather);
    *gather = NULL;
    return MPI_SUCCESS;
}
