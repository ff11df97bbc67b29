/*
 * placement - finds out and sets where ranks and their threads run: which ranks share a node, which cores each rank may
 * use, which threads MPI started, and which core a configuration keeps free.
 */
#pragma once

#include "compute.h"
#include "configuration.h"
#include "topology.h"

#include <mpi.h>
#include <stdbool.h>

typedef struct placement placement;

/* Call it before MPI_Init: notes the process's cpuset and the threads that it has already. Dies where the system
 * refuses. Free with placement_destroy. */
placement *placement_create(void);

/* Collective, after MPI_Init: finds the threads that MPI started, the nodes, and the rank's share of cores. A node is a
 * host name and a boot of a kernel. It is not MPI_COMM_TYPE_SHARED, because a library that was told to use the network
 * within a node denies that memory is shared; that decides only where the kernel does not tell its boot. */
void placement_complete(placement *place);

/* Call it before MPI_Finalize: frees the communicators. Functions that are not collective still work until
 * placement_destroy. */
void placement_disconnect(placement *place);
void placement_destroy(placement *place);

/* Returns the host's name. */
const char *placement_host(const placement *place);

/* Returns the number of this rank's node; nodes are numbered by their lowest ranks. */
int placement_node(const placement *place);

/* Returns a text that is equal for ranks that read one clock as far as the system tells: the same boot of the same
 * kernel and the same time namespace; where the system does not tell, the same node. For clock_create. Free with
 * free(). */
char *placement_clock_identity(const placement *place);

/*
 * Returns the number of physical cores that this rank may take for itself, at least 1: those of its cpuset, divided
 * evenly among the ranks of its node that have the identical cpuset.
 */
int placement_core_share(const placement *place);

/*
 * Collective: chooses the core that a configuration keeps free of computation, and notes the configuration. It is the
 * last core of the rank's share; where cpus is not NULL, the core of cpus[local rank] (count: the length of cpus). A
 * share of one core cannot give it up: one thread then computes on it beside the progress thread. Returns false on all
 * ranks, with the same line in error, where the CPUs or the number of threads do not fit the configuration.
 */
bool placement_dedicate(placement *place, const struct configuration *configuration, const int64_t *cpus, size_t count,
                        int threads, char *error, size_t error_size);

/* Returns how many cores of each rank's share are free of computation: 1, or 0 where the configuration gives up no core
 * or a rank has too few. */
int placement_given_up_cores(const placement *place);

/* Returns the CPU that the configuration binds the progress thread to; -1: it binds none. */
int placement_dedicated_cpu(const placement *place);

/* Binds the threads that MPI started to placement_dedicated_cpu; where that is -1, lets them run on all CPUs of the
 * rank. Returns false and one line in error where the system refuses. */
bool placement_move_threads(placement *place, char *error, size_t error_size);

/*
 * Binds thread i of the team to one CPU of the i-th core of the rank's share, without the dedicated core; binds nothing
 * where OMP_PROC_BIND is set or there are fewer cores than threads. Then reads back where every thread may run.
 */
void placement_bind(placement *place, compute_team *team, int threads);

/* Call it after the program has started threads: the threads that appeared since placement_look_again count as the
 * program's, not as MPI's. */
void placement_own_threads(placement *place);

/* Adds the application's progress thread as read back from the kernel (helper_thread). */
void placement_add_helper(placement *place, const struct topology_thread *thread);

/* Reads once more where the threads of MPI may run, and adds the threads that MPI has started since, at the end of
 * their list: a library may start threads when it needs them, and bind them later. */
void placement_look_again(placement *place);

/* Collective, after placement_look_again: checks that the progress thread and the free core that the configuration
 * promises are there. error becomes one line, the same on all ranks, that says what is missing; "" where nothing is. */
void placement_verify(const placement *place, char *error, size_t error_size);

/* What the record's header says about all ranks together. */
struct placement_summary {
    int nodes;
    int64_t physical_cores; /* in the ranks' cpusets, over all nodes */
    double ranks_per_core;  /* on the node where it is largest */
    bool oversubscribed; /* some node has fewer cores than threads, counting a progress thread that should have a core
                            of its own */
    bool shared_core;    /* the configuration's progress thread may run on a core that computes */
};

/* Collective. Returns the same on all ranks. */
struct placement_summary placement_summarise(const placement *place);

/* Collective: gathers every rank's placement_text on rank 0, an array by rank; NULL on other ranks. Free with
 * placement_free_texts. */
char **placement_gather_texts(const placement *place);
void placement_free_texts(char **texts);

/* Does the same with texts that have the number of the rank's node and the CPUs of each computing thread, with blanks
 * between them. */
char **placement_gather_computing(const placement *place);

/* Returns the number of threads that MPI started, and in *times the CPU time of each, ns, in the order of the texts.
 * Free *times with free(). Any thread may call it, also while the main thread is in placement_look_again. */
size_t placement_mpi_thread_cpu(placement *place, int64_t **times);

/* Collective: gathers arrays of different lengths on rank 0. *values has the arrays by rank, *counts their lengths;
 * both are NULL on other ranks. Free (*values)[0], *values and *counts with free(). */
void placement_gather_counts(const int64_t *own, size_t count, int64_t ***values, size_t **counts);

/* Collective: returns the available memory of the node divided by its ranks, bytes, the smallest over all nodes; 0: not
 * known. */
uint64_t placement_memory_share(const placement *place);
