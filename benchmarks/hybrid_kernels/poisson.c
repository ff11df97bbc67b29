/*
 * The two-dimensional Poisson equation (Zhou et al. 2020, section 5.3.2) on a square grid of n x n points, whose rows
 * are divided among the ranks: Gauss-Seidel sweeps, until the largest difference from the exact grid is small. That
 * difference takes an allreduce of 8 bytes in every iteration.
 *
 * The paper's Gauss-Seidel depends on the order of the rows. Here the order is red and black, so that the iterates, and
 * with them the number of iterations, do not depend on how the rows are divided. The exact grid is
 * sin(a i) sin(a j), whose half wave has about 16 points at every n: each iteration then reduces the difference by
 * cos^2(a), and all sizes take about as many iterations. The paper does not say its own right side.
 */
#include "fail.h"
#include "fail_hybrid.h"
#include "fail_mpi.h"
#include "kernel.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HALF_WAVE = 16, MOST_ITERATIONS = 100000, SETTLING_ITERATIONS = 2, TAG = 1 };
#define CONVERGENCE 1e-3

struct poisson {
    enum way way;
    MPI_Comm comm;
    int above; /* the ranks that have the rows before and after; MPI_PROC_NULL: there are none */
    int below;
    int n;
    int first; /* the grid's number of row 1 here */
    int rows;
    double *grid;  /* [rows + 2][n + 2], with a frame of zeros or of the neighbours' rows */
    double step;   /* a */
    double *wave;  /* [n + 2]: sin(a i) */
    double source; /* 4 (1 - cos a): with it the discrete equation has the exact grid as its solution */
    hybrid_memory *memory;
    int64_t most_iterations;
    int64_t iterations;
    double difference;
};

static double *row_of(const struct poisson *p, int row) {
    return p->grid + (size_t)row * (size_t)(p->n + 2);
}

/* ---- what all variants share ---- */

/* Exchanges the rows at the borders. */
static void exchange(const struct poisson *p) {
    MPI_CHECK(MPI_Sendrecv(row_of(p, 1), p->n + 2, MPI_DOUBLE, p->above, TAG, row_of(p, p->rows + 1), p->n + 2,
                           MPI_DOUBLE, p->below, TAG, p->comm, MPI_STATUS_IGNORE));
    MPI_CHECK(MPI_Sendrecv(row_of(p, p->rows), p->n + 2, MPI_DOUBLE, p->below, TAG, row_of(p, 0), p->n + 2, MPI_DOUBLE,
                           p->above, TAG, p->comm, MPI_STATUS_IGNORE));
}

/* Relaxes the points of one colour in rows [first, end). */
static void relax(const struct poisson *p, int colour, int first, int end) {
    for (int row = first; row < end; row++) {
        const double *up = row_of(p, row - 1);
        const double *down = row_of(p, row + 1);
        double *here = row_of(p, row);
        const double strength = p->source * p->wave[p->first + row - 1];
        for (int j = 1 + (p->first + row + colour) % 2; j <= p->n; j += 2) {
            here[j] = 0.25 * (up[j] + down[j] + here[j - 1] + here[j + 1] + strength * p->wave[j]);
        }
    }
}

/* Returns the largest difference from the exact grid in rows [first, end). */
static double difference(const struct poisson *p, int first, int end) {
    double largest = 0;
    for (int row = first; row < end; row++) {
        const double *here = row_of(p, row);
        const double height = p->wave[p->first + row - 1];
        for (int j = 1; j <= p->n; j++) {
            const double off = fabs(here[j] - height * p->wave[j]);
            largest = off > largest ? off : largest;
        }
    }
    return largest;
}

/* Notes the difference of all ranks after an iteration. */
static void note(struct poisson *p, double largest) {
    p->difference = largest;
    p->iterations++;
}

static bool goes_on(const struct poisson *p) {
    return !(p->difference < CONVERGENCE) && p->iterations < p->most_iterations;
}

