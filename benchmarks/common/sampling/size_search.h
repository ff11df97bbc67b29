/*
 * calibrate - finds the size for which something takes a wanted time (Denis 2022, sections 4.3 and 5.1).
 *
 * The time of a size is asked of a callback, so that the search is the same for messages, for matrices and for the unit
 * tests' synthetic functions. The search brackets the target, interpolates (inverse quadratic through the three
 * measured points nearest to it, secant or bisection where that leaves the bracket), and is bounded. A size within the
 * tolerance is measured once more before it counts: one lucky reading does not converge. size_search_recheck looks once
 * more when all else is found. Where the paper's method falls back to 0 bytes, this one ends with a status that says
 * why.
 */
#ifndef CAMPAIGN_SIZE_SEARCH_H
#define CAMPAIGN_SIZE_SEARCH_H

#include "json.h"

#include <stdbool.h>
#include <stdint.h>

/* The record schema's words. */
enum size_status {
    SIZE_CONVERGED,     /* within tolerance of the target */
    SIZE_OFF_TARGET,    /* the closest size found is out of tolerance */
    SIZE_UNREACHABLE,   /* the smallest size takes longer, or the largest is too fast */
    SIZE_NOT_MONOTONIC, /* larger sizes were faster, and none within tolerance was found */
    SIZE_NOT_SEARCHED,  /* the time was up before one size was measured */
    SIZE_GIVEN,         /* from a sizes file */
    SIZE_NO_MESSAGE     /* there is no size: it takes what it takes */
};

/* Measures one size: its time in ns. false: no more time to measure, the search ends with what it has. */
typedef bool size_search_measure(void *context, uint64_t size, double *time_ns);

struct size_search_request {
    double target_ns; /* > 0 */
    double tolerance; /* relative: 0.02 */
    double agreement; /* relative: how far a second look may be from the first, where that is more than the tolerance */
    uint64_t min_size;         /* smallest size, > 0 */
    uint64_t max_size;         /* largest size, >= min_size */
    uint64_t step;             /* sizes are min_size plus multiples of this */
    uint64_t initial_size;     /* first guess */
    double exponent;           /* how the time is expected to grow: 1 for messages, 3 for DGEMM; a guess is enough */
    unsigned max_measurements; /* bound, repeated measurements of a size included */
    size_search_measure *measure;
    bool (*go_on)(void *context); /* asked before every measurement; false: no more time. NULL: go on */
    void *context;
};

struct size_search_result {
    enum size_status status;
    uint64_t size;         /* the closest size found; the smallest or largest when unreachable. Never 0. */
    double time_ns;        /* its time, median over its measurements; 0 if nothing could be measured */
    double error_relative; /* (time_ns - target_ns) / target_ns */
    unsigned measurements; /* sizes tried, each counted as often as it was measured */
};

struct size_search_result size_search_run(const struct size_search_request *request);

/*
 * A second look at what a search found, some time later: noise that lasted as long as the search has misled it.
 * Measures the size once, or up to three times while no reading agrees, within `agreement`, with what was found. If
 * none does, searches once more, from the size that the readings point at. A search that ended off target is repeated
 * even if a reading agrees, and the nearer of the two results counts: noise keeps a search from its target as well as a
 * jump in the times does. initial_size and max_measurements of the request are not used for the looks.
 */
struct size_search_result size_search_recheck(const struct size_search_request *request,
                                              const struct size_search_result *found);

/*
 * Whether sizes that the repetitions have cast doubt on may be looked at again, elapsed_ns into a run of which such
 * looks, and the repetitions that they made worthless, took lost_ns: 10 s and 3 % of it. A machine whose speed moves
 * all the time always gives a reason to look, and mends nothing by it: without an end to it a full map would spend its
 * time so instead of in repetitions.
 */
bool size_search_may_recheck(int64_t lost_ns, int64_t elapsed_ns);

/* "converged", ... as in the record schema. */
const char *size_status_name(enum size_status status);

/* Back from a name; false where it is none. */
bool size_status_parse(const char *name, enum size_status *status);

/* A result as an object of a record's line. */
void size_search_put(json_line *line, const char *name, const struct size_search_result *result);

#endif
