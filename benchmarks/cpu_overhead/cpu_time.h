/*
 * cpu_time - the CPU time and the context switches of this process so far, as the kernel counts them.
 */
#pragma once

#include <stdint.h>

struct cpu_time {
    int64_t process_ns; /* all threads of the process: CLOCK_PROCESS_CPUTIME_ID */
    int64_t thread_ns;  /* the calling thread: CLOCK_THREAD_CPUTIME_ID */
    /* The process's time in its own code and in the kernel (getrusage). Their sum is exact. How it is divided follows
     * from what the kernel saw at the ticks of its clock. */
    int64_t user_ns;
    int64_t system_ns;
    /* Context switches of the process (getrusage): it waited for something; the kernel took its CPU away. */
    int64_t voluntary;
    int64_t involuntary;
};

/* Reads all of them. Dies where the system refuses. */
struct cpu_time cpu_time_now(void);

/* Returns the largest of a few steps in which the clock of the process advances while this thread computes, ns. It
 * takes a few steps, at most 100 ms for each. Dies where the clock stands still for so long. */
int64_t cpu_time_step_ns(void);

/* Returns the time between two ticks of the kernel's clock, at which it looks whether a process is in its own code or
 * in the kernel, ns: the step of CLOCK_MONOTONIC_COARSE. */
int64_t cpu_time_tick_ns(void);
