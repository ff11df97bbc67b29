#include "pairs.h"

#include "fail.h"
#include "fail_mpi.h"
#include "group.h"

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

struct nodes nodes_find(const char *identity, int rank, int ranks) {
    struct nodes nodes = {.of_rank = fail_alloc((size_t)ranks, sizeof(int)),
                          .number = fail_alloc((size_t)ranks, sizeof(int))};
    MPI_Comm node = MPI_COMM_NULL;
    int first = rank;
    group_split(MPI_COMM_WORLD, identity, &node);
    MPI_CHECK(MPI_Comm_rank(node, &nodes.own_number));
    MPI_CHECK(MPI_Bcast(&first, 1, MPI_INT, 0, node));
    MPI_CHECK(MPI_Comm_free(&node));
    MPI_CHECK(MPI_Allgather(&first, 1, MPI_INT, nodes.of_rank, 1, MPI_INT, MPI_COMM_WORLD));
    MPI_CHECK(MPI_Allgather(&nodes.own_number, 1, MPI_INT, nodes.number, 1, MPI_INT, MPI_COMM_WORLD));
    for (int i = 0; i < ranks; i++) { /* the first rank of a node comes before its others */
        const int of_first = nodes.of_rank[i];
        nodes.of_rank[i] = of_first == i ? nodes.count++ : nodes.of_rank[of_first];
    }
    nodes.own = nodes.of_rank[rank];
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
