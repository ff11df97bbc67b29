#include "helper.h"

#include "fail.h"
#include "fail_mpi.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Readings of the flag between two offers of the core: some microseconds, far more than a helper with a core of its own
 * needs to say that it is done, far less than a time slice of one that shares this core. */
enum { SPINS_PER_YIELD = 4096 };

/* The main thread reads done while the helper is busy with the rest. */
struct helper {
    _Alignas(128)
        MPI_Request *request; /* written by the main thread before handed is posted, read by the helper after */
    sem_t handed;             /* a request was handed over, or it is time to end */
    sem_t started;
    bool ends; /* as request */
    bool bound;
    int cause; /* errno of what made bound false */
    struct topology_cpus cpus;
    int64_t id; /* the kernel's */
    pthread_t thread;
    MPI_Comm probed; /* as request; MPI_COMM_NULL: a request was handed over */
    _Alignas(128) atomic_bool done;
    _Alignas(128) atomic_bool rests; /* the main thread wants helper_progress to end */
};

static void wait_for(sem_t *semaphore) {
    while (sem_wait(semaphore) != 0) {
        if (errno != EINTR) {
            fail_die("sem_wait failed: %s", strerror(errno));
        }
    }
}

static void post(sem_t *semaphore) {
    if (sem_post(semaphore) != 0) {
        fail_die("sem_post failed: %s", strerror(errno));
    }
}

static void *run(void *argument) {
    helper *h = argument;
    h->id = syscall(SYS_gettid);
    h->cause = pthread_setname_np(pthread_self(), "app_helper");
    h->bound = h->cause == 0 && topology_bind_thread(0, &h->cpus);
    h->cause = h->cause == 0 ? errno : h->cause;
    post(&h->started);
    for (;;) {
        wait_for(&h->handed);
        if (h->ends) {
            return NULL;
        }
        int complete = 0;
        while (h->probed == MPI_COMM_NULL && complete == 0) {
            MPI_CHECK(MPI_Test(h->request, &complete, MPI_STATUS_IGNORE));
        }
        while (h->probed != MPI_COMM_NULL && !atomic_load_explicit(&h->rests, memory_order_relaxed)) {
            MPI_CHECK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, h->probed, &complete, MPI_STATUS_IGNORE));
        }
        /* Release: what MPI_Test wrote, the request and all that arrived, is seen by the thread that reads true. */
        atomic_store_explicit(&h->done, true, memory_order_release);
    }
}

helper *helper_create(int cpu, char *error, size_t error_size) {
    helper *h = aligned_alloc(128, sizeof *h);
    if (h == NULL) {
        fail_die("out of memory: the helper thread");
    }
    *h = (helper){.request = NULL, .probed = MPI_COMM_NULL};
    topology_cpus_add(&h->cpus, cpu);
    if (sem_init(&h->handed, 0, 0) != 0 || sem_init(&h->started, 0, 0) != 0) {
        fail_die("sem_init failed: %s", strerror(errno));
    }
    const int code = pthread_create(&h->thread, NULL, run, h);
    if (code != 0) {
        snprintf(error, error_size, "the helper thread cannot be started: %s", strerror(code));
        free(h);
        return NULL;
    }
    wait_for(&h->started);
    if (!h->bound) {
        snprintf(error, error_size, "the helper thread cannot be bound to CPU %d: %s", cpu, strerror(h->cause));
        helper_destroy(h);
        return NULL;
    }
    return h;
}

void helper_destroy(helper *h) {
    if (h != NULL) {
        h->ends = true;
        post(&h->handed);
        const int code = pthread_join(h->thread, NULL);
        if (code != 0) {
            fail_die("pthread_join failed: %s", strerror(code));
        }
        if (sem_destroy(&h->handed) != 0 || sem_destroy(&h->started) != 0) {
            fail_die("sem_destroy failed: %s", strerror(errno));
        }
        free(h);
    }
}

/* Relaxed: the helper sets done, and reads the rest, only after the semaphore, which orders these stores before all
 * that it does. */
static void hand_over(helper *h, MPI_Request *request, MPI_Comm probed) {
    h->request = request;
    h->probed = probed;
    atomic_store_explicit(&h->done, false, memory_order_relaxed);
    atomic_store_explicit(&h->rests, false, memory_order_relaxed);
    post(&h->handed);
}

void helper_take(helper *h, MPI_Request *request) {
    hand_over(h, request, MPI_COMM_NULL);
}

void helper_progress(helper *h, MPI_Comm comm) {
    hand_over(h, NULL, comm);
}

void helper_rest(helper *h) {
    atomic_store_explicit(&h->rests, true, memory_order_relaxed);
    helper_wait(h);
}

void helper_wait(helper *h) {
    /* Acquire: pairs with the helper's release. */
    for (unsigned spins = 1; !atomic_load_explicit(&h->done, memory_order_acquire); spins++) {
        if (spins % SPINS_PER_YIELD == 0) {
            sched_yield(); /* a helper on this very core gets to run */
        }
    }
}

struct topology_thread helper_thread(const helper *h) {
    return topology_thread_of(h->id);
}

int64_t helper_cpu_ns(const helper *h) {
    return topology_thread_cpu_ns(h->id);
}
