#include "ordered_sum.h"

#include "fail.h"

#include <stdlib.h>

/* Adds the pieces of the subtree [first, first + leaves). */
static void add_pieces(struct ordered_sum *s, const struct partition *p, int first, int leaves) {
    const int owner = partition_owner(p, first);
    if (owner == partition_owner(p, first + leaves - 1)) {
        s->pieces[s->count++] = (struct ordered_piece){.first = first, .leaves = leaves, .owner = owner};
        return;
    }
    add_pieces(s, p, first, leaves / 2);
    add_pieces(s, p, first + leaves / 2, leaves / 2);
}

struct ordered_sum ordered_sum_make(const struct partition *p, int rank) {
    struct ordered_sum s = {
        .pieces = fail_alloc((size_t)p->leaves, sizeof *s.pieces), .leaves = p->leaves, .rank = rank};
    add_pieces(&s, p, 0, p->leaves);
    return s;
}

void ordered_sum_free(struct ordered_sum *s) {
    free(s->pieces);
    *s = (struct ordered_sum){.pieces = NULL};
}

static double sum_of_leaves(const double *of_leaves, int first, int leaves) {
    if (leaves == 1) {
        return of_leaves[first];
    }
    return sum_of_leaves(of_leaves, first, leaves / 2) + sum_of_leaves(of_leaves, first + leaves / 2, leaves / 2);
}

void ordered_sum_pieces(const struct ordered_sum *s, const double *of_leaves, double *pieces) {
    for (int i = 0; i < s->count; i++) {
        const struct ordered_piece *piece = &s->pieces[i];
        pieces[i] = piece->owner == s->rank ? sum_of_leaves(of_leaves, piece->first, piece->leaves) : 0;
    }
}

/* next: the first piece of the subtree; it becomes the one after its last. */
static double sum_of_pieces(const struct ordered_sum *s, const double *pieces, int *next, int leaves) {
    if (s->pieces[*next].leaves == leaves) {
        return pieces[(*next)++];
    }
    const double left = sum_of_pieces(s, pieces, next, leaves / 2);
    return left + sum_of_pieces(s, pieces, next, leaves / 2);
}

double ordered_sum_total(const struct ordered_sum *s, const double *pieces) {
    int next = 0;
    return sum_of_pieces(s, pieces, &next, s->leaves);
}
