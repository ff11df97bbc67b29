/*
 * placement_internal - the struct and the functions that only the files of this folder share.
 */
#pragma once

#include "placement.h"

#include <pthread.h>

struct placement {
    char host[256];
    struct topology_cpus cpus;
    struct topology_threads
        others; /* threads that MPI did not start: those from before MPI_Init, OpenMP's, the helper */
    struct topology_threads
        mpi_threads; /* in the order in which they were seen; only the main thread changes this list */
    pthread_mutex_t
        changing; /* guards mpi_threads, which another thread may read; never held while waiting for anything */
    MPI_Comm node_comm;
    int rank;
    int ranks;
    int node_index;
    int node_count;
    int twin_rank; /* this rank's number among the node's ranks that have the identical cpuset */
    int twins;
    int threads;
    struct topology_cpus *compute_cpus;
    const struct configuration *configuration;
    int dedicated_cpu;              /* -1: none */
    struct topology_cpus dedicated; /* the CPUs of its core */
    bool crowded;                   /* the rank computes on the dedicated core, because it has no other */
    int given_up;                   /* cores free of computation, the fewest over ranks */
    struct topology_thread helper;
    bool has_helper;
};

/* Collective: finds the ranks of this node, numbers the nodes, and counts the ranks that may use the same CPUs. */
void placement_find_nodes(placement *place);

/* Returns the number of cores in this rank's share, and the first CPU of each in *cpus. Where there are more ranks than
 * cores the number may be 0; (*cpus)[0] is then a CPU that other ranks use too. Free *cpus. */
size_t placement_own_share(const placement *place, int **cpus);

/* Does the same for the cores of the share on which this rank computes. Free *cpus. */
size_t placement_compute_share(const placement *place, int **cpus);

/* Collective: replaces cpus by the union over the ranks of this node. */
void placement_unite(const placement *place, struct topology_cpus *cpus);
