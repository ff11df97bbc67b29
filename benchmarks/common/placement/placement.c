#include "placement.h"

#include "fail.h"
#include "fail_mpi.h"
#include "group.h"
#include "placement_text.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct placement {
    char host[256];
    struct topology_cpus cpus;
    struct topology_threads others; /* threads that are not MPI's: those before MPI_Init, OpenMP's, the helper */
    struct topology_threads mpi_threads; /* in the order in which they were seen; the main thread alone changes it */
    pthread_mutex_t changing;            /* mpi_threads, which another thread may look at; held for a moment, never while anything is waited for */
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
    int dedicated_cpu;             /* -1: none */
    struct topology_cpus dedicated; /* the CPUs of its core */
    bool crowded;                  /* the rank computes on that core, for want of another */
    int given_up;                  /* cores, the fewest over ranks */
    struct topology_thread helper;
    bool has_helper;
};

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

/* The threads of the process that are neither known to be MPI's nor known not to be. Free with topology_free_threads. */
static struct topology_threads unknown_threads(const placement *place) {
    struct topology_threads found;
    topology_list_threads(&found);
    topology_new_threads(&place->others, &found);
    topology_new_threads(&place->mpi_threads, &found);
    return found;
}

/* The threads of MPI as they are now, those that are new last. Made beside the old list, which another thread may be looking at. */
static void renew_mpi_threads(placement *place) {
    struct topology_threads now = {0};
    topology_add_threads(&now, &place->mpi_threads);
    for (size_t i = 0; i < now.count; i++) {
        const struct topology_thread thread = topology_thread_of(now.threads[i].id);
        if (topology_cpus_count(&thread.cpus) > 0) {
            now.threads[i] = thread; /* one that has ended stays as it was seen */
        }
    }
    struct topology_threads found = unknown_threads(place);
    topology_add_threads(&now, &found);
    topology_free_threads(&found);
    struct topology_threads before = place->mpi_threads;
    check(pthread_mutex_lock(&place->changing), "pthread_mutex_lock");
    place->mpi_threads = now;
    check(pthread_mutex_unlock(&place->changing), "pthread_mutex_unlock");
    topology_free_threads(&before);
}

void placement_complete(placement *place) {
    renew_mpi_threads(place);
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &place->rank));
    MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &place->ranks));
    find_node(place);
    number_nodes(place);
    find_twins(place);
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

/* The first CPUs of this rank's share of cores; how many. None, because there are more ranks than cores: (*cpus)[0] is one that others use too.
 * Free *cpus. */
static size_t own_share(const placement *place, int **cpus) {
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

/* The cores of the share on which this rank computes; how many. Free *cpus. */
static size_t compute_share(const placement *place, int **cpus) {
    const size_t cores = own_share(place, cpus);
    size_t kept = 0;
    for (size_t i = 0; i < cores; i++) {
        if (place->crowded || !topology_cpus_has(&place->dedicated, (*cpus)[i])) {
            (*cpus)[kept++] = (*cpus)[i];
        }
    }
    return kept;
}

static void add_all(struct topology_cpus *sum, const struct topology_cpus *cpus) {
    for (size_t i = 0; i < TOPOLOGY_WORDS; i++) {
        sum->words[i] |= cpus->words[i];
    }
}

static bool meet(const struct topology_cpus *some, const struct topology_cpus *others) {
    bool met = false;
    for (size_t i = 0; i < TOPOLOGY_WORDS; i++) {
        met = met || (some->words[i] & others->words[i]) != 0;
    }
    return met;
}

/* The union over the ranks of this node. */
static void unite(const placement *place, struct topology_cpus *cpus) {
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, cpus, TOPOLOGY_WORDS, MPI_UINT64_T, MPI_BOR, place->node_comm));
}

/* The CPU that was asked for, or the share's last; -1 and a line in error where there is none such. */
static int choose_dedicated_cpu(const placement *place, const int64_t *cpus, size_t count, char *error, size_t error_size) {
    int local = 0;
    int *share = NULL;
    const size_t cores = own_share(place, &share);
    const bool known = topology_cpus_count(&place->cpus) > 0;
    const int last = known ? share[cores > 0 ? cores - 1 : 0] : -1;
    free(share);
    MPI_CHECK(MPI_Comm_rank(place->node_comm, &local));
    if (cpus == NULL) {
        if (last < 0) {
            snprintf(error, error_size, "rank %d: the system does not say which CPUs it may use, so that none can be dedicated", place->rank);
        }
        return last;
    }
    char *legal = topology_cpus_format(&place->cpus);
    int cpu = -1;
    if ((size_t)local >= count) {
        snprintf(error, error_size, "--dedicated-cpus names %zu CPU%s, but rank %d is number %d of its node: name one for each", count,
                 count == 1 ? "" : "s", place->rank, local + 1);
    } else if (!topology_cpus_has(&place->cpus, (int)cpus[local])) {
        snprintf(error, error_size, "--dedicated-cpus: rank %d may not use CPU %lld; choose from %s", place->rank, (long long)cpus[local],
                 legal);
    } else {
        cpu = (int)cpus[local];
    }
    free(legal);
    return cpu;
}

