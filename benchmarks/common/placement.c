#include "placement.h"

#include "fail.h"
#include "fail_mpi.h"
#include "group.h"
#include "record.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct placement {
    char host[256];
    struct topology_cpus cpus;
    struct topology_threads before; /* threads before MPI_Init */
    struct topology_threads mpi_threads;
    MPI_Comm node_comm;
    int rank;
    int ranks;
    int node_index;
    int node_count;
    int twin_rank; /* among the node's ranks of identical cpuset */
    int twins;
    int threads;
    struct topology_cpus *compute_cpus;
};

placement *placement_create(void) {
    placement *place = fail_alloc(1, sizeof *place);
    if (gethostname(place->host, sizeof place->host - 1) != 0) {
        strcpy(place->host, "unknown");
    }
    topology_own_cpus(&place->cpus);
    topology_list_threads(&place->before);
    place->node_comm = MPI_COMM_NULL;
    return place;
}

/* Nodes in the order of their lowest rank, so that node 0 is rank 0's. */
static void number_nodes(placement *place) {
    int leader = 0;
    MPI_CHECK(MPI_Comm_rank(place->node_comm, &leader));
    int first = leader == 0;
    int before = 0;
    MPI_CHECK(MPI_Exscan(&first, &before, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    place->node_index = place->rank == 0 ? 0 : before;
    MPI_CHECK(MPI_Bcast(&place->node_index, 1, MPI_INT, 0, place->node_comm));
    MPI_CHECK(MPI_Allreduce(&first, &place->node_count, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
}

/* The ranks of this node; what MPI says of shared memory where the kernel does not tell its boot. */
static void find_node(placement *place) {
    char boot[64];
    char text[GROUP_MOST_TEXT];
    int leader = place->rank;
    MPI_Comm shared = MPI_COMM_NULL;
    MPI_CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, place->rank, MPI_INFO_NULL, &shared));
    MPI_CHECK(MPI_Comm_set_errhandler(shared, MPI_ERRORS_RETURN));
    MPI_CHECK(MPI_Bcast(&leader, 1, MPI_INT, 0, shared));
    MPI_CHECK(MPI_Comm_free(&shared));
    if (topology_boot_id(boot, sizeof boot)) {
        snprintf(text, sizeof text, "boot %s of %s", boot, place->host);
    } else {
        snprintf(text, sizeof text, "memory of rank %d on %s", leader, place->host);
    }
    group_split(MPI_COMM_WORLD, text, &place->node_comm);
}

static void find_twins(placement *place) {
    int size = 0;
    int own = 0;
    MPI_CHECK(MPI_Comm_size(place->node_comm, &size));
    MPI_CHECK(MPI_Comm_rank(place->node_comm, &own));
    struct topology_cpus *all = fail_alloc((size_t)size, sizeof *all);
    MPI_CHECK(MPI_Allgather(&place->cpus, TOPOLOGY_WORDS, MPI_UINT64_T, all, TOPOLOGY_WORDS, MPI_UINT64_T, place->node_comm));
    for (int i = 0; i < size; i++) {
        if (memcmp(&all[i], &place->cpus, sizeof *all) == 0) {
            place->twins++;
            place->twin_rank += i < own;
        }
    }
    free(all);
}

void placement_complete(placement *place) {
    topology_list_threads(&place->mpi_threads);
    topology_new_threads(&place->before, &place->mpi_threads);
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &place->rank));
    MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &place->ranks));
    find_node(place);
    number_nodes(place);
    find_twins(place);
}

void placement_destroy(placement *place) {
    if (place != NULL) {
        if (place->node_comm != MPI_COMM_NULL) {
            MPI_CHECK(MPI_Comm_free(&place->node_comm));
        }
        topology_free_threads(&place->before);
        topology_free_threads(&place->mpi_threads);
        free(place->compute_cpus);
        free(place);
    }
}

const char *placement_host(const placement *place) {
    return place->host;
}

char *placement_clock_identity(const placement *place) {
    char id[128];
    char text[GROUP_MOST_TEXT];
    if (topology_clock_id(id, sizeof id)) {
        snprintf(text, sizeof text, "clock %s", id);
    } else {
        snprintf(text, sizeof text, "node %d", place->node_index);
    }
    return fail_strdup(text);
}

