#include "placement_internal.h"

#include "fail.h"
#include "fail_mpi.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void check(int code, const char *call) {
    if (code != 0) {
        fail_die("%s failed: %s", call, strerror(code));
    }
}

placement *placement_create(void) {
    placement *place = fail_alloc(1, sizeof *place);
    if (gethostname(place->host, sizeof place->host - 1) != 0) {
        strcpy(place->host, "unknown");
    }
    topology_own_cpus(&place->cpus);
    topology_list_threads(&place->others);
    check(pthread_mutex_init(&place->changing, NULL), "pthread_mutex_init");
    place->node_comm = MPI_COMM_NULL;
    place->configuration = &configuration_table[CONFIGURATION_BASIC];
    place->dedicated_cpu = -1;
    return place;
}

void placement_complete(placement *place) {
    placement_look_again(place);
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &place->rank));
    MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &place->ranks));
    placement_find_nodes(place);
}

void placement_disconnect(placement *place) {
    if (place->node_comm != MPI_COMM_NULL) {
        MPI_CHECK(MPI_Comm_free(&place->node_comm));
    }
}

void placement_destroy(placement *place) {
    if (place != NULL) {
        topology_free_threads(&place->others);
        topology_free_threads(&place->mpi_threads);
        free(place->compute_cpus);
        pthread_mutex_destroy(&place->changing);
        free(place);
    }
}

const char *placement_host(const placement *place) {
    return place->host;
}

int placement_node(const placement *place) {
    return place->node_index;
}

size_t placement_own_share(const placement *place, int **cpus) {
    size_t count = topology_first_cpus(&place->cpus, NULL, 0);
    int *all = fail_alloc(count, sizeof *all);
    topology_first_cpus(&place->cpus, all, count);
    size_t begin = count * (size_t)place->twin_rank / (size_t)place->twins;
    size_t end = count * ((size_t)place->twin_rank + 1) / (size_t)place->twins;
    memmove(all, all + begin, (count - begin) * sizeof *all);
    *cpus = all;
    return end - begin;
}

int placement_core_share(const placement *place) {
    size_t cores = topology_first_cpus(&place->cpus, NULL, 0) / (size_t)place->twins;
    return cores > 0 ? (int)cores : 1;
}

size_t placement_compute_share(const placement *place, int **cpus) {
    const size_t cores = placement_own_share(place, cpus);
    size_t kept = 0;
    for (size_t i = 0; i < cores; i++) {
        if (place->crowded || !topology_cpus_has(&place->dedicated, (*cpus)[i])) {
            (*cpus)[kept++] = (*cpus)[i];
        }
    }
    return kept;
}

void placement_bind(placement *place, compute_team *team, int threads) {
    int *cpus = NULL;
    size_t cores = placement_compute_share(place, &cpus);
    if (getenv("OMP_PROC_BIND") == NULL && cores >= (size_t)threads) {
        compute_bind(team, cpus); /* a refusal shows in the cpusets that are read back */
    }
    free(cpus);
    place->threads = threads;
    place->compute_cpus = fail_alloc((size_t)threads, sizeof *place->compute_cpus);
    compute_cpusets(team, place->compute_cpus);
}