static double iterate(const struct poisson *p) {
    for (int colour = 0; colour < 2; colour++) {
        exchange(p);
        relax(p, colour, 1, p->rows + 1);
    }
    return difference(p, 1, p->rows + 1);
}

/* ---- the variants ---- */

enum { MPI_FIRST = __LINE__ };
static void solve_mpi(void *state, struct team *team, int thread, struct stopwatch *w) {
    struct poisson *p = state;
    double largest = 0;
    do {
        const double own = iterate(p);
        stopwatch_computed(w);
        MPI_CHECK(MPI_Allreduce(&own, &largest, 1, MPI_DOUBLE, MPI_MAX, p->comm));
        stopwatch_communicated(w);
        note(p, largest);
    } while (goes_on(p));
}
enum { MPI_LINES = __LINE__ - MPI_FIRST - 1 };

enum { OPENMP_FIRST = __LINE__ };
static void solve_openmp(void *state, struct team *team, int thread, struct stopwatch *w) {
    struct poisson *p = state;
    const struct team_part part = team_own_part(team, thread, p->rows);
    do {
        for (int colour = 0; colour < 2; colour++) {
            if (thread == 0) {
                exchange(p);
            }
            team_meet(team);
            relax(p, colour, part.first + 1, part.end + 1);
            team_meet(team);
        }
        double largest = team_largest(team, thread, difference(p, part.first + 1, part.end + 1));
        if (thread == 0) {
            stopwatch_computed(w);
            MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_DOUBLE, MPI_MAX, p->comm));
            stopwatch_communicated(w);
            note(p, largest);
        }
        team_meet(team);
    } while (goes_on(p));
}
enum { OPENMP_LINES = __LINE__ - OPENMP_FIRST - 1 };

enum { HYBRID_FIRST = __LINE__ };
static void make_memory(struct poisson *p, const struct crew *crew) {
    HYBRID_CHECK(hybrid_memory_create(crew->hybrid, 1, sizeof(double), HYBRID_REDUCTION, &p->memory));
}

static void free_memory(struct poisson *p) {
    HYBRID_CHECK(hybrid_memory_free(&p->memory));
}

static void solve_hybrid(void *state, struct team *team, int thread, struct stopwatch *w) {
    struct poisson *p = state;
    double *own = NULL;
    const double *all = NULL;
    do {
        const double here = iterate(p);
        stopwatch_computed(w);
        HYBRID_CHECK(hybrid_write_input(p->memory, sizeof here, (void **)&own));
        *own = here;
        HYBRID_CHECK(hybrid_allreduce(p->memory, 1, MPI_DOUBLE, MPI_MAX, HYBRID_METHOD_AUTO));
        HYBRID_CHECK(hybrid_read(p->memory, (const void **)&all));
        note(p, *all);
        HYBRID_CHECK(hybrid_read_end(p->memory));
        stopwatch_communicated(w);
    } while (goes_on(p));
}
enum { HYBRID_LINES = __LINE__ - HYBRID_FIRST - 1 };

/* ---- the kernel ---- */

/* How many take part in the way with the fewest rows per part, which are the ranks. */
static void check_size(const struct crew *crew, const struct problem *problem, char *error, size_t error_size) {
    if (problem->size < crew->info.ranks) {
        snprintf(error, error_size, "--poisson-rows: %" PRId64 " rows cannot be divided among %d ranks; at least %d",
                 problem->size, crew->info.ranks, crew->info.ranks);
    }
}

static double bytes_needed(const struct crew *crew, const struct problem *problem) {
    const double row = 8.0 * (double)(problem->size + 2);
    const double rows = (double)problem->size / crew->info.ranks + 3;
    /* a part of a process in two ways; the leader has that of its node besides */
    return row * (2 * rows + (double)problem->size + 2);
}

