/*
 * compute - the computation: one sequential DGEMM per OpenMP thread, a fixed amount of work (Denis 2022, section 5.1).
 *
 * Fixed work, never "until a clock runs out": CPU time that a progress thread steals shows as a longer time.
 */
#ifndef CAMPAIGN_COMPUTE_H
#define CAMPAIGN_COMPUTE_H

#include "topology.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct compute_team compute_team;

/*
 * Starts the OpenMP threads, tells BLAS to use one thread per call and verifies both. NULL and one line in error where
 * they cannot be had.
 */
compute_team *compute_create(int threads, char *error, size_t error_size);
void compute_destroy(compute_team *team);

/* Binds thread i to cpus[i]. false where the system refuses for any of them. */
bool compute_bind(compute_team *team, const int *cpus);

/* The CPUs that each thread may use, as it computes: cpusets[threads]. */
void compute_cpusets(compute_team *team, struct topology_cpus *cpusets);

/* Makes matrices of this order, each allocated and touched by its own thread. Outside the timed part. Dies without memory. */
void compute_reserve(compute_team *team, uint64_t order);

/*
 * One multiplication of two square matrices per thread. Returns the time of the slowest thread in ns, from the entry of this function
 * to that thread's own end (t_comp_ref). compute_reserve must have been called for this order.
 */
int64_t compute_run(compute_team *team, uint64_t order);

/* Whose DGEMM, e.g. "OpenBLAS 0.3.29 ... (1 thread)". Static. */
const char *compute_blas_description(void);

#endif
