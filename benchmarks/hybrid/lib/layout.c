#include "layout.h"

#include <stdlib.h>

struct layout {
    int ranks;
    int nodes;
    bool blocks;
    int *first; /* [nodes + 1]: ranks in the order of nodes; where node i's begin */
    /* NULL where ranks are in blocks and no table was asked for: */
    int *node_of;  /* [ranks] */
    int *place_of; /* [ranks]: rank within the node */
    int *in_order; /* [ranks]: ranks in the order of nodes */
};

static bool consecutive(const int *node_of, int ranks) {
    for (int rank = 1; rank < ranks; rank++) {
        if (node_of[rank] != node_of[rank - 1] && node_of[rank] != node_of[rank - 1] + 1) {
            return false;
        }
    }
    return node_of[0] == 0;
}

static void fill_tables(layout *l, const int *node_of) {
    for (int rank = 0; rank < l->ranks; rank++) {
        l->node_of[rank] = node_of[rank];
        l->in_order[l->first[node_of[rank]]++] = rank;
    }
    /* Each entry of `first` has moved to where the next node begins. */
    for (int node = l->nodes; node > 0; node--) {
        l->first[node] = l->first[node - 1];
    }
    l->first[0] = 0;
    for (int node = 0; node < l->nodes; node++) {
        for (int i = l->first[node]; i < l->first[node + 1]; i++) {
            l->place_of[l->in_order[i]] = i - l->first[node];
        }
    }
}

layout *layout_create(const int *node_of, int ranks, int nodes, bool table) {
    layout *l = calloc(1, sizeof *l);
    if (l == NULL) {
        return NULL;
    }
    l->ranks = ranks;
    l->nodes = nodes;
    l->blocks = consecutive(node_of, ranks);
    l->first = calloc((size_t)nodes + 1, sizeof *l->first);
    const bool tables = table || !l->blocks;
    if (tables) {
        l->node_of = calloc((size_t)ranks, sizeof *l->node_of);
        l->place_of = calloc((size_t)ranks, sizeof *l->place_of);
        l->in_order = calloc((size_t)ranks, sizeof *l->in_order);
    }
    if (l->first == NULL || (tables && (l->node_of == NULL || l->place_of == NULL || l->in_order == NULL))) {
        layout_destroy(l);
        return NULL;
    }
    for (int rank = 0; rank < ranks; rank++) {
        l->first[node_of[rank] + 1]++;
    }
    for (int node = 0; node < nodes; node++) {
        l->first[node + 1] += l->first[node];
    }
    if (tables) {
        fill_tables(l, node_of);
    }
    return l;
}

void layout_destroy(layout *l) {
    if (l != NULL) {
        free(l->first);
        free(l->node_of);
        free(l->place_of);
        free(l->in_order);
        free(l);
    }
}

bool layout_blocks(const layout *l) {
    return l->blocks;
}

size_t layout_bytes(const layout *l) {
    const size_t tables = l->node_of != NULL ? 3 * (size_t)l->ranks : 0;
    return ((size_t)l->nodes + 1 + tables) * sizeof(int);
}

void layout_translate(const layout *l, int rank, int *node, int *node_rank) {
    if (l->node_of != NULL) {
        *node = l->node_of[rank];
        *node_rank = l->place_of[rank];
        return;
    }
    int low = 0;
    int high = l->nodes; /* first[low] <= rank < first[high] */
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        if (l->first[middle] <= rank) {
            low = middle;
        } else {
            high = middle;
        }
    }
    *node = low;
    *node_rank = rank - l->first[low];
}

int layout_node_ranks(const layout *l, int node) {
    return l->first[node + 1] - l->first[node];
}

int layout_rank(const layout *l, int node, int node_rank) {
    const int place = l->first[node] + node_rank;
    return l->in_order != NULL ? l->in_order[place] : place;
}
