/*
 * compute - runs the computation: every OpenMP thread does the same fixed work (Denis 2022, section 5.1), with one of
 * the kernels below.
 *
 * The work is fixed and never "until a clock runs out": CPU time that a progress thread takes shows as a longer time.
 */
#pragma once

#include "options.h"
#include "topology.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * COMPUTE_DGEMM: every thread multiplies two square matrices with one sequential call, as in the paper; bound by
 * arithmetic. work_size is the order of the matrices.
 *
 * COMPUTE_TRIAD: every thread computes a[i] = b[i] + s c[i]; bound by memory. The vectors of all threads together are
 * several times as large as the largest cache, and a run goes on where the last run stopped, so that no element is
 * found in a cache. work_size is the number of elements that a run computes: it may be less than a vector has, or many
 * times as much.
 */
enum compute_kind { COMPUTE_DGEMM, COMPUTE_TRIAD, COMPUTE_KINDS };

struct compute_worker;

/* The factor s of the triad. */
#define COMPUTE_TRIAD_FACTOR 3.0

/* A kernel. work_size, size, first and end are in its own unit, as above. */
struct compute_kernel {
    const char *name;
    const char *help;
    double exponent;      /* e where its time grows as work_size^e */
    uint64_t first_guess; /* work_size from which a calibration may start */
    uint64_t least;       /* smallest work_size; every other is this plus a multiple of step */
    uint64_t step;
    uint64_t most;
    uint64_t least_piece; /* smallest piece of a work that is cut: a smaller one would cost more than it computes */
    bool rereads;         /* a run finds in the caches what the last run used, as far as it fits */
    uint64_t (*elements)(uint64_t work_size, int threads); /* doubles in each of a thread's three arrays */
    /* Does the part [first, end) of a work of this size. */
    void (*run)(struct compute_worker *worker, uint64_t size, uint64_t first, uint64_t end);
};
extern const struct compute_kernel compute_kernels[COMPUTE_KINDS];

/* Returns the kernels as the choices of an option. */
const struct option_choice *compute_choices(void);

/* Returns the bytes that a rank of so many threads needs for a work_size. */
double compute_bytes(enum compute_kind kind, uint64_t work_size, int threads);

/* Returns the largest work_size for which so many bytes are enough; less than the kernel's least where not even that
 * fits. */
uint64_t compute_most(enum compute_kind kind, double bytes, int threads);

typedef struct compute_team compute_team;

/* Of runs that take less, the state in which they find the cores is a good part: compute_run_in. */
enum { COMPUTE_SHORT_NS = 6000000 };

/*
 * Starts the OpenMP threads, tells BLAS to use one thread per call, and verifies both. Returns NULL and one line in
 * error where the threads or the setting cannot be had.
 */
compute_team *compute_create(enum compute_kind kind, int threads, char *error, size_t error_size);
void compute_destroy(compute_team *team);

/* Binds thread i to cpus[i]. Returns false where the system refuses any of them. */
bool compute_bind(compute_team *team, const int *cpus);

/* Reads which CPUs each thread may use: cpusets[threads]. */
void compute_cpusets(compute_team *team, struct topology_cpus *cpusets);

/* Allocates the arrays for a work_size; each thread allocates and touches its own. Not for timed parts. Dies when
 * memory runs out. */
void compute_reserve(compute_team *team, uint64_t work_size);

/* How the thread that calls compute_run cuts its work into pieces and what it does between them. The other threads do
 * their work in one piece. */
struct compute_cut {
    uint64_t pieces;             /* wanted number of pieces; compute_pieces says how many there are; 0: one */
    bool (*poll)(void *context); /* called between two pieces until it returns false; NULL: never */
    void *context;
};

/* Returns the number of pieces: the wanted number, or fewer so that each is at least the kernel's least_piece. At
 * least 1. */
uint64_t compute_pieces(enum compute_kind kind, uint64_t work_size, uint64_t wanted);

/*
 * Every thread does the work once. Returns the time of the slowest thread in ns, from the entry of this function to
 * that thread's own end, without the time that poll took (t_comp, t_comp_ref). compute_reserve must have been called
 * for this work_size. cut NULL: one piece.
 */
int64_t compute_run(compute_team *team, uint64_t work_size, const struct compute_cut *cut);

/*
 * The calling thread alone does the work once, as thread number `thread` of the team: for work that differs between
 * threads, called in a parallel region of the caller's own. Returns its time in ns. compute_reserve must have been
 * called for this work_size.
 */
int64_t compute_run_alone(compute_team *team, int thread, uint64_t work_size);

/* Returns whether the last run was of this size, and one of this size took less than COMPUTE_SHORT_NS; false for a
 * kernel that uses nothing again. */
bool compute_is_short(const compute_team *team, uint64_t work_size);

/*
 * All threads compute for 2 ms, and up to an eighth of a run longer. Call it before a short run that is timed, on all
 * ranks at once: after a communication, or after waiting for another rank, cores need 1 to 2 ms of computing until they
 * are at their full speed. Without it 0.5 ms of work took up to 1.5 times as long, and 8 ms up to 1.1 times.
 */
void compute_run_in(compute_team *team, uint64_t work_size);

/*
 * Reads what the next run of this size uses again, on all threads, as far as the largest cache holds it: in a small
 * part of a run's time. Call it before a run that is timed. All threads take part, also where there is nothing to read,
 * so that sleeping threads wake up.
 */
void compute_warm(compute_team *team, uint64_t work_size);

/* Reads the time of each thread in the last run, ns, measured in the same way: times[threads]. */
void compute_thread_times(const compute_team *team, int64_t *times);

/* Returns the time that poll took in the last run, ns. */
int64_t compute_poll_time(const compute_team *team);

/* Returns one of a thread's three arrays as the last run left it, and its number of elements: A, B, C of DGEMM (column
 * by column), or a, b, c of the triad. */
const double *compute_array(const compute_team *team, int thread, int array, size_t *elements);

/* Returns the name of the BLAS library, such as "OpenBLAS 0.3.29 ... (1 thread)". The text is static. */
const char *compute_blas_description(void);
