#include "solver.h"

#include "fail.h"
#include "fail_mpi.h"
#include "phase.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The vectors: the solution; the residual; the direction; the product, which is exchanged; and those of the pipelined
 * method, w = A r, s = A p, z = A s. Its q is PRODUCT until it is added to Z. */
enum vector { X, R, P, PRODUCT, W, S, Z, VECTORS };
_Static_assert((int)VECTORS <= (int)SOLVER_VECTORS, "SOLVER_VECTORS is too small");

/* Pieces into which the interior is cut where MPI_Testall is called between them. */
enum { TEST_PIECES = 16 };

double solver_bytes(int64_t points, int ranks, int64_t unknowns) {
    return (double)points / ranks * (double)unknowns * (VECTORS + 1) * sizeof(double);
}

static size_t values_of(const struct solver *s) {
    return (size_t)(s->domain->rows + s->domain->ghosts) * (size_t)s->unknowns;
}

struct solver solver_make(const struct grid *g, const struct domain *d, const struct ordered_sum *sum, int unknowns,
                          int threads, double tolerance, int max_iterations, MPI_Comm comm) {
    struct solver s = {.domain = d,
                       .sum = sum,
                       .comm = comm,
                       .unknowns = unknowns,
                       .threads = threads,
                       .tolerance = tolerance,
                       .max_iterations = max_iterations,
                       .of_leaves = fail_alloc((size_t)d->leaves, sizeof *s.of_leaves),
                       .pieces = fail_alloc(2 * (size_t)sum->count, sizeof *s.pieces)};
    const size_t values = values_of(&s);
    for (int i = 0; i < VECTORS; i++) {
        s.vectors[i] = fail_alloc(values, sizeof *s.vectors[i]);
    }
    s.right_side = fail_alloc(values, sizeof *s.right_side);
    for (size_t i = 0; i < values; i++) {
        s.right_side[i] = grid_right_side(g, d->numbers[i / (size_t)unknowns], (int64_t)(i % (size_t)unknowns));
    }
    s.halo = halo_make(d, unknowns, s.vectors[PRODUCT], comm);
    return s;
}

void solver_free(struct solver *s) {
    halo_free(&s->halo);
    for (int i = 0; i < VECTORS; i++) {
        free(s->vectors[i]);
    }
    free(s->right_side);
    free(s->of_leaves);
    free(s->pieces);
    *s = (struct solver){.domain = NULL};
}

void solver_reset(struct solver *s, double scale, bool coupled) {
    const size_t own = (size_t)s->domain->rows * (size_t)s->unknowns;
    const size_t values = values_of(s);
    for (int i = 0; i < VECTORS; i++) {
        memset(s->vectors[i], 0, values * sizeof *s->vectors[i]);
    }
    for (size_t i = 0; i < (coupled ? values : own); i++) {
        s->vectors[R][i] = scale * s->right_side[i];
    }
}

double solve_residual(const struct solve *solve) {
    return sqrt(solve->squared / solve->first_squared);
}

/* ---- computation ---- */

enum { WIDEST_BLOCK = 8 };

/* A x for the unknowns [first, first + width) of a row. The caller's width is a constant, so that the sums stay in
 * registers. coupled: GRID_COUPLING times the sum of all unknowns of the point. */
static inline void multiply_block(const struct solver *s, int row, const double *x, double *product, size_t first,
                                  size_t width, double coupled) {
    const struct domain *d = s->domain;
    const size_t unknowns = (size_t)s->unknowns;
    const double *own = x + (size_t)row * unknowns + first;
    double sums[WIDEST_BLOCK];
    for (size_t a = 0; a < width; a++) {
        sums[a] = d->diagonal[row] * own[a] + coupled;
    }
    for (int e = d->first[row]; e < d->first[row + 1]; e++) {
        const double value = d->value[e];
        const double *other = x + (size_t)d->column[e] * unknowns + first;
        for (size_t a = 0; a < width; a++) {
            sums[a] += value * other[a];
        }
    }
    for (size_t a = 0; a < width; a++) {
        product[(size_t)row * unknowns + first + a] = sums[a];
    }
}

/* A x for one row. */
static inline void multiply_row(const struct solver *s, int row, const double *x, double *product) {
    const size_t unknowns = (size_t)s->unknowns;
    const double *own = x + (size_t)row * unknowns;
    double coupled = 0;
    size_t first = 0;
    for (size_t a = 0; a < unknowns; a++) {
        coupled += own[a];
    }
    coupled *= GRID_COUPLING;
    for (; first + 8 <= unknowns; first += 8) {
        multiply_block(s, row, x, product, first, 8, coupled);
    }
    for (; first + 2 <= unknowns; first += 2) {
        multiply_block(s, row, x, product, first, 2, coupled);
    }
    if (first < unknowns) {
        multiply_block(s, row, x, product, first, 1, coupled);
    }
}

