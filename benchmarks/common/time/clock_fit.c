#include "clock_fit.h"

#include <math.h>
#include <string.h>

/* A measurement closer than this to the last kept one is not kept: otherwise all kept ones would lie in a short time.
 */
#define SPACING_NS INT64_C(2000000000)

#define STEP_FLOOR_NS 10e3
#define STEP_RATE 100e-6
#define STEP_RATE_UNKNOWN 500e-6

/* How far a clock's rate may be from the line's when nothing is out of the ordinary, and before there is a line. */
#define RATE_ERROR 1e-6
#define RATE_ERROR_UNKNOWN 500e-6

/* A clock's rate is not constant: what an old measurement says of the drift now is less certain by this much per ns of
 * its age. */
#define WANDER_RATE 0.3e-6

/* A measurement without any delay is still this uncertain, beside a small part of its round trip. */
#define LEAST_ERROR_NS 20.0
#define ERROR_OF_TRIP 0.02

/* By how much a measurement may be wrong: half of what its round trip is longer than the shortest known. A path that is
 * slower one way than the other shifts all alike, and nothing can see it. */
static double error_of(const struct clock_fit *fit, const struct clock_point *point) {
    double extra = point->trip > fit->shortest_trip ? point->trip - fit->shortest_trip : 0;
    return extra / 2 + ERROR_OF_TRIP * fit->shortest_trip + LEAST_ERROR_NS;
}

static double weight_of(const struct clock_fit *fit, const struct clock_point *point) {
    double error = error_of(fit, point);
    double wander = WANDER_RATE * (double)(fit->last.local - point->local);
    return 1 / (error * error + wander * wander);
}

static bool has_slope(const struct clock_fit *fit) {
    return clock_fit_baseline_ns(fit) >= CLOCK_FIT_BASELINE_NS;
}

/* Least squares over what is kept and the latest; differences to the latest keep the numbers small. */
static double slope_of(const struct clock_fit *fit) {
    const bool kept_last = fit->count > 0 && fit->kept[fit->count - 1].local == fit->last.local;
    double sum = 0;
    double mean_t = 0;
    double mean_offset = 0;
    for (size_t i = 0; i <= fit->count; i++) {
        const struct clock_point *point = i < fit->count ? &fit->kept[i] : &fit->last;
        double weight = i == fit->count && kept_last ? 0 : weight_of(fit, point);
        sum += weight;
        mean_t += weight * (double)(point->local - fit->last.local);
        mean_offset += weight * (point->offset - fit->last.offset);
    }
    mean_t /= sum;
    mean_offset /= sum;
    double above = 0;
    double below = 0;
    for (size_t i = 0; i <= fit->count; i++) {
        const struct clock_point *point = i < fit->count ? &fit->kept[i] : &fit->last;
        double weight = i == fit->count && kept_last ? 0 : weight_of(fit, point);
        double t = (double)(point->local - fit->last.local) - mean_t;
        above += weight * t * (point->offset - fit->last.offset - mean_offset);
        below += weight * t * t;
    }
    return has_slope(fit) && below > 0 ? above / below : 0;
}

/* The offset at a new measurement: what was measured and what the line foretold, each by its certainty. */
static void settle_offset(struct clock_fit *fit, const struct clock_point *point) {
    const double measured_error = error_of(fit, point);
    if (fit->measurements == 0) {
        fit->offset = point->offset;
        fit->error = measured_error;
        return;
    }
    const double rate_error = has_slope(fit) ? RATE_ERROR : RATE_ERROR_UNKNOWN;
    const double foretold = clock_fit_predict(fit, point->local);
    const double foretold_error = fit->error + rate_error * (double)(point->local - fit->last.local);
    const double measured_weight = 1 / (measured_error * measured_error);
    const double foretold_weight = 1 / (foretold_error * foretold_error);
    fit->offset = foretold + (point->offset - foretold) * measured_weight / (measured_weight + foretold_weight);
    fit->error = sqrt(1 / (measured_weight + foretold_weight));
}

/* Of kept measurements that lie close together, the one that is closest to its neighbours; otherwise the oldest. */
static size_t least_useful(const struct clock_fit *fit) {
    size_t drop = 0;
    int64_t closest = SPACING_NS;
    for (size_t i = 1; i + 1 < fit->count; i++) {
        int64_t gap = fit->kept[i + 1].local - fit->kept[i - 1].local;
        if (gap < closest) {
            closest = gap;
            drop = i;
        }
    }
    return drop;
}

void clock_fit_add(struct clock_fit *fit, struct clock_point point) {
    if (fit->measurements == 0 || point.trip < fit->shortest_trip) {
        fit->shortest_trip = point.trip;
    }
    fit->previous_local = fit->measurements > 0 ? fit->last.local : point.local;
    const double previous_offset = fit->offset;
    settle_offset(fit, &point);
    fit->previous_offset = fit->measurements > 0 ? previous_offset : fit->offset;
    fit->last = point;
    fit->measurements++;
    bool early = clock_fit_baseline_ns(fit) < SPACING_NS; /* every one counts while there are few */
    if (fit->count == 0 || early || point.local - fit->kept[fit->count - 1].local >= SPACING_NS) {
        if (fit->count == CLOCK_FIT_POINTS) {
            size_t drop = least_useful(fit);
            memmove(fit->kept + drop, fit->kept + drop + 1, (fit->count - drop - 1) * sizeof *fit->kept);
            fit->count--;
        }
        fit->kept[fit->count++] = point;
    }
    fit->slope = slope_of(fit);
}

int64_t clock_fit_baseline_ns(const struct clock_fit *fit) {
    return fit->count > 0 ? fit->last.local - fit->kept[0].local : 0;
}

double clock_fit_predict(const struct clock_fit *fit, int64_t local) {
    return fit->offset + fit->slope * (double)(local - fit->last.local);
}

double clock_fit_interpolate(const struct clock_fit *fit, int64_t local) {
    double baseline = (double)(fit->last.local - fit->previous_local);
    if (baseline <= 0) {
        return clock_fit_predict(fit, local);
    }
    double share = (double)(local - fit->previous_local) / baseline;
    return fit->previous_offset + share * (fit->offset - fit->previous_offset);
}

double clock_fit_excess(const struct clock_fit *fit, struct clock_point point) {
    if (fit->measurements == 0) {
        return 0;
    }
    const double rate = has_slope(fit) ? STEP_RATE : STEP_RATE_UNKNOWN;
    const double allowed = STEP_FLOOR_NS + fit->error + (fit->last.trip + point.trip) / 2 +
                           rate * fabs((double)(point.local - fit->last.local));
    return fmax(fabs(point.offset - clock_fit_predict(fit, point.local)) - allowed, 0);
}
