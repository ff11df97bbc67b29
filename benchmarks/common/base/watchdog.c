#include "watchdog.h"

#include "fail.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct watchdog {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool stops; /* under the mutex */
    struct timespec deadline;
    void (*over)(void *context);
    void *context;
};

static void check(int code, const char *call) {
    if (code != 0) {
        fail_die("%s failed: %s", call, strerror(code));
    }
}

static void *run(void *argument) {
    watchdog *w = argument;
    int code = 0;
    check(pthread_setname_np(pthread_self(), "watchdog"),
          "pthread_setname_np"); /* by the thread itself, which may have ended before another thread could do it */
    check(pthread_mutex_lock(&w->mutex), "pthread_mutex_lock");
    while (!w->stops && code != ETIMEDOUT) {
        code = pthread_cond_timedwait(&w->changed, &w->mutex, &w->deadline);
        if (code != ETIMEDOUT) {
            check(code, "pthread_cond_timedwait");
        }
    }
    const bool over = !w->stops;
    check(pthread_mutex_unlock(&w->mutex), "pthread_mutex_unlock");
    if (over) {
        w->over(w->context);
    }
    return NULL;
}

watchdog *watchdog_start(int64_t deadline_ns, void (*over)(void *context), void *context) {
    watchdog *w = fail_alloc(1, sizeof *w);
    pthread_condattr_t attributes;
    w->over = over;
    w->context = context;
    w->deadline =
        (struct timespec){.tv_sec = (time_t)(deadline_ns / 1000000000), .tv_nsec = (long)(deadline_ns % 1000000000)};
    check(pthread_condattr_init(&attributes), "pthread_condattr_init");
    check(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC), "pthread_condattr_setclock");
    check(pthread_cond_init(&w->changed, &attributes), "pthread_cond_init");
    check(pthread_condattr_destroy(&attributes), "pthread_condattr_destroy");
    check(pthread_mutex_init(&w->mutex, NULL), "pthread_mutex_init");
    check(pthread_create(&w->thread, NULL, run, w), "pthread_create");
    return w;
}

void watchdog_stop(watchdog *w) {
    if (w == NULL) {
        return;
    }
    check(pthread_mutex_lock(&w->mutex), "pthread_mutex_lock");
    w->stops = true;
    check(pthread_cond_signal(&w->changed), "pthread_cond_signal");
    check(pthread_mutex_unlock(&w->mutex), "pthread_mutex_unlock");
    check(pthread_join(w->thread, NULL), "pthread_join");
    check(pthread_cond_destroy(&w->changed), "pthread_cond_destroy");
    check(pthread_mutex_destroy(&w->mutex), "pthread_mutex_destroy");
    free(w);
}
