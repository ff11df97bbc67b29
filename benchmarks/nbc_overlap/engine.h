/*
 * engine - calibrates, then measures every point of the grid (Denis 2022, section 5).
 *
 * All ranks call the same functions in the same order; rank 0 decides what comes next and tells the others, so that no two ranks ever
 * disagree about a size, a repetition or a stop.
 */
#ifndef CAMPAIGN_ENGINE_H
#define CAMPAIGN_ENGINE_H

#include "clock.h"
#include "collectives.h"
#include "compute.h"
#include "record.h"
#include "sizes.h"
#include "start.h"

#include <stdbool.h>
#include <stdint.h>

struct engine_plan {
    const int *collectives; /* indices of collective_table */
    size_t collective_count;
    const int64_t *comm_targets_ns;
    size_t comm_target_count;
    const int64_t *comp_targets_ns;
    size_t comp_target_count;
    double budget_seconds; /* 0: none */
    int64_t began_ns;      /* local time from which the budget counts: the start of the process */
    double interval_relative;
    int64_t min_repetitions;
    int64_t max_repetitions;
    double tolerance;           /* of the calibration */
    uint64_t max_message_bytes; /* 0: not limited by the caller */
    uint64_t memory_bytes;      /* that one rank may take for buffers and matrices; 0: not known */
    bool sizes_given;
    bool cold;                  /* rotating buffers */
    enum start_method start;
    bool rank_samples;          /* even above 64 ranks */
    bool quiet;                 /* no table, no progress */
    uint64_t seed;
    int threads;
};

/* On rank 0: so far beyond the budget that nothing more is measured. */
bool engine_is_over(const struct engine_plan *plan);

enum engine_end {
    ENGINE_COMPLETE,
    ENGINE_NOTHING_MEASURED, /* the budget was too small for a single repetition */
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
 * point was recalibrated. record: rank 0's, NULL elsewhere. */
engine *engine_create(const struct engine_plan *plan, clock_model *clock, compute_team *team, struct size_table *sizes,
                      record_file *record);
void engine_destroy(engine *e);

/* Collective. Finds all sizes. false: wrong data were received, see engine_result. */
bool engine_calibrate(engine *e);

/* Collective. Measures and writes all points. */
void engine_measure(engine *e);

struct engine_result engine_result_of(const engine *e);

#endif
