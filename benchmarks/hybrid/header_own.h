/*
 * header_own - what the header of a record of hybrid says: the groups of ranks that share a copy, and what is paid
 * once.
 */
#pragma once

#include "one_off.h"

#include <stdbool.h>

struct header_own {
    int shared_nodes;
    int64_t virtual_node_ranks;
    bool numa;
    bool blocks;
    int64_t *node_ranks; /* [nodes]; on rank 0 only, which writes the record */
    size_t nodes;
    size_t cutoff_bytes;
    struct one_off one_off;
    struct one_off *one_off_of_fewer; /* [fewer] */
    size_t fewer;
};

extern const struct field header_own_fields[];

/* Collective over MPI_COMM_WORLD, of which `comm` was made with these settings. measures: with what is paid once. */
struct header_own header_own_make(const hybrid_comm *comm, const struct hybrid_settings *settings, bool measures);
void header_own_free(struct header_own *own);
