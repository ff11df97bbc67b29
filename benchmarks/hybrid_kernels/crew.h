/*
 * crew - who computes in each variant of a kernel.
 *
 * All variants use the same cores in the same launch, in turn in every repetition: processes, one per core,
 * or the OpenMP threads of one process per node. While the threads run, each on the cores of another process of the
 * node, those processes sleep.
 */
#pragma once

#include "hybrid_collectives.h"
#include "team.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

enum way {
    WAY_MPI,    /* processes, and the MPI library's collectives */
    WAY_OPENMP, /* one process per node, and the MPI library's collectives between nodes */
    WAY_HYBRID, /* processes, and the collectives of hybrid_collectives */
    WAYS
};

struct crew_node; /* in the memory of the node */
struct crew {
    hybrid_comm *hybrid; /* of MPI_COMM_WORLD */
    struct hybrid_info info;
    MPI_Comm node;
    MPI_Comm leaders;       /* MPI_COMM_NULL on ranks that do not lead their node */
    struct crew_node *home; /* memory of this rank's node */
    MPI_Win window;
    void *cpus; /* [node_ranks] of cpu_set_t: where the ranks of the node may run */
};

/* Collective. Returns false and the library's line in error where the communicators cannot be had. */
bool crew_create(struct crew *crew, const struct hybrid_settings *settings, char *error, size_t error_size);

/* Collective, when the ranks are bound and before crew_run_threads: finds out where each of them may run. */
void crew_look(struct crew *crew);
void crew_free(struct crew *crew);

/* Returns the communicator of those that compute in a way; MPI_COMM_NULL: this rank does not. */
MPI_Comm crew_comm(const struct crew *crew, enum way way);

/* The moments of a solve by the threads of a node, local times, and its computation, ns. */
struct crew_times {
    int64_t began;
    int64_t ended;
    int64_t compute;
};

/* The work of one thread of a node's leader. thread 0 is the one that may call MPI, and fills in the times. */
typedef void crew_work(void *context, struct team *team, int thread, struct crew_times *times);

/*
 * Collective over the node: the leader runs the work in a thread for each rank of the node, which is bound to the CPUs
 * of that rank; the other ranks sleep meanwhile. Returns the leader's times on all ranks of the node, without a
 * computation on those that slept. *pinned: whether each thread ran on one CPU of its own (leaders only).
 */
struct crew_times crew_run_threads(struct crew *crew, crew_work *work, void *context, bool *pinned);
