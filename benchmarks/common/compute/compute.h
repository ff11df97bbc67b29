/*
 * compute - the computation: the same fixed work for every OpenMP thread (Denis 2022, section 5.1), one of the kernels
 * below.
 *
 * Fixed work, never "until a clock runs out": CPU time that a progress thread steals shows as a longer time.
 */
#ifndef CAMPAIGN_COMPUTE_H
#define CAMPAIGN_COMPUTE_H

#include "topology.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * COMPUTE_DGEMM: one sequential multiplication of two square matrices per thread, bound by arithmetic: the paper's.
 * work_size: their order. COMPUTE_TRIAD: a[i] = b[i] + s c[i] per thread, bound by memory: the vectors of all threads
 * together are several times the largest cache, and a run goes on where the one before has stopped, so that no element
 * is found in a cache. work_size: elements, which may be less than a vector has, or passes over it many times.
 */
enum compute_kind { COMPUTE_DGEMM, COMPUTE_TRIAD, COMPUTE_KINDS };

struct compute_worker;

/* s of the triad. */
#define COMPUTE_TRIAD_FACTOR 3.0

/* What there is to know of a kernel. */
struct compute_kernel {
    const char *name;
    double exponent;      /* by which its time grows with work_size */
    uint64_t first_guess; /* work_size from which a calibration may start */
    uint64_t least;       /* work_size; others are this plus multiples of step */
    uint64_t step;
    uint64_t most;
    uint64_t least_piece; /* of its work, in units of work_size: smaller ones would cost more than they compute */
    bool rereads;         /* what one run has used, the next one finds in the caches, as far as it fits */
    uint64_t (*elements)(uint64_t work_size, int threads); /* doubles in each of a thread's three arrays */
    void (*run)(struct compute_worker *worker, uint64_t size, uint64_t first,
                uint64_t end); /* of the work, from first to before end */
};
extern const struct compute_kernel compute_kernels[COMPUTE_KINDS];

/* Their names, NULL-terminated. */
const char *const *compute_names(void);

/* Bytes that a rank of so many threads needs for a work_size. */
double compute_bytes(enum compute_kind kind, uint64_t work_size, int threads);

/* The largest work_size for which these bytes are enough; below the kernel's least where not even that fits. */
uint64_t compute_most(enum compute_kind kind, double bytes, int threads);

typedef struct compute_team compute_team;

/*
 * Starts the OpenMP threads, tells BLAS to use one thread per call and verifies both. NULL and one line in error where
 * they cannot be had.
 */
compute_team *compute_create(enum compute_kind kind, int threads, char *error, size_t error_size);
void compute_destroy(compute_team *team);

/* Binds thread i to cpus[i]. false where the system refuses for any of them. */
bool compute_bind(compute_team *team, const int *cpus);

/* The CPUs that each thread may use, as it computes: cpusets[threads]. */
void compute_cpusets(compute_team *team, struct topology_cpus *cpusets);

/* Makes the arrays for this work_size, each allocated and touched by its own thread. Outside the timed part. Dies
 * without memory. */
void compute_reserve(compute_team *team, uint64_t work_size);

/* What the thread that calls compute_run does between pieces of its own work. The others compute theirs in one piece.
 */
struct compute_cut {
    uint64_t pieces;             /* as many as the work has of at least least_piece, where that is fewer; 0: one */
    bool (*poll)(void *context); /* called between two pieces until it says false; NULL: never */
    void *context;
};

/* How many pieces a work of this size can be cut into, of so many that are wanted. At least 1. */
uint64_t compute_pieces(enum compute_kind kind, uint64_t work_size, uint64_t wanted);

/*
 * The work, once by every thread. Returns the time of the slowest thread in ns, from the entry of this function to that
 * thread's own end (t_comp, t_comp_ref), without what poll took. compute_reserve must have been called for this
 * work_size. cut NULL: one piece.
 */
int64_t compute_run(compute_team *team, uint64_t work_size, const struct compute_cut *cut);

/*
 * The caches of all threads as a run of this size leaves them, in a small part of its time: what the run uses again is
 * read, as far as the largest cache holds it. All threads take part, also where a kernel uses nothing again: those that
 * sleep are woken. Before a run that is not to pay for what came between the last one and itself.
 */
void compute_warm(compute_team *team, uint64_t work_size);

/* The same time of each thread in the last run: times[threads]. */
void compute_thread_times(const compute_team *team, int64_t *times);

/* What poll took in the last run, in ns. */
int64_t compute_poll_time(const compute_team *team);

/* A thread's three arrays as the last run left them: A, B, C of DGEMM (column by column), a, b, c of the triad; each of
 * so many elements. */
const double *compute_array(const compute_team *team, int thread, int array, size_t *elements);

/* Whose DGEMM, e.g. "OpenBLAS 0.3.29 ... (1 thread)". Static. */
const char *compute_blas_description(void);

#endif
