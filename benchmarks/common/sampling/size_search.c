#include "size_search.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum { MOST_POINTS = 128, MOST_REPEATS = 9 };

#define DOUBT_NS 1e10
#define DOUBT_SHARE 0.03

struct measured {
    uint64_t size;
    double time;                /* median of its measurements: one of them may have been disturbed */
    double times[MOST_REPEATS]; /* ascending */
    unsigned count;
};

struct search {
    const struct size_search_request *request;
    struct measured points[MOST_POINTS]; /* by size, ascending */
    size_t count;
    unsigned measurements;
};

static const char *const status_names[] = {
    [SIZE_CONVERGED] = "converged",       [SIZE_OFF_TARGET] = "off_target",
    [SIZE_UNREACHABLE] = "unreachable",   [SIZE_NOT_MONOTONIC] = "not_monotonic",
    [SIZE_NOT_SEARCHED] = "not_searched", [SIZE_GIVEN] = "given",
    [SIZE_NO_MESSAGE] = "no_message",     NULL,
};

const char *size_status_name(enum size_status status) {
    return status_names[status];
}

bool size_status_parse(const char *name, enum size_status *status) {
    for (size_t i = 0; status_names[i] != NULL; i++) {
        if (strcmp(name, status_names[i]) == 0) {
            *status = (enum size_status)i;
            return true;
        }
    }
    return false;
}

static double relative_error(const struct search *search, double time) {
    return (time - search->request->target_ns) / search->request->target_ns;
}

/* Nearest allowed size. */
static uint64_t round_size(const struct size_search_request *request, double size) {
    if (!(size > (double)request->min_size)) {
        return request->min_size;
    }
    uint64_t last = request->min_size + (request->max_size - request->min_size) / request->step * request->step;
    if (size >= (double)last) {
        return last;
    }
    double steps = floor((size - (double)request->min_size) / (double)request->step + 0.5);
    uint64_t rounded = request->min_size + (uint64_t)steps * request->step;
    return rounded < last ? rounded : last;
}

static bool take_measurement(const struct size_search_request *request, uint64_t size, double *time) {
    return (request->go_on == NULL || request->go_on(request->context)) &&
           request->measure(request->context, size, time);
}

/* Measures a size and adds the time to its point. NULL when the bounds of the search are reached. */
static struct measured *measure(struct search *search, uint64_t size) {
    if (search->measurements >= search->request->max_measurements || search->count == MOST_POINTS) {
        return NULL;
    }
    double time = 0;
    if (!take_measurement(search->request, size, &time)) {
        return NULL;
    }
    search->measurements++;
    size_t at = 0;
    while (at < search->count && search->points[at].size < size) {
        at++;
    }
    struct measured *point = &search->points[at];
    if (!(at < search->count && point->size == size)) {
        memmove(point + 1, point, (search->count - at) * sizeof *point);
        *point = (struct measured){.size = size};
        search->count++;
    }
    if (point->count < MOST_REPEATS) {
        unsigned i = point->count++;
        for (; i > 0 && point->times[i - 1] > time; i--) {
            point->times[i] = point->times[i - 1];
        }
        point->times[i] = time;
    }
    point->time = (point->times[(point->count - 1) / 2] + point->times[point->count / 2]) / 2;
    return point;
}

static const struct measured *closest(const struct search *search) {
    const struct measured *best = NULL;
    for (size_t i = 0; i < search->count; i++) {
        const struct measured *point = &search->points[i];
        if (best == NULL || fabs(relative_error(search, point->time)) < fabs(relative_error(search, best->time))) {
            best = point;
        }
    }
    return best;
}

/* A larger size that was faster than a smaller one, by more than the noise that the tolerance allows for. */
struct fall {
    struct measured *peak; /* NULL: there is none */
    struct measured *after;
};

static struct fall find_fall(struct search *search) {
    double depth = fmax(0.05, 2.5 * search->request->tolerance);
    struct measured *peak = NULL;
    for (size_t i = 0; i < search->count; i++) {
        struct measured *point = &search->points[i];
        if (peak != NULL && point->time < peak->time * (1 - depth)) {
            return (struct fall){peak, point};
        }
        if (peak == NULL || point->time > peak->time) {
            peak = point;
        }
    }
    return (struct fall){NULL, NULL};
}

