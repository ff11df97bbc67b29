/*
 * gather - the parameters of an allgather: the blocks of all ranks, and what the leaders exchange.
 */
#pragma once

#include "comm.h"

struct hybrid_gather {
    hybrid_comm *comm;
    size_t total; /* elements up to the end of the last block */
    size_t count; /* of this rank's block */
    size_t displacement;
    size_t uniform; /* the elements of every block, where `counts` is NULL */
    /* Leaders; elements: */
    size_t *counts;        /* [ranks]; NULL: `uniform`, one block after the other */
    size_t *displacements; /* [ranks] */
    int *node_counts;      /* [nodes]: what each leader sends */
    int *node_places;      /* [nodes]: where it is put: in the buffer where `direct`, else in the staging memory */
    bool direct;           /* each node's blocks are one piece of the buffer */
    bool counted;          /* node_counts and node_places fit into int */
    bool even;             /* all leaders send as much, one node's blocks after the other's */
    size_t elements;       /* of all blocks */
};

/* Returns the block of a rank; on leaders of any rank. */
size_t gather_count(const hybrid_gather *g, int rank);
size_t gather_displacement(const hybrid_gather *g, int rank);

/* Makes the parameters of blocks of the same size, one after the other. Local to each node. */
int gather_create_uniform(hybrid_comm *comm, size_t count, hybrid_gather **gather);
