#include "compute.h"

#include "blas.h"
#include "fail.h"
#include "timer.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARRAYS = 3 };

/* A thread's own data. Its end time has cache lines of its own, so that there is no false sharing while other threads
 * still compute. */
struct compute_worker {
    _Alignas(128) int64_t end;
    double *arrays;  /* ARRAYS arrays, one every stride elements */
    size_t stride;   /* elements that each array has room for, however many a run uses */
    size_t elements; /* elements of each array that the last run used */
    uint64_t next;   /* triad: where the next run goes on */
    double read;     /* what compute_warm read, so that the compiler cannot remove the reading */
};

struct compute_team {
    const struct compute_kernel *kernel;
    int threads;
    size_t elements; /* that each array has room for */
    int64_t begin;   /* of the last run */
    int64_t polled;  /* time that poll took in the last run */
    uint64_t size;   /* of the last run */
    int64_t least;   /* the shortest time of a run of this size */
    struct compute_worker *workers;
};

/* ---- kernels ---- */

/* One multiplication of this order takes minutes. */
#define MOST_ORDER 16384

static uint64_t matrix_elements(uint64_t order, int threads) {
    return order * order;
}

/* Computes the columns [first, end) of C, which depend on A and on the same columns of B. */
static void run_dgemm(struct compute_worker *worker, uint64_t order, uint64_t first, uint64_t end) {
#ifdef WORK_SIMULATED /* a simulator knows how fast its host is */
    smpi_execute_flops(2 * (double)(order * order) * (double)(end - first));
#else
    const int n = (int)order;
    const double *a = worker->arrays;
    const double *b = a + worker->stride + first * order;
    double *c = worker->arrays + 2 * worker->stride + first * order;
    BLAS_NAME(cblas_dgemm)(CblasColMajor, CblasNoTrans, CblasNoTrans, n, (int)(end - first), n, 1.0, a, n, b, n, 0.0, c,
                           n);
#endif
}

/* The vectors of all threads that share the largest cache are TIMES_CACHE times as large as that cache, and those of
 * one thread have at least LEAST_TRIAD_BYTES.
 */
enum { TIMES_CACHE = 4 };
#define LEAST_TRIAD_BYTES (UINT64_C(12) << 20)

static uint64_t vector_elements(uint64_t work_size, int threads) {
    const uint64_t bytes = TIMES_CACHE * topology_cache_share(threads);
    return (bytes > LEAST_TRIAD_BYTES ? bytes : LEAST_TRIAD_BYTES) / (ARRAYS * sizeof(double));
}

static void triad(double *restrict a, const double *restrict b, const double *restrict c, size_t count) {
    for (size_t i = 0; i < count; i++) {
        a[i] = b[i] + COMPUTE_TRIAD_FACTOR * c[i];
    }
}

static void run_triad(struct compute_worker *worker, uint64_t size, uint64_t first, uint64_t end) {
    for (uint64_t left = end - first; left > 0;) {
        const uint64_t room = worker->elements - worker->next;
        const uint64_t count = left < room ? left : room;
        double *a = worker->arrays + worker->next;
        triad(a, a + worker->stride, a + 2 * worker->stride, count);
        worker->next = (worker->next + count) % worker->elements;
        left -= count;
    }
}

const struct compute_kernel compute_kernels[COMPUTE_KINDS] = {
    [COMPUTE_DGEMM] =
        {
            .name = "dgemm",
            .help = "a matrix multiplication per thread (Denis et al. 2022)",
            .exponent = 3,
            .first_guess = 200,
            .least = 2,
            .step = 1,
            .most = MOST_ORDER,
            .least_piece = 8, /* columns: every piece packs A anew */
            .rereads = true,
            .elements = matrix_elements,
            .run = run_dgemm,
        },
    [COMPUTE_TRIAD] =
        {
            .name = "triad",
            .help = "a[i] = b[i] + s c[i] per thread, over vectors larger than the caches",
            .exponent = 1,
            .first_guess = 500000,
            .least = 512,
            .step = 512,
            .most = UINT64_C(1) << 42,
            .least_piece = 512,
            .elements = vector_elements,
            .run = run_triad,
        },
};

OPTION_CHOICES_FROM(compute_choices, compute_kernels, COMPUTE_KINDS, help)

double compute_bytes(enum compute_kind kind, uint64_t work_size, int threads) {
    return (double)ARRAYS * sizeof(double) * (double)compute_kernels[kind].elements(work_size, threads) * threads;
}

uint64_t compute_most(enum compute_kind kind, double bytes, int threads) {
    const struct compute_kernel *kernel = &compute_kernels[kind];
    uint64_t fits = 0;
    for (uint64_t bit = UINT64_C(1) << 62; bit > 0; bit /= 2) {
        const uint64_t size = fits + bit;
        if (size <= kernel->most && compute_bytes(kind, size, threads) <= bytes) {
            fits = size;
        }
    }
    return fits;
}