/* Whether so many threads and the dedicated core go into the rank's share. */
static void check_share(const placement *place, int threads, char *error, size_t error_size) {
    int *cpus = NULL;
    const size_t cores = compute_share(place, &cpus);
    free(cpus);
    if (!place->crowded && (size_t)threads > cores) {
        char *legal = topology_cpus_format(&place->cpus);
        snprintf(error, error_size,
                 "rank %d: %d computing threads leave none of its CPUs %s to configuration %s; ask for at most %zu with --threads", place->rank,
                 threads, legal, place->configuration->name, cores);
        free(legal);
    }
}

/* Collective: whether a CPU that was asked for is on a core on which a rank of this node is going to compute. */
static void check_chosen(const placement *place, int threads, char *error, size_t error_size) {
    struct topology_cpus computing = {{0}};
    int *cpus = NULL;
    const size_t cores = compute_share(place, &cpus);
    for (size_t i = 0; i < cores && i < (size_t)threads; i++) {
        const struct topology_cpus core = topology_core_cpus(&place->cpus, cpus[i]);
        add_all(&computing, &core);
    }
    free(cpus);
    unite(place, &computing);
    if (error[0] == '\0' && !place->crowded && meet(&place->dedicated, &computing)) {
        struct topology_cpus left = place->cpus;
        for (size_t i = 0; i < TOPOLOGY_WORDS; i++) {
            left.words[i] &= ~computing.words[i];
        }
        char *legal = topology_cpus_format(&left);
        snprintf(error, error_size, "rank %d: CPU %d, which configuration %s keeps free of computation, is on a core that computes; %s%s",
                 place->rank, place->dedicated_cpu, place->configuration->name,
                 legal[0] != '\0' ? "name others with --dedicated-cpus: " : "none of its CPUs is free: lower --threads", legal);
        free(legal);
    }
}