/* PRODUCT = A x for the rows order[from, end). */
static void multiply(struct solver *s, const double *x, int from, int end) {
    const int *order = s->domain->order;
    double *product = s->vectors[PRODUCT];
#pragma omp parallel for num_threads(s->threads) schedule(static) if (s->threads > 1)
    for (int k = from; k < end; k++) {
        multiply_row(s, order[k], x, product);
    }
}

/* y += factor * x, for all values or for this rank's own. */
static void add(const struct solver *s, size_t values, double factor, const double *restrict x, double *restrict y) {
#pragma omp parallel for num_threads(s->threads) schedule(static) if (s->threads > 1)
    for (size_t i = 0; i < values; i++) {
        y[i] += factor * x[i];
    }
}

/* y = x + factor * y. */
static void renew(const struct solver *s, size_t values, double factor, const double *restrict x, double *restrict y) {
#pragma omp parallel for num_threads(s->threads) schedule(static) if (s->threads > 1)
    for (size_t i = 0; i < values; i++) {
        y[i] = x[i] + factor * y[i];
    }
}

/* This rank's pieces of the sum of x y. */
static void dot(struct solver *s, const double *x, const double *y, double *pieces) {
    const struct domain *d = s->domain;
    const size_t unknowns = (size_t)s->unknowns;
#pragma omp parallel for num_threads(s->threads) schedule(static) if (s->threads > 1)
    for (int leaf = 0; leaf < d->leaves; leaf++) {
        double sum = 0;
        for (size_t i = (size_t)d->leaf_first[leaf] * unknowns; i < (size_t)d->leaf_first[leaf + 1] * unknowns; i++) {
            sum += x[i] * y[i];
        }
        s->of_leaves[leaf] = sum;
    }
    ordered_sum_pieces(s->sum, s->of_leaves, pieces);
}

/* Collective: the sum of x y over all ranks; with `alone` over this rank. */
static double total(struct solver *s, const double *x, const double *y, bool alone) {
    dot(s, x, y, s->pieces);
    if (!alone) {
        MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, s->pieces, s->sum->count, MPI_DOUBLE, MPI_SUM, s->comm));
    }
    return ordered_sum_total(s->sum, s->pieces);
}

/* ---- the product with its exchange ---- */

static void multiply_interior(struct solver *s, const struct variant *v, const double *x) {
    const int from = s->domain->chunk_end[DOMAIN_CHUNKS - 1];
    const int64_t rows = s->domain->rows - from;
    const int pieces = v->early && v->tests ? TEST_PIECES : 1;
    bool open = pieces > 1;
    for (int i = 0; i < pieces; i++) {
        multiply(s, x, from + (int)(rows * i / pieces), from + (int)(rows * (i + 1) / pieces));
        open = open && !halo_test(&s->halo);
    }
}

static void multiply_and_exchange(struct solver *s, const struct variant *v, const double *x) {
    int from = 0;
    for (int c = 0; c < DOMAIN_CHUNKS; c++) {
        multiply(s, x, from, s->domain->chunk_end[c]);
        from = s->domain->chunk_end[c];
        if (v->chunked) {
            halo_start_chunk(&s->halo, v->way, c);
        }
    }
    if (v->early && !v->chunked) {
        halo_start(&s->halo, v->way);
    }
    multiply_interior(s, v, x);
    if (!v->early) {
        halo_start(&s->halo, v->way);
    }
    halo_wait(&s->halo);
}

/* ---- solving ---- */

static uint64_t digest(uint64_t so_far, double number) {
    unsigned char bytes[sizeof number];
    memcpy(bytes, &number, sizeof number);
    for (size_t i = 0; i < sizeof number; i++) {
        so_far = (so_far ^ bytes[i]) * UINT64_C(1099511628211);
    }
    return so_far;
}

static void begin_history(struct solve *found, double squared) {
    found->first_squared = squared;
    found->squared = squared;
    found->history = digest(UINT64_C(14695981039346656037), squared);
}

/* Notes the residual after one more iteration. Returns whether it is small enough. */
static bool note(const struct solver *s, struct solve *found, double squared) {
    found->iterations++;
    found->squared = squared;
    found->history = digest(found->history, squared);
    found->converged = squared <= s->tolerance * s->tolerance * found->first_squared;
    return found->converged;
}

/* Returns 0 where a rank's own system is solved to the last bit. */
static double quotient(double a, double b) {
    return b != 0 ? a / b : 0;
}

