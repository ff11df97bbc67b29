/*
 * placement - where ranks and their threads run: which of them share a node, what each may use, and which threads MPI
 * started.
 */
#ifndef CAMPAIGN_PLACEMENT_H
#define CAMPAIGN_PLACEMENT_H

#include "compute.h"
#include "configuration.h"
#include "topology.h"

#include <mpi.h>
#include <stdbool.h>

typedef struct placement placement;

/* Before MPI_Init: the cpuset and the threads that main starts with. */
placement *placement_create(void);

/* After MPI_Init (collective): threads that MPI started, nodes, the rank's share of cores. A node is a host name and a
 * boot of a kernel, not MPI_COMM_TYPE_SHARED: a library that was told to use the network within a node denies that
 * memory is shared. */
void placement_complete(placement *place);

/* Before MPI_Finalize; what needs no communication goes on working until placement_destroy. */
void placement_disconnect(placement *place);
void placement_destroy(placement *place);

const char *placement_host(const placement *place);

/* Equal for ranks that read one clock, as far as the system tells: one boot of one kernel and one time namespace; where
 * it does not tell, one node. For clock_create. Free with free(). */
char *placement_clock_identity(const placement *place);

/*
 * Physical cores that this rank may take for itself: those of its cpuset, divided evenly among the ranks of its node
 * that have the identical cpuset. At least 1.
 */
int placement_core_share(const placement *place);

/*
 * Chooses the core that a configuration keeps free of computation: the last of the rank's share, or that of cpus[local
 * rank] where cpus is not NULL (count: how many there are). A share of one core cannot give it up: then one thread
 * computes on it beside the progress thread. Collective. false on all ranks, with the same line in error, where CPUs or
 * threads do not go with that.
 */
bool placement_dedicate(placement *place, const struct configuration *configuration, const int64_t *cpus, size_t count,
                        int threads, char *error, size_t error_size);

/* Cores of each rank's share that computation leaves free: 1, or 0 where the configuration asks for none or a rank has
 * one core only. */
int placement_given_up_cores(const placement *place);

/* The CPU of the progress thread; -1: the configuration has none of its own. */
int placement_dedicated_cpu(const placement *place);

/* Binds the threads that MPI started to that CPU; without one of its own, lets them run on all of the rank's. false and
 * one line in error where the system refuses. */
bool placement_move_threads(placement *place, char *error, size_t error_size);

/*
 * Binds thread i of the team to the i-th core of the rank's share (to one CPU of it), the dedicated core left out,
 * unless OMP_PROC_BIND is set or there are fewer cores than threads; then reads back where every thread may run.
 */
void placement_bind(placement *place, compute_team *team, int threads);

/* The program has just started threads: what appeared since placement_look_again is its own, not MPI's. */
void placement_own_threads(placement *place);

/* The application's progress thread, read back. */
void placement_add_helper(placement *place, const struct topology_thread *thread);

/* Reads once more where the threads of MPI may run, and finds those that it has started since: a library may start its
 * own when it needs them, and binds them when they have started. New ones come last. */
void placement_look_again(placement *place);

/* Collective: what the configuration promised and is not there, in one line, the same on all ranks; "" where all is
 * there. After placement_look_again. */
void placement_verify(const placement *place, char *error, size_t error_size);

/* What the header says of all ranks together. Collective; the result is the same on all ranks. */
struct placement_summary {
    int nodes;
    int64_t physical_cores; /* over all nodes, of the ranks' cpusets */
    double ranks_per_core;  /* on the node where they are most */
    bool oversubscribed;    /* a progress thread that was to have a core of its own included */
    bool shared_core;       /* the configuration's progress thread may run on a core that computes */
};

struct placement_summary placement_summarise(const placement *place);

/* Every rank's placement_text on rank 0 (NULL elsewhere). Collective. Free with placement_free_texts. */
char **placement_gather_texts(const placement *place);
void placement_free_texts(char **texts);

/* CPU time of the threads that MPI started, ns, in the order of the texts. Returns their number. Free *times with
 * free(). Any thread may ask, also while the main thread looks again. */
size_t placement_mpi_thread_cpu(placement *place, int64_t **times);

/* Gathers arrays of different lengths on rank 0: values by rank, counts by rank; NULL elsewhere. One free() each for
 * (*values)[0], *values and *counts. */
void placement_gather_counts(const int64_t *own, size_t count, int64_t ***values, size_t **counts);

/* Available memory of the node divided by its ranks, the smallest over all ranks; 0: not known. Collective. */
uint64_t placement_memory_share(const placement *place);

#endif
