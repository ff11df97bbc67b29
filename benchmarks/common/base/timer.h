/*
 * timer - reads the local clock of a process: CLOCK_MONOTONIC, in integer nanoseconds.
 *
 * It is CLOCK_MONOTONIC and not CLOCK_MONOTONIC_RAW because it is read without a system call everywhere. NTP slews it
 * by less than 500 ppm and equally for all processes of a node; the difference between nodes is measured by clock.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define TIMER_NAME "CLOCK_MONOTONIC"

#ifdef TIMER_ARTIFICIAL
/* Tests compile these very sources once more, with a clock whose offset, drift and faults are known
 * (tests/artificial_clock). */
int64_t timer_now_ns(void);
int64_t timer_of_monotonic(int64_t monotonic_ns);
#else
/* Local time in nanoseconds. Cannot fail: the clock is mandatory in POSIX.1-2008, and timer_check proved it. */
static inline int64_t timer_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * INT64_C(1000000000) + (int64_t)now.tv_nsec;
}

static inline int64_t timer_of_monotonic(int64_t monotonic_ns) {
    return monotonic_ns;
}
#endif

/* Returns the local time of a stamp that the kernel has just made with CLOCK_REALTIME. */
int64_t timer_of_stamp(struct timespec stamp);

/* Dies with one line where the clock cannot be read. Call it once, before any other function of this header. */
void timer_check(void);

/* Returns the smallest difference above 0 between two readings, ns. */
int64_t timer_resolution_ns(void);

/* Returns the mean time that one reading takes, ns. */
double timer_overhead_ns(void);

/* Takes so many readings. Returns whether any is below the reading before it; *by_ns is the largest such step back (0:
 * none). */
bool timer_runs_backwards(size_t readings, int64_t *by_ns);

/* Sleeps for this long; a signal does not shorten it. */
void timer_sleep(double seconds);
