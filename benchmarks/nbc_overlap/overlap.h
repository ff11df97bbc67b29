/*
 * overlap - what nbc_overlap repeats (Denis 2022, section 5): a communication alone, a computation alone, both
 * together; for every point of a grid of communication times and computation times, with sizes that were calibrated to
 * them.
 */
#ifndef CAMPAIGN_OVERLAP_H
#define CAMPAIGN_OVERLAP_H

#include "bench.h"
#include "calibration.h"
#include "plan.h"
#include "program.h"
#include "sampler.h"
#include "size_table.h"

#include <stdbool.h>
#include <stdint.h>

/* The series of a point. */
enum { T_MEASURED, T_COMM_ALONE, T_COMP_ALONE, START_IMBALANCE, SERIES };

/* The spreads over ranks. */
enum { SPREAD_CALL, SPREAD_COMP, SPREAD_TEST, SPREAD_WAIT };

/* The medians of each rank. */
enum { MEDIAN_MPI, MEDIAN_COMM_REF, MEDIAN_COMP, MEDIAN_COMP_REF };

/* The axes: the first three make the grid, the others are the same in all points. */
enum { AXIS_COLLECTIVE, AXIS_COMM, AXIS_COMP, AXIS_CACHE, AXIS_COMPUTATION, AXIS_TEST_INTERVAL, AXES };

struct overlap {
    struct bench bench; /* first: the parts of bench.h take an overlap for its bench */
    const struct plan *plan;
    struct sampler_rule rule;
    const char *sizes_file; /* to be read; NULL: sizes are calibrated */
    const char *save_sizes; /* to be written; NULL: they are not */
    struct size_table sizes;
    calibration *calibration;
    int64_t recalibrations; /* of all points: the sizes are not those any more that the calibration found */
    int64_t doubt_ns;       /* in which sizes were looked at again, with what was thrown away for it */
    struct {
        struct bench_work work;
        int64_t recalibrations;
        bool looked;  /* before its end, and a reference had moved, or drifted */
        bool resized; /* when that was last looked into */
    } point;          /* that is being measured */
};

/* What sampler_measure repeats; the context of its hooks is a struct overlap. */
extern const struct sampler_kind overlap_points;

/* The calibration, and where that was asked for its sizes in a file: program_kind's begin, and its end. */
bool overlap_begin(struct program *program, void *context, sampler *s, char *reason, size_t reason_size);
bool overlap_end(struct program *program, void *context, char *reason, size_t reason_size);

/* Of a point: the results of the calibration for its targets. */
const struct size_search_result *overlap_comm(const struct overlap *o, const struct sampler_point *p);
const struct size_search_result *overlap_comp(const struct overlap *o, const struct sampler_point *p);

#endif
