#include "placement_internal.h"

#include "fail.h"
#include "fail_mpi.h"
#include "group.h"

#include <stdio.h>
#include <stdlib.h>

/* Returns the CPU that was asked for, or the last of the share; -1 and one line in error where there is no such CPU. */
static int choose_dedicated_cpu(const placement *place, const int64_t *cpus, size_t count, char *error,
                                size_t error_size) {
    int local = 0;
    int *share = NULL;
    const size_t cores = placement_own_share(place, &share);
    const bool known = topology_cpus_count(&place->cpus) > 0;
    const int last = known ? share[cores > 0 ? cores - 1 : 0] : -1;
    free(share);
    MPI_CHECK(MPI_Comm_rank(place->node_comm, &local));
    if (cpus == NULL) {
        if (last < 0) {
            snprintf(error, error_size,
                     "rank %d: the system does not say which CPUs it may use, so that none can be dedicated",
                     place->rank);
        }
        return last;
    }
    char *legal = topology_cpus_format(&place->cpus);
    int cpu = -1;
    if ((size_t)local >= count) {
        snprintf(error, error_size,
                 "--dedicated-cpus names %zu CPU%s, but rank %d is number %d of its node: name one for each", count,
                 count == 1 ? "" : "s", place->rank, local + 1);
    } else if (!topology_cpus_has(&place->cpus, (int)cpus[local])) {
        snprintf(error, error_size, "--dedicated-cpus: rank %d may not use CPU %lld; choose from %s", place->rank,
                 (long long)cpus[local], legal);
    } else {
        cpu = (int)cpus[local];
    }
    free(legal);
    return cpu;
}

/* Checks that so many threads and the dedicated core fit into the rank's share. One line in error where they do not. */
static void check_share(const placement *place, int threads, char *error, size_t error_size) {
    int *cpus = NULL;
    const size_t cores = placement_compute_share(place, &cpus);
    free(cpus);
    if (!place->crowded && (size_t)threads > cores) {
        char *legal = topology_cpus_format(&place->cpus);
        snprintf(error, error_size,
                 "rank %d: %d computing threads leave none of its CPUs %s to configuration %s; ask for at most %zu "
                 "with --threads",
                 place->rank, threads, legal, place->configuration->name, cores);
        free(legal);
    }
}

/* Collective: checks that the dedicated CPU is not on a core on which a rank of this node computes. One line in error
 * where it is. */
static void check_chosen(const placement *place, int threads, char *error, size_t error_size) {
    struct topology_cpus computing = {{0}};
    int *cpus = NULL;
    const size_t cores = placement_compute_share(place, &cpus);
    for (size_t i = 0; i < cores && i < (size_t)threads; i++) {
        const struct topology_cpus core = topology_core_cpus(&place->cpus, cpus[i]);
        topology_cpus_unite(&computing, &core);
    }
    free(cpus);
    placement_unite(place, &computing);
    if (error[0] == '\0' && !place->crowded && topology_cpus_meet(&place->dedicated, &computing)) {
        struct topology_cpus left = place->cpus;
        for (size_t i = 0; i < TOPOLOGY_WORDS; i++) {
            left.words[i] &= ~computing.words[i];
        }
        char *legal = topology_cpus_format(&left);
        snprintf(error, error_size,
                 "rank %d: CPU %d, which configuration %s keeps free of computation, is on a core that computes; %s%s",
                 place->rank, place->dedicated_cpu, place->configuration->name,
                 legal[0] != '\0' ? "name others with --dedicated-cpus: " : "none of its CPUs is free: lower --threads",
                 legal);
        free(legal);
    }
}

bool placement_dedicate(placement *place, const struct configuration *configuration, const int64_t *cpus, size_t count,
                        int threads, char *error, size_t error_size) {
    error[0] = '\0';
    place->configuration = configuration;
    if (!configuration->gives_up_core) {
        return true;
    }
    const int cpu = choose_dedicated_cpu(place, cpus, count, error, error_size);
    int given_up = 0;
    if (cpu >= 0) {
        int *share = NULL;
        const size_t cores = placement_own_share(place, &share);
        place->dedicated = topology_core_cpus(&place->cpus, cpu);
        place->dedicated_cpu = cpu;
        place->crowded = cores == 0 || (cores == 1 && topology_cpus_has(&place->dedicated, share[0]));
        given_up = cores > (size_t)threads;
        free(share);
        check_share(place, threads, error, error_size);
    }
    check_chosen(place, threads, error, error_size);
    MPI_CHECK(MPI_Allreduce(&given_up, &place->given_up, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    return group_share_error(error, error_size);
}

int placement_given_up_cores(const placement *place) {
    return place->given_up;
}

int placement_dedicated_cpu(const placement *place) {
    return place->configuration->bound ? place->dedicated_cpu : -1;
}
