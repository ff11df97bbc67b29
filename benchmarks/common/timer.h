/*
 * timer - the local clock of a process: CLOCK_MONOTONIC, integer nanoseconds.
 *
 * CLOCK_MONOTONIC and not CLOCK_MONOTONIC_RAW: it is read without a system call everywhere, and its slewing by NTP
 * is below 500 ppm and equal for all processes of a node; what it does between nodes the clock module measures.
 */
#ifndef CAMPAIGN_TIMER_H
#define CAMPAIGN_TIMER_H

#include <stdint.h>
#include <time.h>

#define TIMER_NAME "CLOCK_MONOTONIC"

/* Local time in nanoseconds. Cannot fail: the clock is mandatory in POSIX.1-2008, and timer_check proved it. */
static inline int64_t timer_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * INT64_C(1000000000) + (int64_t)now.tv_nsec;
}

/* Dies with one line where the clock cannot be read. Call once, first. */
void timer_check(void);

/* Smallest step that two readings show, ns. */
int64_t timer_resolution_ns(void);

/* Mean cost of one reading, ns. */
double timer_overhead_ns(void);

#endif
