#include "check.h"
#include "stats.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

static uint64_t state = 12345;

static double uniform(void) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(state >> 11) / 9007199254740992.0;
}

static void test_medians(void) {
    int64_t odd[] = {5, 1, 9};
    int64_t even[] = {4, 1, 2, 9};
    int64_t one[] = {7};
    CHECK(stats_median_of(odd, 3) == 5);
    CHECK(stats_median_of(even, 4) == 3);
    CHECK(stats_median_of(one, 1) == 7);
    CHECK(stats_median_of(NULL, 0) == 0);
}

/* Ranks from the tables of the binomial distribution. */
static void test_interval_ranks(void) {
    static const struct {
        size_t count, rank;
    } known[] = {{0, 0},  {5, 0},  {6, 1},  {8, 1},  {9, 2},   {11, 2},  {12, 3},
                 {15, 4}, {17, 5}, {20, 6}, {25, 8}, {30, 10}, {50, 18}, {100, 40}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        CHECK(stats_interval_rank(known[i].count) == known[i].rank);
    }
    CHECK(stats_interval_rank(STATS_FEWEST_FOR_INTERVAL - 1) == 0 &&
          stats_interval_rank(STATS_FEWEST_FOR_INTERVAL) == 1);
    CHECK(stats_interval_rank(STATS_FEWEST_WITHOUT_EXTREMES - 1) == 1 &&
          stats_interval_rank(STATS_FEWEST_WITHOUT_EXTREMES) == 2);
    /* The normal approximation for many: n/2 - 0.98 sqrt(n), within a rank or two. */
    for (size_t n = 1000; n <= 1000000; n *= 10) {
        double expected = (double)n / 2 - 0.98 * sqrt((double)n);
        CHECK(fabs((double)stats_interval_rank(n) - expected) < 2.5);
    }
}

static void fill(stats_values *series, int count, int64_t value, int more, int64_t other) {
    stats_clear(series);
    for (int i = 0; i < count + more; i++) {
        stats_add(series, i < count ? value : other);
    }
}

static void test_series(void) {
    stats_values *series = stats_create();
    int64_t low = -1;
    int64_t high = -1;
    CHECK(stats_median(series) == 0);
    CHECK(!stats_interval(series, &low, &high) && low == -1 && high == -1);
    CHECK(stats_relative_width(series) < 0);
    static const int64_t values[] = {110, 100, 90, 105, 95, 100};
    for (size_t i = 0; i < 6; i++) {
        stats_add(series, values[i]);
    }
    CHECK(stats_count(series) == 6);
    CHECK(stats_median(series) == 100);
    CHECK(stats_interval(series, &low, &high) && low == 90 && high == 110);
    CHECK(!stats_sure_interval(series, &low, &high)); /* of 11 values the extremes miss it once in 1024 times */
    CHECK(fabs(stats_relative_width(series) - 0.2) < 1e-12);
    stats_clear(series);
    CHECK(stats_count(series) == 0);
    fill(series, 500, 42, 0, 0);
    CHECK(stats_relative_width(series) == 0);
    stats_destroy(series);
}

/* Narrow is not enough: the 99.9 % interval, or all samples where there are too few for it, must be within twice the
 * asked width. */
static void test_settled(void) {
    stats_values *series = stats_create();
    CHECK(!stats_settled(series, 10));
    for (int i = 0; i < 9; i++) {
        stats_add(series, 1000 + i);
    }
    CHECK(stats_settled(series, 0.006) && !stats_settled(series, 0.0059)); /* [2nd, 8th] of 9 */
    CHECK(!stats_settled(series, NAN));
    fill(series, 8, 1000, 1, 1040);
    CHECK(stats_relative_width(series) == 0);
    CHECK(!stats_settled(series, 0.0199) && stats_settled(series, 0.02)); /* all of them: 0.04 */
    fill(series, 28, 1000, 12, 2000); /* 95 %: ranks 14 to 27, within one peak; 99.9 %: 10 to 31 */
    CHECK(stats_relative_width(series) == 0);
    CHECK(!stats_settled(series, 0.4) && stats_settled(series, 0.5));
    fill(series, 31, 1000, 9, 2000);
    CHECK(stats_settled(series, 0));
    fill(series, 40, 0, 0, 0);
    CHECK(!stats_settled(series, 10)); /* nothing is relative to 0 */
    stats_destroy(series);
}

