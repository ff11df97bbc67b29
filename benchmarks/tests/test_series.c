#include "bits.h"
#include "check.h"
#include "series.h"
#include "stats.h"

#include <math.h>
#include <stdint.h>

/* Under the sanitizers, which look at memory and at no statistics, simulations are a third as long. */
#ifdef __SANITIZE_ADDRESS__
enum { SHARE = 3 };
#else
enum { SHARE = 1 };
#endif

static uint64_t state = 1;

static double uniform(void) { /* in (0, 1): splitmix64 */
    state += BITS_STEP;
    return ((double)(bits_mix(state) >> 12) + 0.5) / 4503599627370496.0;
}

static double normal(void) {
    return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

/* ---- noise around 1 whose median is known, of a given spread ---- */

static double draw_lognormal(double spread) {
    return exp(spread * normal());
}

static double draw_exponential(double spread) {
    return 1 + spread * (-log(uniform()) - log(2.0));
}

static double draw_cauchy(double spread) { /* half of one: no mean, no variance */
    return 1 + spread * (fabs(tan(3.141592653589793 * (uniform() - 0.5))) - 1);
}

static double
draw_mostly_fast(double spread) { /* 30 % in a second, slower peak that is apart; the median is in the first */
    /* 0.7 F(x) = 1/2 of uniform peaks that are spread wide: x = 5/7 of the first */
    return uniform() < 0.7 ? 1 + spread * (uniform() - 5.0 / 7) : 1 + spread * (2 + uniform());
}

static double draw_two_peaks(
    double spread) { /* of equal weight, 2 spread apart, narrow; the median is anything between, say the middle */
    return 1 + (uniform() < 0.5 ? spread : -spread) + 0.1 * spread * normal();
}

static double draw_ties(double spread) { /* a coarse clock */
    return 1 + spread * floor(1.5 * normal() + 0.5);
}

typedef double draw_function(double spread);

#define SCALE 1e9

static int64_t time_of(double value) {
    return (int64_t)(SCALE * fmax(value, 0.001) + 0.5);
}

/* ---- the whole of a point ---- */

struct stopped {
    double covered;     /* share of the points whose interval covers the median */
    double repetitions; /* in the mean */
};

enum { FEWEST = 9, CAP = 100, POINTS = 2000 / SHARE };

static const double asked = 0.02;

/* Repeats as the benchmarks do; careless: looks after every sample and stops at the first interval that is narrow. */
static struct stopped run_points(draw_function *draw, double spread, double transient, double fade, bool careless) {
    stats_values *kept = stats_create();
    struct stopped result = {0};
    for (int point = 0; point < POINTS; point++) {
        int64_t times[CAP];
        bool done = false;
        stats_clear(kept);
        for (size_t n = 1; !done; n++) {
            times[n - 1] = time_of(draw(spread) * (1 + transient * exp(-(double)(n - 1) / fade)));
            if (careless) {
                stats_add(kept, times[n - 1]);
            }
            if (n < FEWEST || (n < CAP && !careless && !series_look(n, FEWEST))) {
                continue;
            }
            size_t warmup = careless ? 0 : series_warmup(times, n);
            if (!careless) {
                stats_clear(kept);
                for (size_t i = warmup; i < n; i++) {
                    stats_add(kept, times[i]);
                }
            }
            bool narrow = careless ? stats_relative_width(kept) <= asked
                                   : series_outlived(n, warmup) && stats_settled(kept, asked);
            if (narrow || n == CAP) {
                int64_t low = 0;
                int64_t high = 0;
                CHECK(stats_interval(kept, &low, &high));
                result.covered += (double)(low <= time_of(1) && time_of(1) <= high) / POINTS;
                result.repetitions += (double)n / POINTS;
                done = true;
            }
        }
    }
    stats_destroy(kept);
    return result;
}

/* At least the share that series.h states, less three standard errors of this simulation. */
static bool reaches(double covered, double stated) {
    return covered >= stated - 3 * sqrt(stated * (1 - stated) / POINTS);
}

static void test_points(void) {
    static const struct {
        const char *name;
        draw_function *draw;
        double spread;
    } noise[] = {{"lognormal", draw_lognormal, 0.005},
                 {"lognormal", draw_lognormal, 0.01},
                 {"lognormal", draw_lognormal, 0.02},
                 {"lognormal", draw_lognormal, 0.03},
                 {"lognormal", draw_lognormal, 0.05},
                 {"lognormal", draw_lognormal, 0.2},
                 {"exponential", draw_exponential, 0.01},
                 {"exponential", draw_exponential, 0.03},
                 {"exponential", draw_exponential, 0.1},
                 {"cauchy", draw_cauchy, 0.005},
                 {"cauchy", draw_cauchy, 0.02},
                 {"cauchy", draw_cauchy, 0.05},
                 {"mostly fast", draw_mostly_fast, 0.02},
                 {"mostly fast", draw_mostly_fast, 0.05},
                 {"two peaks", draw_two_peaks, 0.005},
                 {"two peaks", draw_two_peaks, 0.03},
                 {"two peaks", draw_two_peaks, 0.1},
                 {"ties", draw_ties, 0.005},
                 {"ties", draw_ties, 0.02}};
    printf("%-14s %7s %9s %12s   %s\n", "noise", "spread", "covered", "repetitions", "careless: covered, repetitions");
    for (size_t i = 0; i < sizeof noise / sizeof *noise; i++) {
        struct stopped careful = run_points(noise[i].draw, noise[i].spread, 0, 1, false);
        struct stopped careless = run_points(noise[i].draw, noise[i].spread, 0, 1, true);
        printf("%-14s %6.1f%% %9.3f %12.1f   %9.3f %12.1f\n", noise[i].name, 100 * noise[i].spread, careful.covered,
               careful.repetitions, careless.covered, careless.repetitions);
        CHECK(reaches(careful.covered, 0.93));
        CHECK(careful.repetitions <= 1.3 * careless.repetitions || noise[i].draw != draw_lognormal);
    }
    /* What the rule is there for: who looks after every sample waits until the whole interval is in one of two peaks.
     */
    CHECK(run_points(draw_two_peaks, 0.03, 0, 1, true).covered < 0.85);
    /* And where it does not help. */
    struct stopped between = run_points(draw_two_peaks, 0.015, 0, 1, false);
    printf("two peaks 1.5 widths apart: %.3f\n", between.covered);
    CHECK(reaches(between.covered, 0.82) && between.covered < 0.9);

    static const struct {
        double height, fade, stated;
    } transients[] = {{0.1, 1, 0.93}, {1, 1, 0.93}, {10, 1, 0.93}, {1, 2, 0.93}, {0.1, 4, 0.85}, {1, 4, 0.9}};
    printf("%-14s %7s %9s %12s\n", "transient", "fade", "covered", "repetitions");
    for (size_t i = 0; i < sizeof transients / sizeof *transients; i++) {
        struct stopped careful = run_points(draw_lognormal, 0.015, transients[i].height, transients[i].fade, false);
        printf("%13.0f%% %7.1f %9.3f %12.1f\n", 100 * transients[i].height, transients[i].fade, careful.covered,
               careful.repetitions);
        CHECK(reaches(careful.covered, transients[i].stated));
    }
}

static void test_looks(void) {
    static const size_t expected[] = {9, 10, 11, 12, 14, 16, 18, 21, 24, 28, 32, 37, 43, 50, 58, 67, 78, 91, 106};
    size_t next = 0;
    for (size_t n = 0; n <= 106; n++) {
        bool look = n == expected[next];
        CHECK(series_look(n, 9) == look);
        next += look;
        CHECK(n == 106 || series_next_look(n, 9) == expected[next]);
    }
    CHECK(!series_look(0, 0) && series_look(1, 0) && series_look(2, 0) && series_look(1, 1));
    CHECK(!series_look(99999, 100000) && series_look(100000, 100000));
    CHECK(series_outlived(0, 0) && series_outlived(9, 2) && !series_outlived(9, 3) && series_outlived(12, 3));
}

/* ---- warm-up ---- */

static size_t warmup_of_steps(size_t slow, size_t count, double factor) {
    int64_t times[128];
    for (size_t i = 0; i < count; i++) {
        times[i] = time_of(draw_lognormal(0.02) * (i < slow ? factor : 1));
    }
    return series_warmup(times, count);
}

static void test_warmup_known(void) {
    static const int64_t slow_first[] = {900, 101, 100, 102, 99, 103, 98, 100, 101, 99};
    static const int64_t slow_three[] = {900, 500, 300, 102, 99, 103, 98, 100, 101, 99};
    static const int64_t fast_three[] = {1, 2, 3, 102, 99, 103, 98, 100, 101, 99};
    static const int64_t slow_middle[] = {100, 101, 99, 9000, 102, 8000, 98, 100, 101, 99};
    static const int64_t slow_last[] = {100, 101, 99, 100, 102, 98, 100, 300, 500, 900};
    static const int64_t two_values[] = {7, 7, 7, 5, 5, 5, 5, 5, 5, 5, 5, 5};
    int64_t equal[50];
    for (size_t i = 0; i < 50; i++) {
        equal[i] = 42;
    }
    CHECK(series_warmup(slow_first, 10) == 1);
    CHECK(series_warmup(slow_three, 10) == 3);
    CHECK(series_warmup(fast_three, 10) == 0);
    CHECK(series_warmup(slow_middle, 10) == 0);
    CHECK(series_warmup(slow_last, 10) == 0);
    CHECK(series_warmup(two_values, 12) == 3);
    CHECK(series_warmup(equal, 50) == 0);
    CHECK(series_warmup(NULL, 0) == 0);
    for (size_t n = 1; n < SERIES_FEWEST; n++) {
        CHECK(series_warmup(slow_first, n) == 0);
    }
    CHECK(series_warmup(slow_first, SERIES_FEWEST) == 1);
}

/* Fades exp(-i/fade): over when it is below the noise. Taken on the average until then, and seldom too little. */
static void test_warmup_transients(void) {
    enum { SERIES = 2000 / SHARE, COUNT = 60 };
    printf("%-6s %10s %10s %14s\n", "fade", "taken", "over at", "too short by 2");
    for (int fade = 1; fade <= 5; fade++) {
        double noise = 0.02;
        double taken = 0;
        double over = fade * log(1.0 / noise); /* as high as one standard deviation of the noise */
        int too_short = 0;
        for (int s = 0; s < SERIES; s++) {
            int64_t times[COUNT];
            for (int i = 0; i < COUNT; i++) {
                times[i] = time_of(draw_lognormal(noise) * (1 + exp(-(double)i / fade)));
            }
            size_t warmup = series_warmup(times, COUNT);
            taken += (double)warmup / SERIES;
            /* more than two samples are left that are slower by two standard deviations */
            too_short += (double)warmup + 2 < fade * log(1.0 / (2 * noise));
        }
        printf("%6d %10.2f %10.2f %14.4f\n", fade, taken, over, (double)too_short / SERIES);
        CHECK(fabs(taken - over) < 1 + 0.5 * fade);
        CHECK(too_short < 0.05 * SERIES);
    }
    /* Steps of 1 to 10 samples, 30 % slower: exactly found, but for chance at their ends. */
    for (size_t slow = 1; slow <= 10; slow++) {
        int exact = 0;
        double mean = 0;
        for (int s = 0; s < SERIES; s++) {
            size_t warmup = warmup_of_steps(slow, 3 * slow + 8, 1.3);
            exact += warmup == slow;
            mean += (double)warmup / SERIES;
            CHECK(warmup >= slow && warmup <= (3 * slow + 8) / 2);
        }
        CHECK(exact > 0.6 * SERIES && mean < (double)slow + 0.8);
    }
}

/* The samples that are taken in the mean, of 30 of which those from one on until another are so many times as long. */
static double taken_where(size_t from, size_t until, double factor) {
    enum { SERIES = 5000 / SHARE, COUNT = 30 };
    int64_t times[COUNT];
    double taken = 0;
    for (int s = 0; s < SERIES; s++) {
        for (size_t i = 0; i < COUNT; i++) {
            times[i] = time_of(draw_lognormal(0.02) * (i >= from && i < until ? factor : 1));
        }
        taken += (double)series_warmup(times, COUNT) / SERIES;
    }
    printf("taken in the mean where samples %zu to %zu are longer: %.3f\n", from, until, taken);
    return taken;
}

/* Samples in random order lose almost nothing; outliers anywhere but at the beginning, and a fast beginning, are no
 * warm-up. */
static void test_warmup_none(void) {
    enum { SERIES = 5000 / SHARE };
    static draw_function *const draws[] = {draw_lognormal,   draw_exponential, draw_cauchy,
                                           draw_mostly_fast, draw_two_peaks,   draw_ties};
    static const size_t counts[] = {6, 10, 30, 100};
    int64_t times[100];
    printf("%-8s %18s %14s\n", "count", "taken in the mean", "cut at all");
    for (size_t c = 0; c < 4; c++) {
        double most = 0;
        double most_cut = 0;
        for (size_t d = 0; d < sizeof draws / sizeof *draws; d++) {
            double taken = 0;
            double cut = 0;
            for (int s = 0; s < (counts[c] < 100 ? SERIES : SERIES / 5); s++) {
                for (size_t i = 0; i < counts[c]; i++) {
                    times[i] = time_of(draws[d](0.05));
                }
                size_t warmup = series_warmup(times, counts[c]);
                taken += (double)warmup;
                cut += warmup > 0;
            }
            taken /= counts[c] < 100 ? SERIES : SERIES / 5;
            cut /= counts[c] < 100 ? SERIES : SERIES / 5;
            most = fmax(most, taken);
            most_cut = fmax(most_cut, cut);
        }
        printf("%-8zu %18.3f %14.3f\n", counts[c], most, most_cut);
        CHECK(most < 0.4);
        CHECK(most_cut < 0.2);
    }
    CHECK(taken_where(0, 5, 0.8) < 0.05); /* a fast beginning */
    CHECK(taken_where(7, 8, 20) < 0.2);   /* one outlier */
    CHECK(taken_where(12, 15, 20) < 0.4); /* a burst of three */
}

/* ---- drift ---- */

static bool near(double got, double expected, double tolerance) {
    return fabs(got - expected) <= tolerance;
}

static void test_drift_known(void) {
    /* One-sided tail probabilities of Kendall's S from its exact distribution: n = 6: S = 15: 1/720, 13: 6/720, 11:
     * 20/720; n = 10, as tabled: S = 21: 0.036, 25: 0.014, 27: 0.0083. */
    static const int64_t rising[] = {1, 2, 3, 4, 5, 6};
    static const int64_t falling[] = {6, 5, 4, 3, 2, 1};
    static const int64_t swapped[] = {2, 1, 3, 4, 5, 6};
    static const int64_t two_swapped[] = {2, 1, 4, 3, 5, 6};
    static const int64_t ten[] = {2, 1, 4, 3, 6, 5, 9, 8, 7, 10};    /* 6 pairs out of order: S = 33 */
    static const int64_t ten_21[] = {4, 3, 2, 1, 8, 7, 6, 5, 9, 10}; /* 12: S = 21 */
    static const int64_t balanced[] = {1, 4, 2, 3, 0, 9, 2, 1};
    static const int64_t ties[] = {
        1, 1, 2, 2, 3, 3, 4, 4}; /* S = 24, variance (8*7*21 - 4*2*1*9)/18 = 61.333, z = 23/7.8316 = 2.9368 */
    CHECK(near(series_drift_of(rising, 6).p_value, 2.0 / 720, 1e-12));
    CHECK(near(series_drift_of(falling, 6).p_value, 2.0 / 720, 1e-12));
    CHECK(near(series_drift_of(swapped, 6).p_value, 12.0 / 720, 1e-12));
    CHECK(near(series_drift_of(two_swapped, 6).p_value, 40.0 / 720, 1e-12));
    CHECK(near(series_drift_of(ten_21, 10).p_value, 2 * 0.036, 1e-3));
    CHECK(near(series_drift_of(ten, 10).p_value, 2 * 0.00083, 6e-4));
    CHECK(near(series_drift_of(ties, 8).p_value, 0.003316, 2e-6));
    CHECK(series_drift_of(balanced, 8).p_value > 0.7);
    /* Theil-Sen by hand: 1 per place, 5 places, median 3 (rounded down from 3.5). */
    CHECK(near(series_drift_of(rising, 6).change_relative, 5.0 / 3, 1e-12));
    CHECK(near(series_drift_of(falling, 6).change_relative, -5.0 / 3, 1e-12));
    int64_t line[101];
    for (int i = 0; i < 101; i++) {
        line[i] = 1000000 + 1000 * i; /* 10 % of the beginning, 100/1050 of the median */
    }
    line[3] = 1; /* forgiven */
    line[70] = INT64_C(1) << 50;
    CHECK(near(series_drift_of(line, 101).change_relative, 100000.0 / 1050000, 1e-4));
    CHECK(series_drift_of(line, 101).p_value < 1e-12);

    int64_t equal[300];
    for (int i = 0; i < 300; i++) {
        equal[i] = 5;
    }
    CHECK(series_drift_of(equal, 6).p_value == 1 && series_drift_of(equal, 6).change_relative == 0);
    CHECK(series_drift_of(equal, 300).p_value == 1 && series_drift_of(equal, 300).change_relative == 0);
    for (size_t n = 0; n < SERIES_FEWEST; n++) {
        struct series_drift none = series_drift_of(n == 0 ? NULL : rising, n);
        CHECK(isnan(none.change_relative) && isnan(none.p_value));
    }
    int64_t zeros[8] = {0};
    CHECK(isnan(series_drift_of(zeros, 8).change_relative) && series_drift_of(zeros, 8).p_value == 1);
}

static void test_drift_simulated(void) {
    enum { SERIES = 4000 / SHARE, SERIES_WITH_TREND = 50 };
    static draw_function *const draws[] = {draw_lognormal, draw_cauchy, draw_two_peaks, draw_ties};
    static const size_t counts[] = {6, 12, 30, 100, 1000};
    static int64_t times[1000];
    printf("%-8s %22s\n", "count", "false alarms, p < 0.01");
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        int series = counts[c] <= 30 ? SERIES : SERIES / 20;
        double worst = 0;
        for (size_t d = 0; d < 4; d++) {
            int alarms = 0;
            for (int s = 0; s < series; s++) {
                for (size_t i = 0; i < counts[c]; i++) {
                    times[i] = time_of(draws[d](0.02));
                }
                alarms += series_drift_of(times, counts[c]).p_value < 0.01;
            }
            worst = fmax(worst, (double)alarms / series);
            CHECK((double)alarms / series <= 0.01 + 3 * sqrt(0.01 * 0.99 / series));
        }
        printf("%-8zu %22.4f\n", counts[c], worst);
    }
    /* From the first to the last by twice the standard deviation of the noise: found, and its size is right. */
    static const size_t many[] = {50, 100, 1000};
    for (size_t c = 0; c < 3; c++) {
        int found = 0;
        double mean = 0;
        for (int s = 0; s < SERIES_WITH_TREND; s++) {
            for (size_t i = 0; i < many[c]; i++) {
                times[i] = time_of(draw_lognormal(0.01) * (0.99 + 0.02 * (double)i / (double)(many[c] - 1)));
            }
            struct series_drift drift = series_drift_of(times, many[c]);
            found += drift.p_value < 0.01;
            mean += drift.change_relative / SERIES_WITH_TREND;
        }
        CHECK(found >= 0.9 * SERIES_WITH_TREND);
        CHECK(near(mean, 0.02, 0.002));
    }
}

static void test_many(void) {
    enum { MANY = 100000 };
    int64_t *times = malloc(MANY * sizeof *times);
    CHECK(times != NULL);
    for (size_t i = 0; i < MANY; i++) {
        times[i] = time_of(draw_exponential(0.1) * (1 + 0.01 * (double)i / MANY) + (i < 40 ? 3 : 0));
    }
    struct series_drift drift = series_drift_of(times, MANY);
    CHECK(near(drift.change_relative, 0.01, 0.003) && drift.p_value < 0.01);
    size_t warmup = series_warmup(times, MANY);
    CHECK(warmup >= 40 && warmup < 60);
    free(times);
}

int main(void) {
    test_looks();
    test_warmup_known();
    test_warmup_transients();
    test_warmup_none();
    test_drift_known();
    test_drift_simulated();
    test_many();
    test_points();
    return 0;
}
