/*
 * overlap_state - what nbc_overlap keeps while it measures: the plan, the sizes, and the point that is being measured.
 */
#pragma once

#include "bench.h"
#include "calibration.h"
#include "plan.h"
#include "sampler.h"
#include "size_table.h"

#include <stdbool.h>
#include <stdint.h>

/* Indices of the series of a point. */
enum { T_MEASURED, T_COMM_ALONE, T_COMP_ALONE, START_IMBALANCE, ORDER, LATE_STARTS, SERIES };

/* Indices of the spreads over ranks. */
enum { SPREAD_CALL, SPREAD_COMP, SPREAD_TEST, SPREAD_WAIT };

/* Indices of the medians of each rank. */
enum { MEDIAN_MPI, MEDIAN_COMM_REF, MEDIAN_COMP, MEDIAN_COMP_REF };

/* Indices of the axes: the first three make the grid, the others have the same value in all points. */
enum { AXIS_COLLECTIVE, AXIS_COMM, AXIS_COMP, AXES };

struct overlap {
    struct bench bench; /* first: the parts of bench.h take an overlap for its bench */
    const struct plan *plan;
    struct sampler_rule rule;
    const char *sizes_file; /* the sizes file to read; NULL: sizes are calibrated */
    const char *save_sizes; /* the sizes file to write; NULL: none */
    struct size_table sizes;
    calibration *calibration;
    int64_t recalibrations; /* over all points: how often sizes were searched again; above 0 they may differ from the
                               calibration's */
    int64_t doubt_ns;       /* time spent on rechecking sizes, with the repetitions thrown away for it */
    struct {
        struct bench_work work;
        int64_t recalibrations;
        bool looked;  /* before the point's end a reference was seen to have moved or drifted; it is looked for once */
        bool resized; /* the last recheck changed a size */
    } point;          /* the point that is being measured */
};

/* Return how the size of a point's communication and of its computation was found. */
static inline const struct size_search_result *overlap_comm(const struct overlap *o, const struct sampler_point *p) {
    return calibration_comm(o->calibration, p->at[AXIS_COLLECTIVE], p->at[AXIS_COMM]);
}
static inline const struct size_search_result *overlap_comp(const struct overlap *o, const struct sampler_point *p) {
    return calibration_comp(o->calibration, p->at[AXIS_COMP]);
}
