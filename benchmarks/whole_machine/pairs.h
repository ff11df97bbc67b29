/*
 * pairs - the nodes of a launch, and which of them exchange messages in which round.
 *
 * The rounds are those of the circle method for a round-robin tournament: with an even number of nodes, in n - 1 rounds
 * each node meets each other once; with an odd number, in n rounds, in each of which another node is free.
 */
#pragma once

#include <stdbool.h>

/* Returns the number of different rounds; 0: there is one node. */
int pairs_rounds(int nodes);

/* Returns the node that this one meets in a round, from 0; itself: it is free. */
int pairs_partner(int nodes, int node, int round);

/* Returns the round that has this place among so many rounds that are spread over all. */
int pairs_spread(int nodes, int count, int place);

/* Where the ranks of a launch are. */
struct nodes {
    int count;
    int own;        /* the node of this rank */
    int own_number; /* of this rank on its node, from 0 */
    bool uneven;    /* nodes have different numbers of ranks */
    int *of_rank;   /* [ranks]: the node of each rank */
    int *number;    /* [ranks]: the number of each rank on its node */
};

/* Collective over MPI_COMM_WORLD. own: the number of the node of this rank, as of placement_node. Free with
 * nodes_free. */
struct nodes nodes_find(int own, int rank, int ranks);
void nodes_free(struct nodes *nodes);

/* Returns the rank with this number on a node. */
int nodes_rank(const struct nodes *nodes, int ranks, int node, int number);
