#include "placement_internal.h"

#include "fail.h"
#include "fail_mpi.h"
#include "group.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The cores on which this rank's threads may compute. */
static struct topology_cpus computing_cores(const placement *place) {
    struct topology_cpus sum = {{0}};
    for (int i = 0; i < place->threads; i++) {
        struct topology_cpus cores;
        topology_cores(&place->compute_cpus[i], &cores);
        topology_cpus_unite(&sum, &cores);
    }
    return sum;
}

/* Whether a thread is where the configuration wants the progress thread. */
static bool in_place(const placement *place, const struct topology_thread *thread) {
    return topology_cpus_count(&thread->cpus) > 0 && topology_cpus_within(&thread->cpus, &place->dedicated);
}

static size_t threads_in_place(const placement *place) {
    size_t count = 0;
    for (size_t i = 0; i < place->mpi_threads.count; i++) {
        count += in_place(place, &place->mpi_threads.threads[i]);
    }
    return count;
}

/* The CPUs on which the configuration's progress thread may run. Which of the library's threads makes progress shows
 * only in the CPUs that it is bound to; where the configuration binds none, it may be any of them. */
static struct topology_cpus progress_cpus(const placement *place) {
    struct topology_cpus sum = {{0}};
    if (place->configuration->source == PROGRESS_APPLICATION && place->has_helper) {
        sum = place->helper.cpus;
    } else if (place->configuration->source == PROGRESS_LIBRARY) {
        const bool placed = place->configuration->bound && threads_in_place(place) > 0;
        for (size_t i = 0; i < place->mpi_threads.count; i++) {
            if (!placed || in_place(place, &place->mpi_threads.threads[i])) {
                topology_cpus_unite(&sum, &place->mpi_threads.threads[i].cpus);
            }
        }
    }
    return sum;
}

void placement_verify(const placement *place, char *error, size_t error_size) {
    const struct configuration *c = place->configuration;
    struct topology_cpus computing = computing_cores(place);
    struct topology_cpus dedicated = {{0}};
    error[0] = '\0';
    placement_unite(place, &computing);
    topology_cores(&place->dedicated, &dedicated);
    char *cpus = topology_cpus_format(&place->dedicated);
    if (c->source == PROGRESS_LIBRARY && place->mpi_threads.count == 0) {
        snprintf(error, error_size,
                 "rank %d: the MPI library started no thread, so that there is none for configuration %s", place->rank,
                 c->name);
    } else if (c->gives_up_core && !place->crowded && topology_cpus_meet(&computing, &dedicated)) {
        snprintf(error, error_size,
                 "rank %d: a computing thread may run on CPUs %s, which configuration %s keeps free of computation%s",
                 place->rank, cpus, c->name,
                 getenv("OMP_PROC_BIND") != NULL ? ": unset OMP_PROC_BIND, so that the program binds its threads" : "");
    } else if (c->bound && c->source == PROGRESS_LIBRARY && threads_in_place(place) == 0) {
        snprintf(error, error_size,
                 "rank %d: the MPI library started %zu thread%s, none bound to the dedicated core (CPUs %s) as "
                 "configuration %s needs it: bind the library's progress thread with its own variable, or with "
                 "--move-progress-threads",
                 place->rank, place->mpi_threads.count, place->mpi_threads.count == 1 ? "" : "s", cpus, c->name);
    } else if (c->bound && c->source == PROGRESS_APPLICATION &&
               !(place->has_helper && in_place(place, &place->helper))) {
        snprintf(error, error_size, "rank %d: the helper thread is not bound to the dedicated core (CPUs %s)",
                 place->rank, cpus);
    }
    free(cpus);
    group_share_error(error, error_size);
}

struct placement_summary placement_summarise(const placement *place) {
    const struct configuration *c = place->configuration;
    const int progress_threads =
        c->gives_up_core && c->source != PROGRESS_NONE ? 1 : 0; /* that were to have a core of their own */
    int node_ranks = 0;
    int node_rank = 0;
    MPI_CHECK(MPI_Comm_size(place->node_comm, &node_ranks));
    MPI_CHECK(MPI_Comm_rank(place->node_comm, &node_rank));
    struct topology_cpus allowed; /* cores of the ranks' cpusets */
    struct topology_cpus computing = computing_cores(place);
    const struct topology_cpus progress = progress_cpus(place);
    struct topology_cpus helping;
    topology_cores(&place->cpus, &allowed);
    topology_cores(&progress, &helping);
    placement_unite(place, &allowed);
    placement_unite(place, &computing);
    placement_unite(place, &helping);
    int flags[2] = {(int64_t)node_ranks * (place->threads + progress_threads) > (int64_t)topology_cpus_count(&allowed),
                    topology_cpus_meet(&computing, &helping)};
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, flags, 2, MPI_INT, MPI_LOR, MPI_COMM_WORLD));
    double ranks_per_core = (double)node_ranks / fmax((double)topology_cpus_count(&allowed), 1);
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &ranks_per_core, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
    int64_t physical = node_rank == 0 ? (int64_t)topology_cpus_count(&allowed) : 0;
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &physical, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
    return (struct placement_summary){.nodes = place->node_count,
                                      .physical_cores = physical,
                                      .ranks_per_core = ranks_per_core,
                                      .oversubscribed = flags[0] != 0,
                                      .shared_core = flags[1] != 0};
}