/* A fall that noise does not explain: both were measured more than once, and every reading of the larger is below every
 * one of the smaller. */
static bool fall_is_certain(const struct fall *fall) {
    return fall->peak != NULL && fall->peak->count >= 2 && fall->after->count >= 2 &&
           fall->after->times[fall->after->count - 1] < fall->peak->times[0];
}

static struct size_search_result finish(struct search *search, const struct measured *chosen, bool unreachable) {
    struct size_search_result result = {.status = SIZE_OFF_TARGET,
                                        .size = search->request->min_size,
                                        .error_relative = -1,
                                        .measurements = search->measurements};
    const struct measured *best = chosen != NULL ? chosen : closest(search);
    if (best == NULL) {
        result.status = SIZE_NOT_SEARCHED;
        return result;
    }
    result.size = best->size;
    result.time_ns = best->time;
    result.error_relative = relative_error(search, best->time);
    if (fabs(result.error_relative) <= search->request->tolerance) {
        result.status = SIZE_CONVERGED;
    } else if (unreachable) {
        result.status = SIZE_UNREACHABLE;
    } else {
        const struct fall fall = find_fall(search);
        if (fall_is_certain(&fall)) {
            result.status = SIZE_NOT_MONOTONIC;
        }
    }
    return result;
}

/* Size at the target time by Lagrange's inverse interpolation through three points; NAN where two times coincide. */
static double inverse_quadratic(double target, const struct measured *a, const struct measured *b,
                                const struct measured *c) {
    double ab = a->time - b->time;
    double ac = a->time - c->time;
    double bc = b->time - c->time;
    if (ab == 0 || ac == 0 || bc == 0) {
        return NAN;
    }
    double ta = target - a->time;
    double tb = target - b->time;
    double tc = target - c->time;
    return (double)a->size * tb * tc / (ab * ac) - (double)b->size * ta * tc / (ab * bc) +
           (double)c->size * ta * tb / (ac * bc);
}

/* The next size inside the bracket [points[low], points[low + 1]]. */
static double interpolate(const struct search *search, size_t low, bool bisect) {
    const struct measured *left = &search->points[low];
    const struct measured *right = &search->points[low + 1];
    double first = (double)left->size;
    double last = (double)right->size;
    double target = search->request->target_ns;
    if (bisect) {
        return first + (last - first) / 2;
    }
    const struct measured *third = NULL;
    if (low > 0) {
        third = left - 1;
    }
    if (low + 2 < search->count && (third == NULL || fabs(right[1].time - target) < fabs(third->time - target))) {
        third = right + 1;
    }
    double guess = third != NULL ? inverse_quadratic(target, left, right, third) : NAN;
    if (!(guess > first && guess < last)) {
        guess = first + (last - first) * (target - left->time) / (right->time - left->time);
    }
    /* Not next to an end of the bracket, where a guess would make the bracket shrink from one side only. */
    double margin = 0.02 * (last - first);
    return fmin(fmax(guess, first + margin), last - margin);
}

struct size_search_result size_search_run(const struct size_search_request *request) {
    struct search search = {.request = request};
    double target = request->target_ns;
    uint64_t smallest = round_size(request, 0);
    uint64_t largest = round_size(request, (double)request->max_size);
    uint64_t size = round_size(request, (double)request->initial_size);
    unsigned expansions = 0;
    unsigned inside = 0;
    bool probed = false;

