/*
 * placement_internal - what the files of this folder have in common, and nobody else needs.
 */
#ifndef CAMPAIGN_PLACEMENT_INTERNAL_H
#define CAMPAIGN_PLACEMENT_INTERNAL_H

#include "placement.h"

#include <pthread.h>

struct placement {
    char host[256];
    struct topology_cpus cpus;
    struct topology_threads others;      /* threads that are not MPI's: those before MPI_Init, OpenMP's, the helper */
    struct topology_threads mpi_threads; /* in the order in which they were seen; the main thread alone changes it */
    pthread_mutex_t changing; /* mpi_threads, which another thread may look at; held for a moment, never while anything
                                 is waited for */
    MPI_Comm node_comm;
    int rank;
    int ranks;
    int node_index;
    int node_count;
    int twin_rank; /* among the node's ranks of identical cpuset */
    int twins;
    int threads;
    struct topology_cpus *compute_cpus;
    const struct configuration *configuration;
    int dedicated_cpu;              /* -1: none */
    struct topology_cpus dedicated; /* the CPUs of its core */
    bool crowded;                   /* the rank computes on that core, for want of another */
    int given_up;                   /* cores, the fewest over ranks */
    struct topology_thread helper;
    bool has_helper;
};

/* Collective: the ranks of this node, their number among all nodes, and those that may use the same CPUs. */
void placement_find_nodes(placement *place);

/* The first CPUs of this rank's share of cores; how many. None, because there are more ranks than cores: (*cpus)[0] is
 * one that others use too. Free *cpus. */
size_t placement_own_share(const placement *place, int **cpus);

/* The cores of the share on which this rank computes; how many. Free *cpus. */
size_t placement_compute_share(const placement *place, int **cpus);

/* Collective: the union over the ranks of this node. */
void placement_unite(const placement *place, struct topology_cpus *cpus);

#endif
