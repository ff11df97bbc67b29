#include "pairs.h"

#include "fail.h"
#include "fail_mpi.h"

#include <stdint.h>
#include <stdlib.h>

int pairs_rounds(int nodes) {
    return nodes < 2 ? 0 : nodes % 2 == 0 ? nodes - 1 : nodes;
}

int pairs_partner(int nodes, int node, int round) {
    const int on_circle =
        nodes % 2 == 0 ? nodes - 1 : nodes; /* of an odd number, the one beside the circle is nobody */
    if (node == on_circle) {
        return round % on_circle;
    }
    if (node == round % on_circle) {
        return on_circle < nodes ? on_circle : node;
    }
    return (2 * (round % on_circle) + on_circle - node) % on_circle;
}

int pairs_spread(int nodes, int count, int place) {
    return (int)((int64_t)place * pairs_rounds(nodes) / count);
}

struct nodes nodes_find(int own, int rank, int ranks) {
    struct nodes nodes = {.own = own,
                          .of_rank = fail_alloc((size_t)ranks, sizeof(int)),
                          .number = fail_alloc((size_t)ranks, sizeof(int))};
    int *on = fail_alloc((size_t)ranks, sizeof *on); /* by node: its ranks so far */
    MPI_CHECK(MPI_Allgather(&own, 1, MPI_INT, nodes.of_rank, 1, MPI_INT, MPI_COMM_WORLD));
    for (int i = 0; i < ranks; i++) {
        const int node = nodes.of_rank[i];
        nodes.number[i] = on[node]++;
        nodes.count = node >= nodes.count ? node + 1 : nodes.count;
    }
    for (int i = 1; i < nodes.count; i++) {
        nodes.uneven |= on[i] != on[0];
    }
    nodes.own_number = nodes.number[rank];
    free(on);
    return nodes;
}

void nodes_free(struct nodes *nodes) {
    free(nodes->of_rank);
    free(nodes->number);
}

int nodes_rank(const struct nodes *nodes, int ranks, int node, int number) {
    for (int i = 0; i < ranks; i++) {
        if (nodes->of_rank[i] == node && nodes->number[i] == number) {
            return i;
        }
    }
    return MPI_PROC_NULL;
}
