#include "cpu_time.h"

#include "fail.h"
#include "timer.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { STEPS = 5, LONGEST_STEP_NS = 100000000 };

static int64_t read_clock(clockid_t clock, const char *name) {
    struct timespec now;
    if (clock_gettime(clock, &now) != 0) {
        fail_die("%s cannot be read: %s", name, strerror(errno));
    }
    return (int64_t)now.tv_sec * INT64_C(1000000000) + (int64_t)now.tv_nsec;
}

static int64_t read_process(void) {
    return read_clock(CLOCK_PROCESS_CPUTIME_ID, "CLOCK_PROCESS_CPUTIME_ID");
}

static int64_t nanoseconds(struct timeval time) {
    return (int64_t)time.tv_sec * INT64_C(1000000000) + (int64_t)time.tv_usec * 1000;
}

struct cpu_time cpu_time_now(void) {
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0) {
        fail_die("getrusage failed: %s", strerror(errno));
    }
    return (struct cpu_time){.process_ns = read_process(),
                             .thread_ns = read_clock(CLOCK_THREAD_CPUTIME_ID, "CLOCK_THREAD_CPUTIME_ID"),
                             .user_ns = nanoseconds(usage.ru_utime),
                             .system_ns = nanoseconds(usage.ru_stime),
                             .voluntary = usage.ru_nvcsw,
                             .involuntary = usage.ru_nivcsw};
}

int64_t cpu_time_step_ns(void) {
    int64_t largest = 0;
    int64_t last = read_process();
    for (int i = 0; i <= STEPS; i++) { /* the first step may have begun before */
        const int64_t began = timer_now_ns();
        int64_t now = last;
        while (now == last) {
            if (timer_now_ns() - began > LONGEST_STEP_NS) {
                fail_die("CLOCK_PROCESS_CPUTIME_ID stood still for %d ms", LONGEST_STEP_NS / 1000000);
            }
            now = read_process();
        }
        largest = i > 0 && now - last > largest ? now - last : largest;
        last = now;
    }
    return largest;
}

int64_t cpu_time_tick_ns(void) {
    struct timespec step;
    if (clock_getres(CLOCK_MONOTONIC_COARSE, &step) != 0) {
        fail_die("the step of CLOCK_MONOTONIC_COARSE cannot be read: %s", strerror(errno));
    }
    return (int64_t)step.tv_sec * INT64_C(1000000000) + (int64_t)step.tv_nsec;
}