enum { SERIES = 10000 };

/* Share of the intervals that cover the median, over synthetic series of which it is known. */
static double coverage(size_t count, int64_t (*draw)(void), int64_t median) {
    int covered = 0;
    stats_values *series = stats_create();
    for (int i = 0; i < SERIES; i++) {
        int64_t low = 0;
        int64_t high = 0;
        stats_clear(series);
        for (size_t j = 0; j < count; j++) {
            stats_add(series, draw());
        }
        CHECK(stats_interval(series, &low, &high));
        covered += low <= median && median <= high;
    }
    stats_destroy(series);
    return (double)covered / SERIES;
}

static int64_t draw_uniform(void) {
    return 1000000 + (int64_t)(1e9 * uniform());
}

static int64_t draw_skewed(void) { /* exponential above a floor: its median is 1000000 + 693147 */
    return 1000000 + (int64_t)(-1e6 * log(1 - uniform()));
}

static int64_t draw_heavy(void) { /* Pareto of index 1: no mean; its median is twice the smallest */
    return (int64_t)(1e6 / (1 - uniform()));
}

static int64_t draw_bimodal(void) { /* two peaks, the median between them */
    return uniform() < 0.5 ? 100 + (int64_t)(10 * uniform()) : 200 + (int64_t)(10 * uniform());
}

static int64_t draw_tied(void) { /* three values only; the median is the middle one */
    double x = uniform();
    return x < 0.3 ? 1 : x < 0.7 ? 2 : 3;
}

/* 1 - 2 P(B <= k-1): what the interval covers of any continuous distribution, exactly. */
static double exact_coverage(size_t count) {
    double term = pow(0.5, (double)count);
    double missed = 0;
    for (size_t i = 0; i < stats_interval_rank(count); i++) {
        missed += 2 * term;
        term *= (double)(count - i) / (double)(i + 1);
    }
    return 1 - missed;
}

/* At least nominal, and for continuous distributions just what theory says; judged with the standard error of the
 * simulation, 0.0022 at 0.95: three of them below nominal, three and a half (24 tests) around theory. */
static void test_coverage(void) {
    static const struct {
        int64_t (*draw)(void);
        int64_t median;
        bool continuous;
    } known[] = {{draw_uniform, 501000000, true},
                 {draw_skewed, 1693147, true},
                 {draw_heavy, 2000000, true},
                 {draw_bimodal, 150, true},
                 {draw_tied, 2, false}};
    static const size_t counts[] = {6, 7, 9, 12, 25, 101};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        double exact = exact_coverage(counts[i]);
        CHECK(exact >= 0.95);
        for (size_t d = 0; d < sizeof known / sizeof *known; d++) {
            double covered = coverage(counts[i], known[d].draw, known[d].median);
            CHECK(covered >= 0.95 - 3 * sqrt(0.95 * 0.05 / SERIES));
            CHECK(!known[d].continuous || fabs(covered - exact) <= 3.5 * sqrt(exact * (1 - exact) / SERIES));
        }
    }
    for (size_t n = STATS_FEWEST_FOR_INTERVAL; n < 1000; n++) {
        CHECK(exact_coverage(n) >= 0.95);
    }
}

/* Half the width of the 90 % interval of a mean, by the tables of Student's distribution. */
static void test_means(void) {
    static const struct {
        size_t count;
        double quantile; /* of count - 1 degrees of freedom */
    } known[] = {{6, 2.015048}, {10, 1.833113}, {30, 1.699127}, {150, 1.655145}};
    int64_t values[150];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const size_t n = known[i].count;
        double squares = 0;
        for (size_t j = 0; j < n; j++) {
            values[j] = 1000 + (j % 2 == 0 ? 30 : -30);
            squares += 900;
        }
        const struct stats_mean found = stats_mean_of(values, n);
        const double expected = known[i].quantile * sqrt(squares / (double)(n - 1) / (double)n);
        CHECK(found.mean == 1000);
        CHECK(fabs(found.half_width / expected - 1) < 1e-4);
    }
    CHECK(isnan(stats_mean_of(values, 0).mean));
    CHECK(stats_mean_of(values, 2).mean == 1000 && isnan(stats_mean_of(values, 2).half_width));
}

int main(void) {
    test_medians();
    test_means();
    test_interval_ranks();
    test_series();
    test_settled();
    test_coverage();
    return 0;
}
