/*
 * clock_fit - the line that one clock follows against another: offset and drift from measured offsets. Pure arithmetic,
 * no MPI.
 *
 * Offsets are global minus local, in ns; the slope is their change per ns (1e-6: 1 ppm).
 *
 * A measurement is as certain as its round trip is short, against the shortest that was seen: what a trip is longer may
 * all have been on one way. The offset at a measurement is the mean of what was measured and of what the line foretold,
 * each by its certainty, so that one that was disturbed hardly moves it, and a good one settles it. The slope is the
 * least-squares one through measurements that are spread in time, so that many synchronisations in a short time do not
 * shorten its baseline; older ones count less, because a rate changes (0.3 ppm). Below CLOCK_FIT_BASELINE_NS there is
 * no slope: over a short baseline it would amplify the errors of its ends (Denis 2022, section 4.2).
 */
#ifndef CAMPAIGN_CLOCK_FIT_H
#define CAMPAIGN_CLOCK_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLOCK_FIT_BASELINE_NS INT64_C(500000000)

/* One measured offset: at this local time, known to within half the round trip. */
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

/* Adds a measurement, later than all before. A zeroed struct clock_fit has none. */
void clock_fit_add(struct clock_fit *fit, struct clock_point point);

/* From the oldest measurement that is kept to the latest, ns. */
int64_t clock_fit_baseline_ns(const struct clock_fit *fit);

/* Offset at a local time: extrapolated along the line. 0 without measurements. */
double clock_fit_predict(const struct clock_fit *fit, int64_t local);

/* Offset at a local time between the last two measurements: exact for a linear clock but for the errors of the
 * measurements. */
double clock_fit_interpolate(const struct clock_fit *fit, int64_t local);

/*
 * How far beyond everything that a clock may do a measurement is from the line, ns; 0: it fits. A clock may run up to
 * 100 ppm apart from the line, 2000 ppm while there is no line yet; both measurements may be wrong by half their round
 * trips; 10 us are given. What is beyond is a step.
 */
double clock_fit_excess(const struct clock_fit *fit, struct clock_point point);

#endif
