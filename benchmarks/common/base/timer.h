/*
 * timer - the local clock of a process: CLOCK_MONOTONIC, integer nanoseconds.
 *
 * CLOCK_MONOTONIC and not CLOCK_MONOTONIC_RAW: it is read without a system call everywhere, and its slewing by NTP
 * is below 500 ppm and equal for all processes of a node; what it does between nodes the clock module measures.
 */
#ifndef CAMPAIGN_TIMER_H
#define CAMPAIGN_TIMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define TIMER_NAME "CLOCK_MONOTONIC"

#ifdef TIMER_ARTIFICIAL
/* Tests compile these very sources once more, with a clock whose offset, drift and faults are known
 * (tests/artificial_clock). */
int64_t timer_now_ns(void);
#else
/* Local time in nanoseconds. Cannot fail: the clock is mandatory in POSIX.1-2008, and timer_check proved it. */
static inline int64_t timer_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * INT64_C(1000000000) + (int64_t)now.tv_nsec;
}
#endif

/* Dies with one line where the clock cannot be read. Call once, first. */
void timer_check(void);

/* Smallest step that two readings show, ns. */
int64_t timer_resolution_ns(void);

/* Mean cost of one reading, ns. */
double timer_overhead_ns(void);

/* Whether any of so many readings is below the one before it; the largest such fall in *by_ns (0: none). */
bool timer_runs_backwards(size_t readings, int64_t *by_ns);

/* Gives the core away for this long, signals or not. */
void timer_sleep(double seconds);

#endif
