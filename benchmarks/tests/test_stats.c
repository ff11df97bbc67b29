#include "check.h"
#include "stats.h"

#include <math.h>
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
    } known[] = {{0, 0},  {5, 0},  {6, 1},  {8, 1},   {9, 2},     {11, 2},    {12, 3},
                 {15, 4}, {17, 5}, {20, 6}, {25, 8},  {30, 10},   {50, 18},   {100, 40}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        CHECK(stats_interval_rank(known[i].count) == known[i].rank);
    }
    CHECK(stats_interval_rank(STATS_FEWEST_FOR_INTERVAL - 1) == 0 && stats_interval_rank(STATS_FEWEST_FOR_INTERVAL) == 1);
    CHECK(stats_interval_rank(STATS_FEWEST_WITHOUT_EXTREMES - 1) == 1 && stats_interval_rank(STATS_FEWEST_WITHOUT_EXTREMES) == 2);
    /* The normal approximation for many: n/2 - 0.98 sqrt(n), within a rank or two. */
    for (size_t n = 1000; n <= 1000000; n *= 10) {
        double expected = (double)n / 2 - 0.98 * sqrt((double)n);
        CHECK(fabs((double)stats_interval_rank(n) - expected) < 2.5);
    }
}

static void test_series(void) {
    stats_series *series = stats_create();
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
    CHECK(fabs(stats_relative_width(series) - 0.2) < 1e-12);
    stats_clear(series);
    CHECK(stats_count(series) == 0);
    for (int i = 0; i < 500; i++) {
        stats_add(series, 42);
    }
    CHECK(stats_relative_width(series) == 0);
    stats_destroy(series);
}

/* Coverage of the interval over synthetic series with known medians: at least its nominal level, less the error of the experiment. */
static double coverage(size_t count, int64_t (*draw)(void), int64_t median) {
    enum { SERIES = 4000 };
    int covered = 0;
    stats_series *series = stats_create();
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

static int64_t draw_skewed(void) { /* exponential above a floor: its median is 1000000 + 693147 */
    return 1000000 + (int64_t)(-1e6 * log(1 - uniform()));
}

static int64_t draw_bimodal(void) { /* two peaks, the median between them */
    return uniform() < 0.5 ? 100 + (int64_t)(10 * uniform()) : 200 + (int64_t)(10 * uniform());
}

static int64_t draw_tied(void) { /* three values only; the median is the middle one */
    double x = uniform();
    return x < 0.3 ? 1 : x < 0.7 ? 2 : 3;
}

int main(void) {
    test_medians();
    test_interval_ranks();
    test_series();
    static const size_t counts[] = {6, 7, 12, 25, 101};
    for (size_t i = 0; i < 5; i++) {
        CHECK(coverage(counts[i], draw_skewed, 1693147) > 0.94);
        CHECK(coverage(counts[i], draw_bimodal, 150) > 0.94);
        CHECK(coverage(counts[i], draw_tied, 2) > 0.94);
    }
    return 0;
}
