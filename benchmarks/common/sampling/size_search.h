/*
 * size_search - searches the size for which something takes a target time (Denis 2022, sections 4.3 and 5.1).
 *
 * A callback measures the time of a size, so that one search serves messages, computations and the synthetic functions
 * of the unit tests. The search brackets the target, then interpolates: inverse quadratic through the three measured
 * points nearest to the target, secant or bisection where that leaves the bracket. The number of measurements is
 * bounded. A size within the tolerance is measured once more before it counts, so that one lucky reading does not end
 * the search; size_search_recheck measures it again when all other sizes are found. Where the paper's method falls back
 * to 0 bytes, this one ends with a status that says why.
 */
#pragma once

#include "fields.h"

#include <stdbool.h>
#include <stdint.h>

/* How a size was found; size_status_name has the record schema's words. */
enum size_status {
    SIZE_CONVERGED,     /* within tolerance of the target */
    SIZE_OFF_TARGET,    /* the closest size found is out of tolerance */
    SIZE_UNREACHABLE,   /* the smallest size takes longer, or the largest is too fast */
    SIZE_NOT_MONOTONIC, /* larger sizes were faster, and none within tolerance was found */
    SIZE_NOT_SEARCHED,  /* the time was up before any size was measured */
    SIZE_GIVEN,         /* from a sizes file */
    SIZE_NO_MESSAGE     /* the collective has no message, so that there is no size to choose */
};

/* Measures the time of one size, ns. Returns false where there is no more time to measure; the search then ends with
 * what it has. */
typedef bool size_search_measure(void *context, uint64_t size, double *time_ns);

struct size_search_request {
    double target_ns; /* > 0 */
    double tolerance; /* relative: 0.02 */
    /* Relative: how far the time in a recheck may be from the time found before, where it is more than the tolerance.
     */
    double agreement;
    uint64_t min_size;     /* smallest size, > 0 */
    uint64_t max_size;     /* largest size, >= min_size */
    uint64_t step;         /* sizes are min_size plus multiples of this */
    uint64_t initial_size; /* first guess */
    double exponent; /* e where the time is expected to grow as size^e: 1 for messages, 3 for DGEMM; a guess will do */
    unsigned max_measurements; /* bound, repeated measurements of a size included */
    size_search_measure *measure;
    /* Called before every measurement; false: there is no more time. NULL: there always is. */
    bool (*go_on)(void *context);
    void *context;
};

struct size_search_result {
    enum size_status status;
    uint64_t size;         /* the closest size found; the smallest or largest when unreachable. Never 0. */
    double time_ns;        /* median over the measurements of that size; 0 where nothing was measured */
    double error_relative; /* (time_ns - target_ns) / target_ns */
    unsigned measurements; /* all measurements, repeated ones included */
};

/* Searches the size of a request. Never fails: the result's status says how the search ended. */
struct size_search_result size_search_run(const struct size_search_request *request);

/*
 * Checks, some time later, the size that a search found: noise that lasted as long as the search may have misled it.
 * Measures the size up to three times, until a reading agrees with the time found before, within `agreement`. Where
 * none agrees, searches once more from the size that the readings point at. A search that ended off target is repeated
 * even where a reading agrees, and the result that is nearer to the target counts: noise may have kept the search from
 * its target. The readings do not use initial_size and max_measurements of the request.
 */
struct size_search_result size_search_recheck(const struct size_search_request *request,
                                              const struct size_search_result *found);

/*
 * Returns whether a size may be rechecked because the repetitions cast doubt on it. lost_ns: the time that earlier
 * rechecks took, with the repetitions that they made worthless; elapsed_ns: the time since the run began. Allowed are
 * 10 s and 3 % of the elapsed time. On a machine whose speed changes all the time there is always a reason to recheck,
 * and no recheck helps: without a limit a full map would spend its time on them.
 */
bool size_search_may_recheck(int64_t lost_ns, int64_t elapsed_ns);

/* Returns the record schema's word for a status: "converged", ... */
const char *size_status_name(enum size_status status);

/* Finds the status of such a word. Returns false where there is none. */
bool size_status_parse(const char *name, enum size_status *status);

/* What the record has of a result: how well a size meets its target. */
struct size_report {
    const char *status;
    int64_t time_ns;
    double error_relative;
    int64_t measurements;
};
extern const struct field size_report_fields[];
struct size_report size_search_report(const struct size_search_result *result);