static void *create(const struct crew *crew, enum way way, const struct problem *problem) {
    struct poisson *p = fail_alloc(1, sizeof *p);
    int rank = 0;
    int ranks = 0;
    p->way = way;
    p->comm = crew_comm(crew, way);
    MPI_CHECK(MPI_Comm_rank(p->comm, &rank));
    MPI_CHECK(MPI_Comm_size(p->comm, &ranks));
    p->above = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    p->below = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
    p->n = (int)problem->size;
    const struct team_part part = team_part_of(p->n, rank, ranks);
    p->first = part.first + 1;
    p->rows = part.end - part.first;
    p->grid = fail_alloc((size_t)(p->rows + 2) * (size_t)(p->n + 2), sizeof *p->grid);
    p->wave = fail_alloc((size_t)p->n + 2, sizeof *p->wave);
    const int half_waves = (p->n + 1) / HALF_WAVE > 0 ? (p->n + 1) / HALF_WAVE : 1;
    p->step = acos(-1) * half_waves / (p->n + 1);
    p->source = 4 * (1 - cos(p->step));
    if (way == WAY_HYBRID) {
        make_memory(p, crew);
    }
    return p;
}

static void destroy(void *state) {
    struct poisson *p = state;
    if (p->way == WAY_HYBRID) {
        free_memory(p);
    }
    free(p->wave);
    free(p->grid);
    free(p);
}

/* The threads that relax rows have touched them first. The wave, which all of them read, is thread 0's. */
static void reset(void *state, struct team *team, int thread, bool settles) {
    struct poisson *p = state;
    const struct team_part part = team_own_part(team, thread, p->rows);
    const int first = thread == 0 ? 0 : part.first + 1; /* with the frame */
    const int end = thread == team_threads(team) - 1 ? p->rows + 2 : part.end + 1;
    memset(row_of(p, first), 0, (size_t)(end - first) * (size_t)(p->n + 2) * sizeof *p->grid);
    if (thread == 0) {
        p->iterations = 0;
        p->most_iterations = settles ? SETTLING_ITERATIONS : MOST_ITERATIONS;
        p->difference = INFINITY;
    }
}

static void fill(void *state, struct team *team, int thread) {
    struct poisson *p = state;
    for (int i = 0; thread == 0 && i < p->n + 2; i++) {
        p->wave[i] = sin(p->step * i);
    }
    reset(p, team, thread, false);
}

static struct kernel_end end(void *state) {
    const struct poisson *p = state;
    uint64_t digest = 0;
    double largest = difference(p, 1, p->rows + 1);
    for (int row = 1; row <= p->rows; row++) {
        for (int j = 1; j <= p->n; j++) {
            largest = isfinite(row_of(p, row)[j]) ? largest : DBL_MAX; /* MPI_MAX may lose what is no number */
            digest +=
                kernel_digest_of((uint64_t)(p->first + row - 1) * (uint64_t)p->n + (uint64_t)j, row_of(p, row)[j]);
        }
    }
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &digest, 1, MPI_UINT64_T, MPI_SUM, p->comm));
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_DOUBLE, MPI_MAX, p->comm));
    return (struct kernel_end){.iterations = p->iterations,
                               .error = largest,
                               .digest = digest,
                               .right = largest < CONVERGENCE && largest == p->difference};
}

static struct kernel_bytes replicated(const void *state) {
    return (struct kernel_bytes){0, 0}; /* no rank needs the whole grid */
}

const struct kernel kernel_poisson = {
    .name = "poisson",
    .what = "the Poisson equation in two dimensions, by Gauss-Seidel sweeps; size: rows of the grid",
    .option = "poisson-rows",
    .collective = "MPI_Allreduce",
    .error_help = "largest difference from the exact grid",
    .lines = {[WAY_MPI] = MPI_LINES, [WAY_OPENMP] = OPENMP_LINES, [WAY_HYBRID] = HYBRID_LINES},
    .check = check_size,
    .bytes = bytes_needed,
    .create = create,
    .free = destroy,
    .fill = fill,
    .reset = reset,
    .solve = {[WAY_MPI] = solve_mpi, [WAY_OPENMP] = solve_openmp, [WAY_HYBRID] = solve_hybrid},
    .end = end,
    .replicated = replicated,
};
