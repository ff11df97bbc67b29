#include "crew.h"

#include "fail.h"
#include "fail_hybrid.h"
#include "fail_mpi.h"

#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct crew_node {
    struct crew_times times; /* of the leader; written before it wakes the others */
    sem_t done[];            /* [node_ranks] */
};

/* Allocates the node's memory; the leader makes the semaphores. */
static void make_home(struct crew *crew) {
    const MPI_Aint bytes = (MPI_Aint)(sizeof *crew->home + (size_t)crew->info.node_ranks * sizeof *crew->home->done);
    MPI_Aint leader_bytes = 0;
    int unit = 0;
    void *own = NULL;
    MPI_CHECK(MPI_Win_allocate_shared(crew->info.node_rank == 0 ? bytes : 0, 1, MPI_INFO_NULL, crew->node, &own,
                                      &crew->window));
    MPI_CHECK(MPI_Win_shared_query(crew->window, 0, &leader_bytes, &unit, (void *)&crew->home));
    for (int i = 0; i < crew->info.node_ranks && crew->info.node_rank == 0; i++) {
        if (sem_init(&crew->home->done[i], 1, 0) != 0) {
            fail_die("sem_init: %s", strerror(errno));
        }
    }
    MPI_CHECK(MPI_Barrier(crew->node));
}

bool crew_create(struct crew *crew, const struct hybrid_settings *settings, char *error, size_t error_size) {
    *crew = (struct crew){0};
    if (hybrid_comm_create(MPI_COMM_WORLD, settings, &crew->hybrid) != MPI_SUCCESS) {
        hybrid_last_error(error, error_size);
        return false;
    }
    HYBRID_CHECK(hybrid_comm_info(crew->hybrid, &crew->info));
    HYBRID_CHECK(hybrid_comm_node(crew->hybrid, &crew->node));
    HYBRID_CHECK(hybrid_comm_bridge(crew->hybrid, &crew->leaders));
    make_home(crew);
    crew->cpus = fail_alloc((size_t)crew->info.node_ranks, sizeof(cpu_set_t));
    return true;
}

void crew_look(struct crew *crew) {
    cpu_set_t own;
    CPU_ZERO(&own);
    if (sched_getaffinity(0, sizeof own, &own) != 0) {
        fail_die("sched_getaffinity: %s", strerror(errno));
    }
    MPI_CHECK(MPI_Allgather(&own, (int)sizeof own, MPI_BYTE, crew->cpus, (int)sizeof own, MPI_BYTE, crew->node));
}

void crew_free(struct crew *crew) {
    if (crew->hybrid == NULL) {
        return;
    }
    MPI_CHECK(MPI_Barrier(crew->node));
    for (int i = 0; i < crew->info.node_ranks && crew->info.node_rank == 0; i++) {
        sem_destroy(&crew->home->done[i]);
    }
    MPI_CHECK(MPI_Win_free(&crew->window));
    HYBRID_CHECK(hybrid_comm_free(&crew->hybrid));
    free(crew->cpus);
}

MPI_Comm crew_comm(const struct crew *crew, enum way way) {
    return way == WAY_OPENMP ? crew->leaders : MPI_COMM_WORLD;
}

/* Binds the calling thread to the CPUs of a rank of the node. Returns whether it then has one CPU. */
static bool pin(const struct crew *crew, int thread) {
    const cpu_set_t *cpus = (const cpu_set_t *)crew->cpus + thread;
    cpu_set_t bound;
    CPU_ZERO(&bound);
    return pthread_setaffinity_np(pthread_self(), sizeof *cpus, cpus) == 0 &&
           pthread_getaffinity_np(pthread_self(), sizeof bound, &bound) == 0 && CPU_EQUAL(&bound, cpus) &&
           CPU_COUNT(&bound) == 1;
}

/* Returns whether no two ranks of the node may run on the same CPU. */
static bool apart(const struct crew *crew) {
    cpu_set_t taken;
    CPU_ZERO(&taken);
    for (int i = 0; i < crew->info.node_ranks; i++) {
        const cpu_set_t *cpus = (const cpu_set_t *)crew->cpus + i;
        cpu_set_t both;
        CPU_AND(&both, &taken, cpus);
        if (CPU_COUNT(&both) > 0) {
            return false;
        }
        CPU_OR(&taken, &taken, cpus);
    }
    return true;
}

/* The leader's part of crew_run_threads. */
static void lead(struct crew *crew, crew_work *work, void *context, bool *pinned) {
    const int threads = crew->info.node_ranks;
    struct team *team = team_create(threads, crew->info.oversubscribed);
    struct crew_times times = {0};
    atomic_int bound = 0;
#pragma omp parallel num_threads(threads) default(none) shared(crew, work, context, team, times, bound)
    {
        const int thread = omp_get_thread_num();
        if (omp_get_num_threads() != team_threads(team)) {
            fail_die("OpenMP made %d threads of %d; unset OMP_THREAD_LIMIT and OMP_DYNAMIC", omp_get_num_threads(),
                     team_threads(team));
        }
        atomic_fetch_add(&bound, pin(crew, thread));
        team_meet(team);
        if (thread == 0) {
            MPI_CHECK(MPI_Barrier(crew->leaders));
        }
        team_meet(team);
        work(context, team, thread, &times);
    }
    /* The threads end: otherwise they would spin for a while on the cores of the other ranks. */
    omp_pause_resource_all(omp_pause_soft);
    team_free(team);
    *pinned = atomic_load(&bound) == threads && apart(crew);
    crew->home->times = times;
    for (int i = 1; i < threads; i++) {
        if (sem_post(&crew->home->done[i]) != 0) {
            fail_die("sem_post: %s", strerror(errno));
        }
    }
}

struct crew_times crew_run_threads(struct crew *crew, crew_work *work, void *context, bool *pinned) {
    if (crew->info.node_rank == 0) {
        lead(crew, work, context, pinned);
        return crew->home->times;
    }
    while (sem_wait(&crew->home->done[crew->info.node_rank]) != 0) {
        if (errno != EINTR) {
            fail_die("sem_wait: %s", strerror(errno));
        }
    }
    struct crew_times times = crew->home->times;
    times.compute = 0;
    return times;
}
