#include "check.h"
#include "clock_fit.h"

#include <math.h>
#include <stdint.h>

#define SECOND INT64_C(1000000000)

static uint64_t state = 99;

static double noise(double width) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)(state >> 11) / 9007199254740992.0 - 0.5) * width;
}

/* A linear clock, measured exactly. */
static struct clock_point exact(int64_t local, double offset, double ppm) {
    return (struct clock_point){local, offset + ppm * 1e-6 * (double)local, 1000};
}

static void test_nothing_known(void) {
    struct clock_fit fit = {.count = 0};
    CHECK(clock_fit_predict(&fit, 5) == 0);
    CHECK(clock_fit_baseline_ns(&fit) == 0);
    CHECK(clock_fit_excess(&fit, exact(1, 5e9, 0)) == 0);
    clock_fit_add(&fit, exact(0, 1234, 50));
    CHECK(clock_fit_predict(&fit, SECOND) == 1234 && fit.slope == 0);
    CHECK(clock_fit_interpolate(&fit, SECOND) == 1234);
}

/* Interpolation and extrapolation are exact for a linear clock, however many measurements there were. */
static void test_linear_clock(void) {
    for (int measurements = 2; measurements <= 200; measurements += 33) {
        struct clock_fit fit = {.count = 0};
        for (int i = 0; i < measurements; i++) {
            clock_fit_add(&fit, exact(i * SECOND, -7e9, -83));
        }
        CHECK(fabs(fit.slope + 83e-6) < 1e-12);
        int64_t between = (measurements - 2) * SECOND + SECOND / 3;
        CHECK(fabs(clock_fit_interpolate(&fit, between) - exact(between, -7e9, -83).offset) < 1e-3);
        int64_t ahead = (measurements + 10) * SECOND;
        CHECK(fabs(clock_fit_predict(&fit, ahead) - exact(ahead, -7e9, -83).offset) < 1e-2);
        CHECK(clock_fit_excess(&fit, exact(ahead, -7e9, -83)) == 0);
    }
}

/* Two measurements close together have no slope; many of them do not make the baseline short. */
static void test_baseline(void) {
    struct clock_fit fit = {.count = 0};
    clock_fit_add(&fit, (struct clock_point){0, 100, 1000});
    clock_fit_add(&fit, (struct clock_point){CLOCK_FIT_BASELINE_NS / 2, 300, 1000});
    CHECK(fit.slope == 0);
    for (int i = 0; i < 20000; i++) {
        clock_fit_add(&fit, (struct clock_point){SECOND + i * INT64_C(1000000), noise(400), 1000});
    }
    CHECK(clock_fit_baseline_ns(&fit) > 15 * SECOND);
    CHECK(fabs(fit.slope) < 1e-7); /* 400 ns over 20 s is 0.02 ppm */
}

/* Within the errors of the measurements nothing is refused; a step of more than they leave open is, by what it is more.
 */
static void test_steps(void) {
    struct clock_fit fit = {.count = 0};
    for (int i = 0; i <= 10; i++) {
        struct clock_point point = exact(i * SECOND, 3e9, 20);
        point.offset += noise(point.trip);
        CHECK(clock_fit_excess(&fit, point) == 0);
        clock_fit_add(&fit, point);
    }
    struct clock_point stepped = exact(11 * SECOND, 3e9, 20);
    stepped.offset += 5e6;
    CHECK(clock_fit_excess(&fit, stepped) > 4e6 && clock_fit_excess(&fit, stepped) < 5e6);
    stepped.offset -= 10e6;
    CHECK(clock_fit_excess(&fit, stepped) > 4e6);
    stepped.offset += 5e6 + 100e3; /* what slewing at 100 ppm would do */
    CHECK(clock_fit_excess(&fit, stepped) == 0);
}

int main(void) {
    test_nothing_known();
    test_linear_clock();
    test_baseline();
    test_steps();
    return 0;
}
