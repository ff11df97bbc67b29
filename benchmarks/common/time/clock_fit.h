/*
 * clock_fit - fits the line that one clock follows against another, its offset and drift, to measured offsets. Pure
 * arithmetic, no MPI.
 *
 * Offsets are global minus local time, in ns; the slope is their change per ns (1e-6 is 1 ppm).
 *
 * A measurement with a short round trip is more certain: the time by which its trip exceeds the shortest trip seen may
 * all have been spent one way. The offset at a measurement is the mean of the measured and the predicted offset,
 * weighted by their certainty: a disturbed measurement hardly moves it, a good one settles it. The slope is the
 * least-squares slope through measurements that are spread in time, so that many synchronisations in a short time do
 * not shorten its baseline; older measurements weigh less, because the rate of a clock changes (0.3 ppm). Below a
 * baseline of CLOCK_FIT_BASELINE_NS there is no slope: over a short baseline it would amplify the errors of its ends
 * (Denis 2022, section 4.2).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLOCK_FIT_BASELINE_NS INT64_C(500000000)

/* One measured offset, in ns, at a local time; it is known to within half the round trip, `trip`. */
struct clock_point {
    int64_t local;
    double offset;
    double trip;
};

enum { CLOCK_FIT_POINTS = 16 };

struct clock_fit {
    struct clock_point kept[CLOCK_FIT_POINTS]; /* ascending, spread in time; the oldest make room */
    size_t count;
    struct clock_point last;
    size_t measurements;
    double shortest_trip;
    double offset; /* at the latest measurement, and by how much it may be wrong */
    double error;
    double slope;
    int64_t previous_local; /* the measurement before the latest, and the offset there */
    double previous_offset;
};

/* Adds a measurement that is later than all before. A zeroed struct clock_fit has no measurements. */
void clock_fit_add(struct clock_fit *fit, struct clock_point point);

/* Returns the time from the oldest kept measurement to the latest, ns. */
int64_t clock_fit_baseline_ns(const struct clock_fit *fit);

/* Returns the offset at a local time, extrapolated along the line, ns; 0 without measurements. */
double clock_fit_predict(const struct clock_fit *fit, int64_t local);

/* Returns the offset at a local time between the last two measurements, ns. For a linear clock the measurements' errors
 * are the only error. */
double clock_fit_interpolate(const struct clock_fit *fit, int64_t local);

/*
 * Returns by how much a measurement is further from the line than a clock may be, ns; 0: the measurement fits. The
 * allowance is 100 ppm since the latest measurement (500 ppm while there is no line yet), half of both round trips,
 * the error of the line's offset, and 10 us. A measurement beyond it is a step of the clock.
 */
double clock_fit_excess(const struct clock_fit *fit, struct clock_point point);
