#include "gibbs.h"

#include "fail.h"

#include <math.h>
#include <string.h>

enum { K = GIBBS_RANK };
#define MOST_FACTOR 64.0
#define BETA_0 2.0
#define NU_0 K

/* Where the sum of factor k lies, below the diagonal. */
static int sum_place(int k) {
    return k < K - 1 ? (K - 1) * K + k : (K - 2) * K;
}

void gibbs_add(struct gibbs_sums *sums, const double factors[K]) {
    for (int i = 0; i < K; i++) {
        if (!(fabs(factors[i]) <= MOST_FACTOR)) {
            fail_die("a factor of bpmf is %g, beyond +-%g: the ratings do not fit the model", factors[i], MOST_FACTOR);
        }
        sums->moments[sum_place(i)] += llrint(factors[i] * GIBBS_UNIT);
        sums->squares += llrint(factors[i] * factors[i] * GIBBS_UNIT);
        for (int j = i; j < K; j++) {
            sums->moments[i * K + j] += llrint(factors[i] * factors[j] * GIBBS_UNIT);
        }
    }
}

double gibbs_product(const double left[K], const double right[K]) {
    double sum = 0;
    for (int k = 0; k < K; k++) {
        sum += left[k] * right[k];
    }
    return sum;
}

/* ---- small dense matrices, row by row; of a symmetric matrix the lower triangle counts ---- */

/* Makes the lower triangle L of L L^T = m, in place. */
static void decompose(double m[K * K]) {
    for (int j = 0; j < K; j++) {
        double pivot = m[j * K + j];
        for (int k = 0; k < j; k++) {
            pivot -= m[j * K + k] * m[j * K + k];
        }
        if (!(pivot > 0)) {
            fail_die("a matrix of bpmf is not positive definite");
        }
        m[j * K + j] = sqrt(pivot);
        for (int i = j + 1; i < K; i++) {
            double sum = m[i * K + j];
            for (int k = 0; k < j; k++) {
                sum -= m[i * K + k] * m[j * K + k];
            }
            m[i * K + j] = sum / m[j * K + j];
        }
    }
}

/* Solves L y = x in place. */
static void solve_lower(const double l[K * K], double x[K]) {
    for (int i = 0; i < K; i++) {
        for (int k = 0; k < i; k++) {
            x[i] -= l[i * K + k] * x[k];
        }
        x[i] /= l[i * K + i];
    }
}

/* Solves L^T y = x in place. */
static void solve_upper(const double l[K * K], double x[K]) {
    for (int i = K - 1; i >= 0; i--) {
        for (int k = i + 1; k < K; k++) {
            x[i] -= l[k * K + i] * x[k];
        }
        x[i] /= l[i * K + i];
    }
}

/* Inverts a symmetric matrix: both triangles of the result count. */
static void invert(const double m[K * K], double inverse[K * K]) {
    double l[K * K];
    memcpy(l, m, sizeof l);
    decompose(l);
    for (int column = 0; column < K; column++) {
        double x[K] = {0};
        x[column] = 1;
        solve_lower(l, x);
        solve_upper(l, x);
        for (int i = 0; i < K; i++) {
            inverse[i * K + column] = x[i];
        }
    }
}

/* ---- draws ---- */

/* Draws from the Wishart distribution of this scale and so many degrees of freedom (Bartlett 1934). */
static void draw_wishart(const double scale[K * K], double freedom, struct philox_stream *stream, double drawn[K * K]) {
    double l[K * K];
    double a[K * K] = {0};
    double product[K * K] = {0};
    memcpy(l, scale, sizeof l);
    decompose(l);
    for (int i = 0; i < K; i++) {
        a[i * K + i] = sqrt(2 * philox_gamma(stream, (freedom - i) / 2));
        for (int j = 0; j < i; j++) {
            a[i * K + j] = philox_normal(stream);
        }
    }
    for (int i = 0; i < K; i++) {
        for (int j = 0; j <= i; j++) {
            for (int k = j; k <= i; k++) {
                product[i * K + j] += l[i * K + k] * a[k * K + j];
            }
        }
    }
    for (int i = 0; i < K; i++) {
        for (int j = 0; j < K; j++) {
            drawn[i * K + j] = 0;
            for (int k = 0; k <= (i < j ? i : j); k++) {
                drawn[i * K + j] += product[i * K + k] * product[j * K + k];
            }
        }
    }
}

struct gibbs_prior gibbs_draw_prior(const int64_t moments[GIBBS_SUMS], int64_t count, struct philox_stream stream) {
    const double n = (double)count;
    const double beta = BETA_0 + n;
    struct gibbs_prior prior;
    double average[K];
    double inverse[K * K]; /* of the scale */
    double scale[K * K];
    double spread[K * K];
    double drawn[K];
    for (int i = 0; i < K; i++) {
        average[i] = (double)moments[sum_place(i)] / GIBBS_UNIT / n;
    }
    for (int i = 0; i < K; i++) {
        for (int j = 0; j < K; j++) {
            const int place = i < j ? i * K + j : j * K + i;
            const double second = (double)moments[place] / GIBBS_UNIT;
            inverse[i * K + j] =
                (i == j) + second - n * average[i] * average[j] + BETA_0 * n / beta * average[i] * average[j];
        }
    }
    invert(inverse, scale);
    draw_wishart(scale, NU_0 + n, &stream, prior.precision);
    memcpy(spread, prior.precision, sizeof spread);
    decompose(spread);
    for (int i = 0; i < K; i++) {
        drawn[i] = philox_normal(&stream);
    }
    solve_upper(spread, drawn);
    for (int i = 0; i < K; i++) {
        prior.mean[i] = n * average[i] / beta + drawn[i] / sqrt(beta);
    }
    return prior;
}

void gibbs_draw_factors(const struct gibbs_prior *prior, double noise_precision, const struct gibbs_rating *ratings,
                        size_t count, const double *others, struct philox_stream stream, double factors[K]) {
    double precision[K * K];
    double right[K] = {0};
    double drawn[K];
    memcpy(precision, prior->precision, sizeof precision);
    for (int i = 0; i < K; i++) {
        for (int j = 0; j < K; j++) {
            right[i] += prior->precision[i * K + j] * prior->mean[j];
        }
    }
    for (size_t r = 0; r < count; r++) {
        const double *other = others + (size_t)ratings[r].other * K;
        for (int i = 0; i < K; i++) {
            const double weighted = noise_precision * other[i];
            right[i] += weighted * ratings[r].value;
            for (int j = 0; j <= i; j++) {
                precision[i * K + j] += weighted * other[j];
            }
        }
    }
    decompose(precision);
    solve_lower(precision, right);
    for (int i = 0; i < K; i++) {
        drawn[i] = right[i] + philox_normal(&stream);
    }
    solve_upper(precision, drawn);
    memcpy(factors, drawn, sizeof drawn);
}