bool placement_dedicate(placement *place, const struct configuration *configuration, const int64_t *cpus, size_t count, int threads,
                        char *error, size_t error_size) {
    error[0] = '\0';
    place->configuration = configuration;
    if (!configuration->gives_up_core) {
        return true;
    }
    const int cpu = choose_dedicated_cpu(place, cpus, count, error, error_size);
    int given_up = 0;
    if (cpu >= 0) {
        int *share = NULL;
        const size_t cores = own_share(place, &share);
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

bool placement_move_threads(placement *place, char *error, size_t error_size) {
    struct topology_cpus target = {{0}};
    if (place->configuration->bound) {
        topology_cpus_add(&target, place->dedicated_cpu);
    } else {
        target = place->cpus;
    }
    bool moved = true;
    for (size_t i = 0; i < place->mpi_threads.count && moved; i++) {
        const struct topology_thread *thread = &place->mpi_threads.threads[i];
        moved = topology_bind_thread(thread->id, &target) || errno == ESRCH;
        if (!moved) {
            const char *why = strerror(errno);
            char *cpus = topology_cpus_format(&target);
            snprintf(error, error_size, "rank %d: thread '%s' of the MPI library cannot be moved to CPUs %s: %s", place->rank, thread->name, cpus, why);
            free(cpus);
        }
    }
    return moved;
}

void placement_own_threads(placement *place) {
    struct topology_threads found = unknown_threads(place);
    topology_add_threads(&place->others, &found);
    topology_free_threads(&found);
}

void placement_bind(placement *place, compute_team *team, int threads) {
    int *cpus = NULL;
    size_t cores = compute_share(place, &cpus);
    if (getenv("OMP_PROC_BIND") == NULL && cores >= (size_t)threads) {
        compute_bind(team, cpus); /* a refusal shows in the cpusets that are read back */
    }
    free(cpus);
    place->threads = threads;
    place->compute_cpus = fail_alloc((size_t)threads, sizeof *place->compute_cpus);
    compute_cpusets(team, place->compute_cpus);
}

void placement_add_helper(placement *place, const struct topology_thread *thread) {
    place->helper = *thread;
    place->has_helper = true;
    const struct topology_threads one = {.threads = &place->helper, .count = 1};
    topology_add_threads(&place->others, &one);
}

void placement_look_again(placement *place) {
    renew_mpi_threads(place);
}

/* The cores on which this rank's threads may compute. */
static struct topology_cpus computing_cores(const placement *place) {
    struct topology_cpus sum = {{0}};
    for (int i = 0; i < place->threads; i++) {
        struct topology_cpus cores;
        topology_cores(&place->compute_cpus[i], &cores);
        add_all(&sum, &cores);
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

/* The CPUs on which the configuration's progress thread may run. Which of the library's threads that is only its place can tell: without a
 * place of its own it may be any. */
static struct topology_cpus progress_cpus(const placement *place) {
    struct topology_cpus sum = {{0}};
    if (place->configuration->source == PROGRESS_APPLICATION && place->has_helper) {
        sum = place->helper.cpus;
    } else if (place->configuration->source == PROGRESS_LIBRARY) {
        const bool placed = place->configuration->bound && threads_in_place(place) > 0;
        for (size_t i = 0; i < place->mpi_threads.count; i++) {
            if (!placed || in_place(place, &place->mpi_threads.threads[i])) {
                add_all(&sum, &place->mpi_threads.threads[i].cpus);
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
    unite(place, &computing);
    topology_cores(&place->dedicated, &dedicated);
    char *cpus = topology_cpus_format(&place->dedicated);
    if (c->source == PROGRESS_LIBRARY && place->mpi_threads.count == 0) {
        snprintf(error, error_size, "rank %d: the MPI library started no thread, so that there is none for configuration %s", place->rank, c->name);
    } else if (c->gives_up_core && !place->crowded && meet(&computing, &dedicated)) {
        snprintf(error, error_size, "rank %d: a computing thread may run on CPUs %s, which configuration %s keeps free of computation%s",
                 place->rank, cpus, c->name,
                 getenv("OMP_PROC_BIND") != NULL ? ": unset OMP_PROC_BIND, so that the program binds its threads" : "");
    } else if (c->bound && c->source == PROGRESS_LIBRARY && threads_in_place(place) == 0) {
        snprintf(error, error_size,
                 "rank %d: the MPI library started %zu thread%s, none bound to the dedicated core (CPUs %s) as configuration %s needs it: bind the "
                 "library's progress thread with its own variable, or with --move-progress-threads",
                 place->rank, place->mpi_threads.count, place->mpi_threads.count == 1 ? "" : "s", cpus, c->name);
    } else if (c->bound && c->source == PROGRESS_APPLICATION && !(place->has_helper && in_place(place, &place->helper))) {
        snprintf(error, error_size, "rank %d: the helper thread is not bound to the dedicated core (CPUs %s)", place->rank, cpus);
    }
    free(cpus);
    group_share_error(error, error_size);
}

struct placement_summary placement_summarise(const placement *place) {
    const struct configuration *c = place->configuration;
    const int progress_threads = c->gives_up_core && c->source != PROGRESS_NONE ? 1 : 0; /* that were to have a core of their own */
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
    unite(place, &allowed);
    unite(place, &computing);
    unite(place, &helping);
    int flags[2] = {(int64_t)node_ranks * (place->threads + progress_threads) > (int64_t)topology_cpus_count(&allowed),
                    meet(&computing, &helping)};
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

static char *own_text(const placement *place) {
    struct topology_cpus cores;
    topology_cores(&place->cpus, &cores);
    char **compute = fail_alloc((size_t)place->threads, sizeof *compute);
    for (int i = 0; i < place->threads; i++) {
        compute[i] = topology_cpus_format(&place->compute_cpus[i]);
    }
    size_t count = place->mpi_threads.count;
    char **cpusets = fail_alloc(count, sizeof *cpusets);
    struct placement_thread *threads = fail_alloc(count, sizeof *threads);
    for (size_t i = 0; i < count; i++) {
        cpusets[i] = topology_cpus_format(&place->mpi_threads.threads[i].cpus);
        threads[i] = (struct placement_thread){place->mpi_threads.threads[i].name, cpusets[i]};
    }
    char *cpuset = topology_cpus_format(&place->cpus);
    char *dedicated = place->configuration->bound ? topology_cpus_format(&place->dedicated) : fail_strdup("");
    char *helper_cpuset = topology_cpus_format(&place->helper.cpus);
    const struct placement_thread helper = {place->helper.name, helper_cpuset};
    const struct placement_rank record = {.rank = place->rank,
                                            .host = place->host,
                                            .node = place->node_index,
                                            .cpuset = cpuset,
                                            .physical_cores = topology_cpus_count(&cores),
                                            .compute_cpusets = compute,
                                            .compute_count = (size_t)place->threads,
                                            .mpi_threads = threads,
                                            .mpi_thread_count = count,
                                            .helper_threads = &helper,
                                            .helper_thread_count = place->has_helper,
                                            .dedicated_cpuset = dedicated};
    char *text = placement_text(&record);
    free(helper_cpuset);
    free(dedicated);
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

char **placement_gather_texts(const placement *place) {
    char *own = own_text(place);
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

size_t placement_mpi_thread_cpu(placement *place, int64_t **times) {
    struct topology_threads threads = {0};
    check(pthread_mutex_lock(&place->changing), "pthread_mutex_lock");
    topology_add_threads(&threads, &place->mpi_threads);
    check(pthread_mutex_unlock(&place->changing), "pthread_mutex_unlock");
    const size_t count = threads.count;
    *times = fail_alloc(count, sizeof **times);
    for (size_t i = 0; i < count; i++) {
        (*times)[i] = topology_thread_cpu_ns(threads.threads[i].id);
    }
    topology_free_threads(&threads);
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
    const uint64_t available = topology_available_memory();
    uint64_t share = available / (uint64_t)node_ranks;
    if (available > 0 && share == 0) {
        share = 1; /* next to nothing is not the same as not known */
    }
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &share, 1, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD));
    return share;
}