    for (;;) {
        const struct measured *point = measure(&search, size);
        if (point == NULL) {
            return finish(&search, NULL, false);
        }
        if (fabs(relative_error(&search, point->time)) <= request->tolerance) {
            if (point->count >= 2) {
                return finish(&search, point, false);
            }
            continue; /* the same size once more */
        }

        /* The leftmost crossing: the first point at or above the target, and its left neighbour, which is below it. */
        size_t high = 0;
        while (high < search.count && search.points[high].time < target) {
            high++;
        }
        if (high == search.count || high == 0) {
            /* Not bracketed: go towards the target, faster each time that it was not enough. */
            const struct measured *end = high == 0 ? &search.points[0] : &search.points[search.count - 1];
            if (end->size == (high == 0 ? smallest : largest)) {
                if (end->count >= 2) {
                    return finish(&search, end, true);
                }
                size = end->size; /* "unreachable" needs two measurements */
                continue;
            }
            expansions++;
            double factor = pow(target / end->time, 1 / request->exponent);
            double least = 1 + 0.01 * pow(2, fmin(expansions, 10));
            double next = high == 0 ? (double)end->size * fmax(fmin(factor, 1 / least), 1.0 / 16)
                                    : (double)end->size * fmin(fmax(factor, least), 16);
            size = round_size(request, next);
            if (size == end->size) {
                size = high == 0 ? size - request->step : size + request->step;
            }
            continue;
        }

        struct measured *left = &search.points[high - 1];
        struct measured *right = &search.points[high];
        double width = (double)(right->size - left->size);
        inside++;
        if (right->size - left->size > request->step && width > request->tolerance / 8 * (double)right->size) {
            size = round_size(request, interpolate(&search, high - 1, inside % 4 == 0));
            if (size <= left->size) {
                size = left->size + request->step;
            } else if (size >= right->size) {
                size = right->size - request->step;
            }
            continue;
        }

        /* The bracket has closed on a jump, or noise has closed it in the wrong place: measure its ends again (their
         * medians may open it), then look once beyond, where a time that falls again would show. */
        if (left->count < 3 || right->count < 3) {
            size = left->count < right->count ? left->size : right->size;
            continue;
        }
        if (!probed) {
            probed = true;
            uint64_t beyond = round_size(request, 1.5 * (double)right->size);
            if (beyond > right->size) {
                size = beyond;
                continue;
            }
        }
        /* A larger size seems faster: measure both sizes again. */
        const struct fall fall = find_fall(&search);
        if (fall.peak != NULL && (fall.peak->count < 3 || fall.after->count < 3)) {
            size = fall.peak->count < fall.after->count ? fall.peak->size : fall.after->size;
            continue;
        }
        return finish(&search, NULL, false);
    }
}

struct size_search_result size_search_recheck(const struct size_search_request *request,
                                              const struct size_search_result *found) {
    enum { LOOKS = 3 };
    double times[LOOKS];
    size_t looks = 0;
    bool agrees = false;
    struct size_search_result result = *found;
    while (looks < LOOKS && !agrees) {
        double time = 0;
        if (!take_measurement(request, found->size, &time)) {
            return result; /* no time to search again either */
        }
        result.measurements++;
        agrees = fabs(time - found->time_ns) <= fmax(request->tolerance, request->agreement) * request->target_ns;
        size_t i = looks++;
        for (; i > 0 && times[i - 1] > time; i--) {
            times[i] = times[i - 1];
        }
        times[i] = time;
    }
    if (agrees && found->status != SIZE_OFF_TARGET) {
        return result;
    }
    struct size_search_request again = *request;
    double guess = (double)found->size * pow(request->target_ns / times[looks / 2], 1 / request->exponent);
    again.initial_size = round_size(request, guess);
    struct size_search_result searched = size_search_run(&again);
    unsigned measurements = result.measurements + searched.measurements;
    if (searched.time_ns > 0 && (!agrees || fabs(searched.error_relative) < fabs(found->error_relative))) {
        result = searched;
    }
    result.measurements = measurements;
    return result;
}

bool size_search_may_recheck(int64_t lost_ns, int64_t elapsed_ns) {
    return (double)lost_ns <= DOUBT_NS + DOUBT_SHARE * (double)elapsed_ns;
}

const struct field size_report_fields[] = {
    FIELD_ONE_OF(
        struct size_report, status, status_names,
        "converged: within tolerance of the target. off_target: the closest size found is not. unreachable: no "
        "size takes this time. not_monotonic: larger sizes were faster, and none within tolerance was found. "
        "not_searched: the time was up before one was measured. given: from a sizes file. no_message: the "
        "collective has no data, so its time cannot be chosen"),
    FIELD(struct size_report, time_ns,
          "median time of the chosen size when it was calibrated; of a given size the time in the sizes file, 0 where "
          "that has none"),
    FIELD(struct size_report, error_relative, "(time_ns - target) / target"),
    FIELD(struct size_report, measurements, "sizes tried"),
    FIELDS_END,
};

struct size_report size_search_report(const struct size_search_result *result) {
    return (struct size_report){.status = size_status_name(result->status),
                                .time_ns = (int64_t)result->time_ns,
                                .error_relative = result->error_relative,
                                .measurements = result->measurements};
}
