#include "soaker.h"

#include "fail.h"
#include "work.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct soaker {
    pthread_t thread;
    clockid_t clock; /* of its CPU time */
    sem_t woken;     /* it is to compute, or to end */
    sem_t asleep;    /* it computes no more */
    sem_t started;
    bool ends; /* written before woken is posted, read after */
    int cause; /* errno of what refused the priority; 0: nothing */
    atomic_bool rests;
    bool awake; /* known to the thread that wakes it */
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
    enum { UNITS_BETWEEN_LOOKS = 50 };
    soaker *s = argument;
    const struct sched_param lowest = {.sched_priority = 0};
    s->cause = pthread_setname_np(pthread_self(), "soaker");
    s->cause = s->cause == 0 ? pthread_setschedparam(pthread_self(), SCHED_IDLE, &lowest) : s->cause;
    post(&s->started);
    for (;;) {
        wait_for(&s->woken);
        if (s->ends) {
            return NULL;
        }
        while (!atomic_load_explicit(&s->rests, memory_order_relaxed)) {
            work_do(UNITS_BETWEEN_LOOKS);
        }
        post(&s->asleep);
    }
}

soaker *soaker_create(char *error, size_t error_size) {
    soaker *s = fail_alloc(1, sizeof *s);
    if (sem_init(&s->woken, 0, 0) != 0 || sem_init(&s->asleep, 0, 0) != 0 || sem_init(&s->started, 0, 0) != 0) {
        fail_die("sem_init failed: %s", strerror(errno));
    }
    int cause = pthread_create(&s->thread, NULL, run, s);
    if (cause != 0) {
        snprintf(error, error_size, "the thread of the lowest priority cannot be started: %s", strerror(cause));
        free(s);
        return NULL;
    }
    wait_for(&s->started);
    cause = s->cause != 0 ? s->cause : pthread_getcpuclockid(s->thread, &s->clock);
    if (cause != 0) {
        snprintf(error, error_size, "the system refuses a thread of the lowest priority: %s", strerror(cause));
        soaker_destroy(s);
        return NULL;
    }
    return s;
}

void soaker_destroy(soaker *s) {
    if (s != NULL) {
        soaker_rest(s);
        s->ends = true;
        post(&s->woken);
        const int code = pthread_join(s->thread, NULL);
        if (code != 0) {
            fail_die("pthread_join failed: %s", strerror(code));
        }
        if (sem_destroy(&s->woken) != 0 || sem_destroy(&s->asleep) != 0 || sem_destroy(&s->started) != 0) {
            fail_die("sem_destroy failed: %s", strerror(errno));
        }
        free(s);
    }
}

void soaker_wake(soaker *s) {
    if (s->awake) {
        return;
    }
    s->awake = true;
    atomic_store_explicit(&s->rests, false, memory_order_relaxed);
    post(&s->woken);
}

void soaker_rest(soaker *s) {
    if (!s->awake) {
        return;
    }
    s->awake = false;
    atomic_store_explicit(&s->rests, true, memory_order_relaxed);
    wait_for(&s->asleep);
}

int64_t soaker_cpu_ns(const soaker *s) {
    struct timespec now;
    if (clock_gettime(s->clock, &now) != 0) {
        fail_die("the CPU time of a thread cannot be read: %s", strerror(errno));
    }
    return (int64_t)now.tv_sec * INT64_C(1000000000) + (int64_t)now.tv_nsec;
}
