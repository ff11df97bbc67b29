#include "compute.h"

#include "blas.h"
#include "fail.h"
#include "timer.h"

#include <limits.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A cache line of its own for every thread's end time: no false sharing while others still compute. */
struct worker {
    _Alignas(128) int64_t end;
    double *matrices; /* A, B, C one after the other */
};

struct compute_team {
    int threads;
    uint64_t order; /* that the matrices have room for */
    struct worker *workers;
};

const char *compute_blas_description(void) {
    static char text[256];
#ifdef CAMPAIGN_BLAS_OPENBLAS
    snprintf(text, sizeof text, "%.200s (%d thread)", BLAS_NAME(openblas_get_config)(), BLAS_NAME(openblas_get_num_threads)());
#else
    snprintf(text, sizeof text, "CBLAS (threads not verified)");
#endif
    return text;
}

compute_team *compute_create(int threads, char *error, size_t error_size) {
#ifdef CAMPAIGN_BLAS_OPENBLAS
    BLAS_NAME(openblas_set_num_threads)(1);
    if (BLAS_NAME(openblas_get_num_threads)() != 1) {
        snprintf(error, error_size, "OpenBLAS keeps %d threads per call where 1 was asked for; set OPENBLAS_NUM_THREADS=1",
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
        snprintf(error, error_size, "OpenMP started %d of %d threads; check OMP_THREAD_LIMIT, or ask for fewer with --threads",
                 started, threads);
        return NULL;
    }
    compute_team *team = fail_alloc(1, sizeof *team);
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
            free(team->workers[i].matrices);
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
        good = topology_bind_thread(&one);
    }
    return good;
}

void compute_cpusets(compute_team *team, struct topology_cpus *cpusets) {
#pragma omp parallel num_threads(team->threads)
    topology_own_cpus(&cpusets[omp_get_thread_num()]);
}

void compute_reserve(compute_team *team, uint64_t order) {
    if (order <= team->order) {
        return;
    }
    if (order > INT_MAX || order > SIZE_MAX / order / (3 * sizeof(double))) {
        fail_die("matrices of order %llu are too large", (unsigned long long)order);
    }
    size_t elements = (size_t)order * (size_t)order;
    size_t bytes = (3 * elements * sizeof(double) + 4095) / 4096 * 4096;
    bool failed = false;
#pragma omp parallel num_threads(team->threads) reduction(|| : failed)
    {
        struct worker *worker = &team->workers[omp_get_thread_num()];
        free(worker->matrices);
        worker->matrices = aligned_alloc(4096, bytes);
        failed = worker->matrices == NULL;
        /* Small exact numbers: no denormals, no infinities, and every page touched by the thread that will use it. */
        for (size_t i = 0; !failed && i < 3 * elements; i++) {
            worker->matrices[i] = (double)((int)(i % 17) - 8) / 16;
        }
    }
    if (failed) {
        fail_die("out of memory: %d times 3 matrices of order %llu", team->threads, (unsigned long long)order);
    }
    team->order = order;
}

int64_t compute_run(compute_team *team, uint64_t order) {
    int n = (int)order;
    size_t elements = (size_t)order * (size_t)order;
    int64_t begin = timer_now_ns();
#pragma omp parallel num_threads(team->threads)
    {
        struct worker *worker = &team->workers[omp_get_thread_num()];
        const double *a = worker->matrices;
        const double *b = a + elements;
        double *c = worker->matrices + 2 * elements;
        BLAS_NAME(cblas_dgemm)(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0, a, n, b, n, 0.0, c, n);
        worker->end = timer_now_ns();
    }
    int64_t slowest = 0;
    for (int i = 0; i < team->threads; i++) {
        int64_t time = team->workers[i].end - begin;
        slowest = time > slowest ? time : slowest;
    }
    return slowest;
}