uint64_t compute_pieces(enum compute_kind kind, uint64_t work_size, uint64_t wanted) {
    const uint64_t most = work_size / compute_kernels[kind].least_piece;
    const uint64_t pieces = wanted < most ? wanted : most;
    return pieces > 0 ? pieces : 1;
}

/* ---- the team ---- */

const char *compute_blas_description(void) {
    static char text[256];
#ifdef CAMPAIGN_BLAS_OPENBLAS
    snprintf(text, sizeof text, "%.200s (%d thread)", BLAS_NAME(openblas_get_config)(),
             BLAS_NAME(openblas_get_num_threads)());
#else
    snprintf(text, sizeof text, "CBLAS (threads not verified)");
#endif
    return text;
}

compute_team *compute_create(enum compute_kind kind, int threads, char *error, size_t error_size) {
#ifdef CAMPAIGN_BLAS_OPENBLAS
    BLAS_NAME(openblas_set_num_threads)(1);
    if (BLAS_NAME(openblas_get_num_threads)() != 1) {
        snprintf(error, error_size,
                 "OpenBLAS keeps %d threads per call where 1 was asked for; set OPENBLAS_NUM_THREADS=1",
                 BLAS_NAME(openblas_get_num_threads)());
        return NULL;
    }
#endif
    omp_set_dynamic(0);
    int started = 0;
#pragma omp parallel num_threads(threads)
    {
#pragma omp single
        started = omp_get_num_threads();
    }
    if (started != threads) {
        snprintf(error, error_size,
                 "OpenMP started %d of %d threads; check OMP_THREAD_LIMIT, or ask for fewer with --threads", started,
                 threads);
        return NULL;
    }
    compute_team *team = fail_alloc(1, sizeof *team);
    team->kernel = &compute_kernels[kind];
    team->threads = threads;
    team->workers = aligned_alloc(128, (size_t)threads * sizeof *team->workers);
    if (team->workers == NULL) {
        fail_die("out of memory: %d threads", threads);
    }
    memset(team->workers, 0, (size_t)threads * sizeof *team->workers);
    return team;
}

void compute_destroy(compute_team *team) {
    if (team != NULL) {
        for (int i = 0; i < team->threads; i++) {
            free(team->workers[i].arrays);
        }
        free(team->workers);
        free(team);
    }
}

bool compute_bind(compute_team *team, const int *cpus) {
    bool good = true;
#pragma omp parallel num_threads(team->threads) reduction(&& : good)
    {
        struct topology_cpus one = {{0}};
        topology_cpus_add(&one, cpus[omp_get_thread_num()]);
        good = topology_bind_thread(0, &one);
    }
    return good;
}

void compute_cpusets(compute_team *team, struct topology_cpus *cpusets) {
#pragma omp parallel num_threads(team->threads)
    topology_own_cpus(&cpusets[omp_get_thread_num()]);
}

void compute_reserve(compute_team *team, uint64_t work_size) {
    if (work_size > team->kernel->most) {
        fail_die("a %s of size %llu is too large; at most %llu is possible", team->kernel->name,
                 (unsigned long long)work_size, (unsigned long long)team->kernel->most);
    }
    const size_t elements = (size_t)team->kernel->elements(work_size, team->threads);
    if (elements <= team->elements) {
        return;
    }
    const size_t bytes = (ARRAYS * elements * sizeof(double) + 4095) / 4096 * 4096;
    bool failed = false;
#pragma omp parallel num_threads(team->threads) reduction(|| : failed)
    {
        struct compute_worker *worker = &team->workers[omp_get_thread_num()];
        free(worker->arrays);
        worker->arrays = aligned_alloc(4096, bytes);
        worker->stride = elements;
        worker->next = 0;
        failed = worker->arrays == NULL;
        /* Small exact numbers: no denormals, no infinities, and every page touched by the thread that will use it. */
        for (size_t i = 0; !failed && i < ARRAYS * elements; i++) {
            worker->arrays[i] = (double)((int)(i % 17) - 8) / 16;
        }
    }
    if (failed) {
        fail_die("out of memory: %d times %zu MiB for a %s of size %llu; ask for fewer threads, or for shorter times",
                 team->threads, bytes / 1048576, team->kernel->name, (unsigned long long)work_size);
    }
    team->elements = elements;
}

