#include "placement_internal.h"

#include "fail.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int code, const char *call) {
    if (code != 0) {
        fail_die("%s failed: %s", call, strerror(code));
    }
}

/* Returns the threads of the process that are in neither list, mpi_threads or others. Free with topology_free_threads.
 */
static struct topology_threads unknown_threads(const placement *place) {
    struct topology_threads unknown;
    topology_list_threads(&unknown);
    topology_new_threads(&place->others, &unknown);
    topology_new_threads(&place->mpi_threads, &unknown);
    return unknown;
}

/* Makes a new list of MPI's threads as they are now, new threads last. It replaces the old list as a whole, which
 * another thread may be reading. */
void placement_look_again(placement *place) {
    struct topology_threads now = {0};
    topology_add_threads(&now, &place->mpi_threads);
    for (size_t i = 0; i < now.count; i++) {
        const struct topology_thread thread = topology_thread_of(now.threads[i].id);
        if (topology_cpus_count(&thread.cpus) > 0) {
            now.threads[i] = thread; /* one that has ended stays as it was seen */
        }
    }
    struct topology_threads unknown = unknown_threads(place);
    topology_add_threads(&now, &unknown);
    topology_free_threads(&unknown);
    struct topology_threads before = place->mpi_threads;
    check(pthread_mutex_lock(&place->changing), "pthread_mutex_lock");
    place->mpi_threads = now;
    check(pthread_mutex_unlock(&place->changing), "pthread_mutex_unlock");
    topology_free_threads(&before);
}

void placement_own_threads(placement *place) {
    struct topology_threads unknown = unknown_threads(place);
    topology_add_threads(&place->others, &unknown);
    topology_free_threads(&unknown);
}

void placement_add_helper(placement *place, const struct topology_thread *thread) {
    place->helper = *thread;
    place->has_helper = true;
    const struct topology_threads one = {.threads = &place->helper, .count = 1};
    topology_add_threads(&place->others, &one);
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
            snprintf(error, error_size, "rank %d: thread '%s' of the MPI library cannot be moved to CPUs %s: %s",
                     place->rank, thread->name, cpus, why);
            free(cpus);
        }
    }
    return moved;
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
