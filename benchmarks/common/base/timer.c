#include "timer.h"

#include "fail.h"

#include <errno.h>
#include <string.h>

void timer_check(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) {
        fail_die("clock_gettime(%s) failed: %s", TIMER_NAME, strerror(errno));
    }
}

static int64_t read_ns(clockid_t which) {
    struct timespec now;
    clock_gettime(which, &now);
    return (int64_t)now.tv_sec * INT64_C(1000000000) + (int64_t)now.tv_nsec;
}

int64_t timer_of_stamp(struct timespec stamp) {
    enum { LOOKS = 3 };
    int64_t shortest = INT64_MAX;
    int64_t ahead = 0; /* of CLOCK_MONOTONIC, known best where both readings of it are close together */
    for (int i = 0; i < LOOKS; i++) {
        const int64_t before = read_ns(CLOCK_MONOTONIC);
        const int64_t real = read_ns(CLOCK_REALTIME);
        const int64_t after = read_ns(CLOCK_MONOTONIC);
        if (after - before < shortest) {
            shortest = after - before;
            ahead = real - before - shortest / 2;
        }
    }
    return timer_of_monotonic((int64_t)stamp.tv_sec * INT64_C(1000000000) + (int64_t)stamp.tv_nsec - ahead);
}

int64_t timer_resolution_ns(void) {
    int64_t smallest = INT64_MAX;
    for (int i = 0; i < 1000; i++) {
        int64_t first = timer_now_ns();
        int64_t second = first;
        while (second == first) {
            second = timer_now_ns();
        }
        if (second - first < smallest) {
            smallest = second - first;
        }
    }
    return smallest;
}

double timer_overhead_ns(void) {
    enum { READINGS = 1000, BATCHES = 20 };
    double best = 1e30;
    for (int batch = 0; batch < BATCHES; batch++) {
        int64_t first = timer_now_ns();
        int64_t last = first;
        for (int i = 0; i < READINGS; i++) {
            last = timer_now_ns();
        }
        double mean = (double)(last - first) / READINGS;
        if (mean < best) {
            best = mean;
        }
    }
    return best;
}

bool timer_runs_backwards(size_t readings, int64_t *by_ns) {
    *by_ns = 0;
    int64_t last = timer_now_ns();
    for (size_t i = 0; i < readings; i++) {
        int64_t now = timer_now_ns();
        if (last - now > *by_ns) {
            *by_ns = last - now;
        }
        last = now;
    }
    return *by_ns > 0;
}

void timer_sleep(double seconds) {
    if (!(seconds > 0)) {
        return;
    }
    struct timespec left = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (nanosleep(&left, &left) != 0) {
        if (errno != EINTR) {
            fail_die("nanosleep failed: %s", strerror(errno));
        }
    }
}
