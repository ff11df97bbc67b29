/*
 * node_time - the CPU time of all CPUs of this machine so far, whoever used it, as the kernel counts it by the ticks of
 * its clock (/proc/stat).
 *
 * The kernel does not charge all work to the process that it is done for: what arrives from a network is handled in a
 * soft interrupt, in the time of whoever runs at that moment.
 */
#pragma once

#include <stdint.h>

struct node_time {
    int64_t busy_ns;    /* everything but idle time, and time that a hypervisor gave to others */
    int64_t softirq_ns; /* of it, in soft interrupts */
};

/* Returns 0 for both where the system does not tell. */
struct node_time node_time_now(void);

/* Returns the unit in which the system tells these times, ns. Dies where the system refuses. */
int64_t node_time_tick_ns(void);

/* Returns the number of CPUs that are counted. Dies where the system refuses. */
int64_t node_time_cpus(void);
