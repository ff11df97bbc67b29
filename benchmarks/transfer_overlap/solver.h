/*
 * solver - solves the system of a grid by conjugate gradients (M. R. Hestenes, E. Stiefel, 1952), in which the product
 * with the matrix communicates as a variant says; or by pipelined conjugate gradients (P. Ghysels, W. Vanroose, Hiding
 * global synchronization latency in the preconditioned Conjugate Gradient algorithm, Parallel Computing 40, 2014,
 * algorithm 3), in which the sums are under way during the product.
 *
 * As in White & Bova (1999, figures 10 and 11) the values of the product at the interfaces are exchanged: each rank
 * computes its rows, and gets the results of its ghosts' rows from their owners. All other vectors are updated for the
 * ghosts by every rank that has them, with the same operations, so that they have the owner's bits.
 */
#pragma once

#include "domain.h"
#include "halo.h"
#include "ordered_sum.h"
#include "variants.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

enum { SOLVER_VECTORS = 8 };

struct solver {
    const struct domain *domain;
    const struct ordered_sum *sum;
    MPI_Comm comm;
    int unknowns;
    int threads;
    double tolerance; /* the residual relative to the first one at which a solve ends */
    int max_iterations;
    struct halo halo;
    double *vectors[SOLVER_VECTORS];
    double *right_side;
    double *of_leaves; /* [leaves] */
    double *pieces;    /* [2 * pieces of the sum] */
};

/* How a solve ended. */
struct solve {
    int iterations;
    double first_squared; /* squared norm of the residual before the first iteration */
    double squared;       /* and after the last */
    bool converged;
    uint64_t history; /* of all squared norms of the residual: FNV-1a over their bits */
};

/* Collective: makes the vectors and the exchange. Free with solver_free, which is collective too. */
struct solver solver_make(const struct grid *g, const struct domain *d, const struct ordered_sum *sum, int unknowns,
                          int threads, double tolerance, int max_iterations, MPI_Comm comm);
void solver_free(struct solver *s);

/* Begins anew: x = 0, and the residual is scale times the right side. Without coupling all ghosts are 0 and stay so
 * where nothing is exchanged: each rank then has a system of its own. */
void solver_reset(struct solver *s, double scale, bool coupled);

/* Collective, after solver_reset: solves. */
struct solve solver_run(struct solver *s, const struct variant *v);

/* Collective, after solver_run with an exchange: returns how many values of this rank's ghosts differ from their
 * owners'. The last exchange of a solve changes no sum, so that the residuals do not show what it did. */
int64_t solver_wrong_ghosts(struct solver *s, const struct variant *v);

/* After solver_reset without coupling: makes so many iterations of conjugate gradients on this rank's own system: the
 * computation of a solve, without any call of MPI. */
void solver_compute_alone(struct solver *s, int iterations);

/* Collective: makes the exchanges of so many iterations as v does them, and with sums also the MPI_Allreduce of two
 * sums per iteration: the communication of a solve, without the computation. */
void solver_communicate_alone(struct solver *s, const struct variant *v, int iterations, bool sums);

/* Returns the norm of a solve's last residual relative to the first one. */
double solve_residual(const struct solve *solve);

/* Returns the bytes of a rank's vectors. */
double solver_bytes(int64_t points, int ranks, int64_t unknowns);
