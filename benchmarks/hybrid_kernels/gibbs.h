/*
 * gibbs - the draws of Bayesian probabilistic matrix factorisation.
 *
 * R. Salakhutdinov, A. Mnih, "Bayesian probabilistic matrix factorization using Markov chain Monte Carlo", 2008,
 * section 3: the factors of rows and of columns have normal priors, whose means and precisions have a normal-Wishart
 * prior with mu_0 = 0, beta_0 = 2, nu_0 = GIBBS_RANK and W_0 = I.
 *
 * Sums over items are sums of whole numbers, multiples of 2^-30, so that they do not depend on how the items are
 * divided. No MPI.
 */
#pragma once

#include "philox.h"

#include <stddef.h>
#include <stdint.h>

/* Factors of an item; with 10 of them the sums of a side have 800 bytes, as in the paper. */
enum { GIBBS_RANK = 10, GIBBS_SUMS = GIBBS_RANK * GIBBS_RANK };

/* One over the unit of the sums. */
#define GIBBS_UNIT 0x1p30

/* What a rank contributes of its items: second moments in the upper triangle, first moments below it; and the sum of
 * all squares. */
struct gibbs_sums {
    int64_t moments[GIBBS_SUMS];
    int64_t squares;
};

/* Adds an item's factors. Dies where a factor is beyond +-64, which no scaled ratings give. */
void gibbs_add(struct gibbs_sums *sums, const double factors[GIBBS_RANK]);

/* What the factors of a side are drawn from. */
struct gibbs_prior {
    double mean[GIBBS_RANK];
    double precision[GIBBS_RANK * GIBBS_RANK];
};

/* Draws the prior from the moments of `count` items. */
struct gibbs_prior gibbs_draw_prior(const int64_t moments[GIBBS_SUMS], int64_t count, struct philox_stream stream);

/* A rating of an item by an item of the other side. */
struct gibbs_rating {
    int32_t other;
    double value;
};

/* Draws the factors of an item. others: [items of the other side][GIBBS_RANK]. noise_precision: one over the variance
 * of a rating. */
void gibbs_draw_factors(const struct gibbs_prior *prior, double noise_precision, const struct gibbs_rating *ratings,
                        size_t count, const double *others, struct philox_stream stream, double factors[GIBBS_RANK]);

/* Returns the scalar product of the factors of two items. */
double gibbs_product(const double left[GIBBS_RANK], const double right[GIBBS_RANK]);