/* Does a thread's work piece by piece and polls between the pieces. Returns the time that polling took, ns. */
static int64_t run_pieces(const compute_team *team, struct compute_worker *worker, uint64_t size,
                          const struct compute_cut *cut) {
    const uint64_t pieces = compute_pieces((enum compute_kind)(team->kernel - compute_kernels), size, cut->pieces);
    int64_t polled = 0;
    bool poll = cut->poll != NULL;
    for (uint64_t i = 0; i < pieces; i++) {
        /* not size * i / pieces, which overflows */
        const uint64_t longer = size % pieces;
        const uint64_t first = size / pieces * i + (i < longer ? i : longer);
        team->kernel->run(worker, size, first, first + size / pieces + (i < longer ? 1 : 0));
        if (poll && i + 1 < pieces) {
            const int64_t begin = timer_now_ns();
            poll = cut->poll(cut->context);
            polled += timer_now_ns() - begin;
        }
    }
    return polled;
}

/* Returns the time from the start of the last run to the thread's own end, ns, without the polling of the first thread.
 */
static int64_t thread_time(const compute_team *team, int thread) {
    return team->workers[thread].end - team->begin - (thread == 0 ? team->polled : 0);
}

int64_t compute_run(compute_team *team, uint64_t work_size, const struct compute_cut *cut) {
    const size_t elements = (size_t)team->kernel->elements(work_size, team->threads);
    team->polled = 0;
    team->begin = timer_now_ns();
#pragma omp parallel num_threads(team->threads)
    {
        const int thread = omp_get_thread_num();
        struct compute_worker *worker = &team->workers[thread];
        worker->elements = elements;
        if (thread == 0 && cut != NULL) {
            team->polled = run_pieces(team, worker, work_size, cut);
        } else {
            team->kernel->run(worker, work_size, 0, work_size);
        }
        worker->end = timer_now_ns();
    }
    int64_t slowest = 0;
    for (int i = 0; i < team->threads; i++) {
        const int64_t time = thread_time(team, i);
        slowest = time > slowest ? time : slowest;
    }
    team->least = work_size == team->size && team->least < slowest ? team->least : slowest;
    team->size = work_size;
    return slowest;
}

int64_t compute_run_alone(compute_team *team, int thread, uint64_t work_size) {
    struct compute_worker *worker = &team->workers[thread];
    const int64_t begin = timer_now_ns();
    worker->elements = (size_t)team->kernel->elements(work_size, team->threads);
    team->kernel->run(worker, work_size, 0, work_size);
    return timer_now_ns() - begin;
}

bool compute_is_short(const compute_team *team, uint64_t work_size) {
    return team->kernel->rereads && work_size == team->size && team->least < COMPUTE_SHORT_NS;
}

void compute_run_in(compute_team *team, uint64_t work_size) {
    enum { RUN_IN_NS = 2000000, PIECES = 8 };
    const uint64_t pieces = compute_pieces((enum compute_kind)(team->kernel - compute_kernels), work_size, PIECES);
    const uint64_t piece = work_size / pieces;
    const int64_t end = timer_now_ns() + RUN_IN_NS;
#pragma omp parallel num_threads(team->threads)
    for (uint64_t i = 0; timer_now_ns() < end; i = (i + 1) % pieces) {
        team->kernel->run(&team->workers[omp_get_thread_num()], work_size, i * piece, (i + 1) * piece);
    }
}

/* Reads one double of each cache line. Returns their sum, so that the compiler cannot remove the reading. */
static double read_lines(const double *arrays, size_t elements) {
    enum { LINE = 64 / sizeof(double) };
    double sum = 0;
    for (size_t i = 0; i < elements; i += LINE) {
        sum += arrays[i];
    }
    return sum;
}

void compute_warm(compute_team *team, uint64_t work_size) {
    const size_t used = team->kernel->rereads ? (size_t)team->kernel->elements(work_size, team->threads) : 0;
    const size_t cached = (size_t)topology_cache_share(team->threads) / sizeof(double);
    /* also where there is nothing to read: threads that have slept since the last computation wake up here, not in what
     * is timed */
#pragma omp parallel num_threads(team->threads)
    {
        struct compute_worker *worker = &team->workers[omp_get_thread_num()];
        double sum = 0;
        size_t left = cached;
        for (size_t i = 0; i < ARRAYS; i++) {
            const size_t count = used < left ? used : left;
            sum += read_lines(worker->arrays + i * worker->stride, count);
            left -= count;
        }
        worker->read = sum;
    }
}

void compute_thread_times(const compute_team *team, int64_t *times) {
    for (int i = 0; i < team->threads; i++) {
        times[i] = thread_time(team, i);
    }
}

int64_t compute_poll_time(const compute_team *team) {
    return team->polled;
}

const double *compute_array(const compute_team *team, int thread, int array, size_t *elements) {
    const struct compute_worker *worker = &team->workers[thread];
    *elements = worker->elements;
    return worker->arrays + (size_t)array * worker->stride;
}
