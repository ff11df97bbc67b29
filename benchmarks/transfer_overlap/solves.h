/*
 * solves - the points of transfer_overlap: a grid, a number of unknowns per point, and a variant of the solver.
 *
 * In each repetition the communication alone, the computation alone, the solve that does not overlap and the variant's
 * solve run in turn; the last two change places from repetition to repetition. The right side is scaled by another
 * power of two in each, so that a value of an earlier repetition cannot be taken for the right one, and the residual
 * after the last iteration is compared, bit by bit, with the one that it must have.
 */
#pragma once

#include "program.h"
#include "solver.h"

enum { AXIS_POINTS, AXIS_UNKNOWNS, AXIS_VARIANT, AXES };

/* A pipelined solver may take so many iterations more or fewer. */
enum { SOLVES_MORE_ITERATIONS = 2 };

struct solves {
    struct program *program;
    const int64_t *grid_points;
    size_t grid_count;
    const int64_t *unknowns;
    size_t unknowns_count;
    const int64_t *variants; /* indices of variant_table */
    size_t variant_count;
    double tolerance;
    int max_iterations;
    uint64_t seed;
    enum partitioner partitioner;

    /* The system that is measured now. */
    struct {
        bool made;
        int64_t points;
        int64_t unknowns;
        struct grid grid;
        struct partition partition;
        struct ordered_sum sum;
        struct domain domain;
        struct domain_facts facts;
        struct solver solver;
        /* How solves without overlap end, with and without an exchange: [whether there is one]. */
        struct solve expected[2];
        bool solved[2];
        int64_t solve_ns; /* about how long one takes */
    } system;

    /* The point that is measured now. */
    struct {
        struct variant variant;
        struct variant reference;
        struct solve expected; /* of the variant, with the right side as it is */
        struct solve expected_of_reference;
    } point;

    uint64_t repetition;
    struct solve last; /* the solve that was made last */
    int64_t faults;
    char fault[320];
};

extern const struct sampler_kind solves_points;

/* Collective: solves every system once by every version, and times nothing. One line in error, the same on all ranks,
 * where one does not converge, or where residuals differ that must be the same. prints: rank 0 prints a line for each.
 */
void solves_try(struct solves *o, bool prints, char *error, size_t error_size);

/* One line in error, the same on all ranks, where a system that was asked for does not fit these ranks, their memory or
 * MPI's counts. error: not changed where it has a line already. */
void solves_check(const struct solves *o, char *error, size_t error_size);

/* For struct program_kind; the context is a struct solves. */
bool solves_end(struct program *program, void *context, char *reason, size_t reason_size);
