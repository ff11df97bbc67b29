/*
 * comm - what the library keeps of a hybrid_comm.
 */
#pragma once

#include "flags.h"
#include "hybrid_collectives.h"
#include "layout.h"

struct hybrid_comm {
    MPI_Comm all; /* a duplicate of the parent */
    MPI_Comm node;
    MPI_Comm bridge; /* MPI_COMM_NULL on ranks that do not lead */
    int rank;
    int ranks;
    int node_index;
    int nodes;
    int node_rank;
    int node_ranks;
    bool oversubscribed;
    layout *layout;
    enum hybrid_sync sync;
    size_t cutoff_bytes;
    int memories; /* that exist */
};

static inline bool comm_leads(const hybrid_comm *comm) {
    return comm->node_rank == 0;
}

/* Returns MPI_SUCCESS, or MPI_ERR_COMM and a line, where this is no hybrid_comm. */
int comm_check(const hybrid_comm *comm);

/* How this rank waits for others of its node. */
struct flags_waiting comm_waiting(hybrid_comm *comm);

/* Collective: returns the first rank's error that is not MPI_SUCCESS, on all ranks, with its line. */
int comm_share_error(MPI_Comm comm, int code);
