/*
 * engine - calibrates, then measures every point of the grid (Denis 2022, section 5).
 *
 * All ranks call the same functions in the same order; rank 0 decides what comes next and tells the others, so that no two ranks ever
 * disagree about a size, a repetition or a stop.
 */
#ifndef CAMPAIGN_ENGINE_H
#define CAMPAIGN_ENGINE_H

#include "clock.h"
#include "compute.h"
#include "helper.h"
#include "plan.h"
#include "record.h"
#include "sizes.h"

#include <stdbool.h>
#include <stdint.h>

enum engine_end {
    ENGINE_COMPLETE,
    ENGINE_NOTHING_MEASURED, /* not a single repetition: the budget was too small, or no size takes the times */
    ENGINE_DATA_ERROR,  /* a rank received wrong data */
    ENGINE_RECORD_ERROR /* the record could not be written (rank 0 knows why: record_error) */
};

struct engine_result {
    enum engine_end end;
    int64_t points;          /* written */
    int64_t recalibrations;  /* of them: the sizes are not those any more that engine_calibrate found */
    double measured_seconds; /* in valid repetitions, on rank 0 */
    const char *reason;      /* one line, of rank 0; empty when complete. Owned by the engine */
};

typedef struct engine engine;

/* sizes, with points: as sizes_read filled it with sizes_given, otherwise to be filled by engine_calibrate, and by engine_measure where a
 * point was recalibrated. helper: NULL, or who completes requests. record: rank 0's, NULL elsewhere. */
engine *engine_create(const struct plan *plan, clock_model *clock, compute_team *team, helper *helper, struct size_table *sizes,
                      record_file *record);
void engine_destroy(engine *e);

/* Collective. Finds all sizes. false: wrong data were received, see engine_result. */
bool engine_calibrate(engine *e);

/* Collective. Measures and writes all points. */
void engine_measure(engine *e);

struct engine_result engine_result_of(const engine *e);

#endif