/* The first CPUs of this rank's share of cores; how many. Free *cpus. */
static size_t own_share(const placement *place, int **cpus) {
    size_t count = topology_first_cpus(&place->cpus, NULL, 0);
    int *all = fail_alloc(count, sizeof *all);
    topology_first_cpus(&place->cpus, all, count);
    size_t begin = count * (size_t)place->twin_rank / (size_t)place->twins;
    size_t end = count * ((size_t)place->twin_rank + 1) / (size_t)place->twins;
    memmove(all, all + begin, (end - begin) * sizeof *all);
    *cpus = all;
    return end - begin;
}

int placement_core_share(const placement *place) {
    size_t cores = topology_first_cpus(&place->cpus, NULL, 0) / (size_t)place->twins;
    return cores > 0 ? (int)cores : 1;
}

void placement_bind(placement *place, compute_team *team, int threads) {
    int *cpus = NULL;
    size_t cores = own_share(place, &cpus);
    if (getenv("OMP_PROC_BIND") == NULL && cores >= (size_t)threads) {
        compute_bind(team, cpus); /* a refusal shows in the cpusets that are read back */
    }
    free(cpus);
    place->threads = threads;
    place->compute_cpus = fail_alloc((size_t)threads, sizeof *place->compute_cpus);
    compute_cpusets(team, place->compute_cpus);
}

static void add_all(struct topology_cpus *sum, const struct topology_cpus *cpus) {
    for (size_t i = 0; i < TOPOLOGY_WORDS; i++) {
        sum->words[i] |= cpus->words[i];
    }
}

/* The union over the ranks of this node. */
static void unite(const placement *place, struct topology_cpus *cpus) {
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, cpus, TOPOLOGY_WORDS, MPI_UINT64_T, MPI_BOR, place->node_comm));
}