static struct solve conjugate_gradients(struct solver *s, const struct variant *v, int iterations, bool alone) {
    struct solve found = {.iterations = 0};
    double *const *u = s->vectors;
    const size_t own = (size_t)s->domain->rows * (size_t)s->unknowns;
    const size_t values = values_of(s);
    double squared = total(s, u[R], u[R], alone);
    begin_history(&found, squared);
    memcpy(u[P], u[R], values * sizeof *u[P]);
    for (int i = 0; i < iterations; i++) {
        multiply_and_exchange(s, v, u[P]);
        const double alpha = quotient(squared, total(s, u[P], u[PRODUCT], alone));
        add(s, own, alpha, u[P], u[X]);
        add(s, values, -alpha, u[PRODUCT], u[R]);
        const double next = total(s, u[R], u[R], alone);
        if (note(s, &found, next) && !alone) {
            break;
        }
        renew(s, values, quotient(next, squared), u[R], u[P]);
        squared = next;
    }
    return found;
}

static struct solve pipelined_conjugate_gradients(struct solver *s, const struct variant *v) {
    struct solve found = {.iterations = 0};
    double *const *u = s->vectors;
    const size_t own = (size_t)s->domain->rows * (size_t)s->unknowns;
    const size_t values = values_of(s);
    const int count = s->sum->count;
    double gamma = 0; /* (r, r) and alpha of the iteration before */
    double alpha = 0;
    multiply_and_exchange(s, v, u[R]);
    memcpy(u[W], u[PRODUCT], values * sizeof *u[W]);
    for (int i = 0; i <= s->max_iterations; i++) {
        MPI_Request request = MPI_REQUEST_NULL;
        dot(s, u[R], u[R], s->pieces);
        dot(s, u[W], u[R], s->pieces + count);
        MPI_CHECK(MPI_Iallreduce(MPI_IN_PLACE, s->pieces, 2 * count, MPI_DOUBLE, MPI_SUM, s->comm, &request));
        multiply_and_exchange(s, v, u[W]);
        MPI_CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        const double next = ordered_sum_total(s->sum, s->pieces);
        const double delta = ordered_sum_total(s->sum, s->pieces + count);
        if (i == 0) {
            begin_history(&found, next);
        } else if (note(s, &found, next)) {
            break;
        }
        const double beta = i > 0 ? quotient(next, gamma) : 0;
        alpha = quotient(next, i > 0 ? delta - beta * next / alpha : delta);
        gamma = next;
        renew(s, values, beta, u[PRODUCT], u[Z]);
        renew(s, values, beta, u[W], u[S]);
        renew(s, own, beta, u[R], u[P]);
        add(s, own, alpha, u[P], u[X]);
        add(s, own, -alpha, u[S], u[R]);
        add(s, values, -alpha, u[Z], u[W]);
    }
    return found;
}

struct solve solver_run(struct solver *s, const struct variant *v) {
    phase_collective(v->name);
    phase_enter(PHASE_COMPUTATION);
    return v->pipelined ? pipelined_conjugate_gradients(s, v) : conjugate_gradients(s, v, s->max_iterations, false);
}

int64_t solver_wrong_ghosts(struct solver *s, const struct variant *v) {
    const double *updated = s->vectors[v->pipelined ? W : R];
    const size_t own = (size_t)s->domain->rows * (size_t)s->unknowns;
    int64_t wrong = 0;
    memcpy(s->vectors[PRODUCT], updated, own * sizeof *updated);
    halo_start(&s->halo, HALO_POINT_TO_POINT);
    halo_wait(&s->halo);
    for (size_t i = own; i < values_of(s); i++) {
        wrong += s->vectors[PRODUCT][i] != updated[i];
    }
    return wrong;
}

void solver_compute_alone(struct solver *s, int iterations) {
    const struct variant alone = {.name = "computation alone", .way = HALO_NOTHING};
    phase_enter(PHASE_COMPUTATION_ALONE);
    conjugate_gradients(s, &alone, iterations, true);
}

void solver_communicate_alone(struct solver *s, const struct variant *v, int iterations, bool sums) {
    phase_collective("the exchange alone");
    phase_enter(PHASE_CALL);
    memset(s->pieces, 0, 2 * (size_t)s->sum->count * sizeof *s->pieces);
    for (int i = 0; i < iterations; i++) {
        halo_start(&s->halo, v->way);
        halo_wait(&s->halo);
        for (int k = 0; sums && k < 2; k++) {
            MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, s->pieces, s->sum->count, MPI_DOUBLE, MPI_SUM, s->comm));
        }
    }
}
