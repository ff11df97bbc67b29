#include "clock_fit.h"

#include <math.h>
#include <string.h>

/* Measurements closer than this to the one kept before are not kept: the window of all would shrink to nothing. */
#define SPACING_NS INT64_C(2000000000)

#define STEP_FLOOR_NS 10e3
#define STEP_RATE 500e-6
#define STEP_RATE_UNKNOWN 2000e-6

/* A clock's rate is not constant: what an old measurement says of now is less certain by this much per ns of its age. */
#define WANDER_RATE 0.1e-6
#define LEAST_TRIP_NS 20.0

/* Half the round trip, and what the clock may have wandered since. */
static double weight_of(const struct clock_fit *fit, const struct clock_point *point) {
    double error = fmax(point->trip, LEAST_TRIP_NS) / 2;
    double wander = WANDER_RATE * (double)(fit->last.local - point->local);
    return 1 / (error * error + wander * wander);
}

/* Least squares over what is kept and the latest; differences to the latest keep the numbers small. */
static void fit_line(struct clock_fit *fit) {
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
    bool long_enough = clock_fit_baseline_ns(fit) >= CLOCK_FIT_BASELINE_NS && below > 0;
    fit->slope = long_enough ? above / below : 0;
    fit->offset = long_enough ? fit->last.offset + mean_offset - fit->slope * mean_t : fit->last.offset;
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
    fit->previous_local = fit->last.local;
    fit->previous_offset = fit->offset;
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
    fit_line(fit);
    if (fit->measurements == 1) {
        fit->previous_local = point.local;
        fit->previous_offset = fit->offset;
    }
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
    bool known = clock_fit_baseline_ns(fit) >= CLOCK_FIT_BASELINE_NS;
    double rate = known ? STEP_RATE : STEP_RATE_UNKNOWN;
    double allowed = STEP_FLOOR_NS + (fit->last.trip + point.trip) / 2 + rate * fabs((double)(point.local - fit->last.local));
    return fmax(fabs(point.offset - clock_fit_predict(fit, point.local)) - allowed, 0);
}