struct placement_summary placement_summarise(const placement *place, bool asks_for_progress, int dedicated_threads) {
    int node_ranks = 0;
    int node_rank = 0;
    MPI_CHECK(MPI_Comm_size(place->node_comm, &node_ranks));
    MPI_CHECK(MPI_Comm_rank(place->node_comm, &node_rank));
    struct topology_cpus allowed;  /* cores of the ranks' cpusets */
    struct topology_cpus usable;   /* with those of the dedicated threads */
    struct topology_cpus computing = {{0}};
    struct topology_cpus helping = {{0}};
    struct topology_cpus cores;
    topology_cores(&place->cpus, &allowed);
    for (int i = 0; i < place->threads; i++) {
        topology_cores(&place->compute_cpus[i], &cores);
        add_all(&computing, &cores);
    }
    for (size_t i = 0; i < place->mpi_threads.count; i++) {
        topology_cores(&place->mpi_threads.threads[i].cpus, &cores);
        add_all(&helping, &cores);
    }
    usable = allowed;
    if (dedicated_threads > 0) {
        add_all(&usable, &helping);
    }
    unite(place, &allowed);
    unite(place, &usable);
    unite(place, &computing);
    unite(place, &helping);
    int shared = 0;
    for (size_t i = 0; i < TOPOLOGY_WORDS; i++) {
        shared = shared || (computing.words[i] & helping.words[i]) != 0;
    }
    int flags[2] = {(int64_t)node_ranks * (place->threads + dedicated_threads) > (int64_t)topology_cpus_count(&usable),
                    asks_for_progress && shared};
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

static char *own_text(const placement *place, bool progress) {
    struct topology_cpus cores;
    topology_cores(&place->cpus, &cores);
    char **compute = fail_alloc((size_t)place->threads, sizeof *compute);
    for (int i = 0; i < place->threads; i++) {
        compute[i] = topology_cpus_format(&place->compute_cpus[i]);
    }
    size_t count = place->mpi_threads.count;
    char **cpusets = fail_alloc(count, sizeof *cpusets);
    struct record_thread *threads = fail_alloc(count, sizeof *threads);
    for (size_t i = 0; i < count; i++) {
        cpusets[i] = topology_cpus_format(&place->mpi_threads.threads[i].cpus);
        threads[i] = (struct record_thread){place->mpi_threads.threads[i].name, cpusets[i]};
    }
    char *cpuset = topology_cpus_format(&place->cpus);
    const struct record_placement record = {.rank = place->rank,
                                            .host = place->host,
                                            .node = place->node_index,
                                            .cpuset = cpuset,
                                            .physical_cores = topology_cpus_count(&cores),
                                            .compute_cpusets = compute,
                                            .compute_count = (size_t)place->threads,
                                            .mpi_threads = threads,
                                            .mpi_thread_count = count,
                                            .dedicated_cpuset = progress ? "" : NULL};
    char *text = record_placement_text(&record);
    free(cpuset);
    free(threads);
    for (size_t i = 0; i < count; i++) {
        free(cpusets[i]);
    }
    free(cpusets);
    for (int i = 0; i < place->threads; i++) {
        free(compute[i]);
    }
    free(compute);
    return text;
}

/* Gathers blocks of different lengths on rank 0: one buffer and the offsets in it, ranks + 1 of them; NULL elsewhere. */
static void *gather_blocks(const void *own, int count, MPI_Datatype type, size_t size, int **offsets) {
    int rank = 0;
    int ranks = 0;
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    int *counts = rank == 0 ? fail_alloc((size_t)ranks, sizeof *counts) : NULL;
    MPI_CHECK(MPI_Gather(&count, 1, MPI_INT, counts, 1, MPI_INT, 0, MPI_COMM_WORLD));
    void *all = NULL;
    *offsets = NULL;
    if (rank == 0) {
        *offsets = fail_alloc((size_t)ranks + 1, sizeof **offsets);
        for (int i = 0; i < ranks; i++) {
            if (counts[i] > INT_MAX - (*offsets)[i]) {
                fail_die("the placement of %d ranks is too long for one gather", ranks);
            }
            (*offsets)[i + 1] = (*offsets)[i] + counts[i];
        }
        all = fail_alloc((size_t)(*offsets)[ranks], size);
    }
    MPI_CHECK(MPI_Gatherv(own, count, type, all, counts, *offsets, type, 0, MPI_COMM_WORLD));
    free(counts);
    return all;
}

char **placement_gather_texts(const placement *place, bool progress) {
    char *own = own_text(place, progress);
    int *offsets = NULL;
    char *all = gather_blocks(own, (int)strlen(own) + 1, MPI_CHAR, 1, &offsets);
    free(own);
    char **texts = NULL;
    if (all != NULL) {
        texts = fail_alloc((size_t)place->ranks + 1, sizeof *texts);
        for (int i = 0; i < place->ranks; i++) {
            texts[i] = all + offsets[i];
        }
    }
    free(offsets);
    return texts;
}

void placement_free_texts(char **texts) {
    if (texts != NULL) {
        free(texts[0]);
        free(texts);
    }
}

size_t placement_mpi_thread_cpu(const placement *place, int64_t **times) {
    size_t count = place->mpi_threads.count;
    *times = fail_alloc(count, sizeof **times);
    for (size_t i = 0; i < count; i++) {
        (*times)[i] = topology_thread_cpu_ns(place->mpi_threads.threads[i].id);
    }
    return count;
}

void placement_gather_counts(const int64_t *own, size_t count, int64_t ***values, size_t **counts) {
    int ranks = 0;
    int *offsets = NULL;
    MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    int64_t *all = gather_blocks(own, (int)count, MPI_INT64_T, sizeof *own, &offsets);
    *values = NULL;
    *counts = NULL;
    if (all != NULL) {
        *values = fail_alloc((size_t)ranks, sizeof **values);
        *counts = fail_alloc((size_t)ranks, sizeof **counts);
        for (int i = 0; i < ranks; i++) {
            (*values)[i] = all + offsets[i];
            (*counts)[i] = (size_t)(offsets[i + 1] - offsets[i]);
        }
    }
    free(offsets);
}

uint64_t placement_memory_share(const placement *place) {
    int node_ranks = 0;
    MPI_CHECK(MPI_Comm_size(place->node_comm, &node_ranks));
    uint64_t share = topology_available_memory() / (uint64_t)node_ranks;
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &share, 1, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD));
    return share;
}
