/*
 * impact - measures the computation whose slowdown by an idle MPI library is asked for (Denis 2022, section 3.2.1,
 * equation 2). The same code runs in mpi_impact, between MPI_Init and MPI_Finalize, and in compute_alone, which is
 * linked without MPI. No MPI.
 *
 * Processes without MPI cannot synchronise, and still must compute at the same time, because they share memory and
 * caches. So they follow a timetable by the time of day: every target time has a slot that is somewhat longer than its
 * repetitions take, and a process that is done before the slot ends goes on computing, uncounted, until the next slot
 * begins. The record has the times when the counted repetitions began and ended.
 */
#pragma once

#include "compute.h"
#include "record.h"
#include "size_search.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is done for one target time: the same in every process of every launch. */
struct impact_target {
    int64_t comp_target_ns;
    uint64_t work_size;                    /* of each thread (compute_run) */
    struct size_search_result calibration; /* how its size was found */
    int64_t warmup_repetitions;            /* uncounted, at the beginning of the slot */
    int64_t repetitions;
    int64_t slot_ns;
};

struct impact_plan {
    enum compute_kind computation;
    struct impact_target *targets; /* ascending times */
    size_t count;
};

/* What one process measured for one target. */
struct impact_samples {
    int64_t begin_utc_ns; /* begin of the first counted repetition, CLOCK_REALTIME */
    int64_t end_utc_ns;   /* end of the last counted repetition */
    int64_t *t_comp_ns;   /* [repetitions]: the slowest thread of this process */
};

/* Fills in repetitions, warm-ups and slots of targets whose calibration is known, so that the timetable takes about
 * `seconds`. Each target has at most most_repetitions, and at least one or as many as fit into 50 ms. */
void impact_schedule(struct impact_plan *plan, double seconds, int64_t most_repetitions);

/* Returns the time from the beginning of the first slot to the end of the last, ns. */
int64_t impact_duration_ns(const struct impact_plan *plan);

/* What a record has of a struct impact_plan in its plan, and of a point beside the target time: in its parameters, and
 * of its own. */
extern const struct field impact_plan_fields[];
extern const struct field impact_parameter_fields[];
extern const struct field impact_own_fields[];

/* Frees the targets. */
void impact_plan_free(struct impact_plan *plan);

/* Allocates the samples of every target. Free with impact_samples_free. */
struct impact_samples *impact_samples_create(const struct impact_plan *plan);
void impact_samples_free(const struct impact_plan *plan, struct impact_samples *samples);

/* Allocates memory for the largest work. Call it before the processes agree on a beginning. Dies when memory runs out.
 */
void impact_prepare(compute_team *team, const struct impact_plan *plan);

/* Returns the time of day, ns since the epoch. */
int64_t impact_utc_ns(void);

/* Carries out the timetable from this time of day on. Returns when the last slot is over. */
void impact_measure(compute_team *team, const struct impact_plan *plan, int64_t begin_utc_ns,
                    struct impact_samples *samples);

/*
 * Writes the line of one target. windows: [ranks][2], begin and end as in impact_samples; t_comp_ns:
 * [ranks][repetitions]. Returns false where the disk refuses.
 */
bool impact_write_point(record_file *record, const struct impact_plan *plan, size_t index, size_t ranks,
                        const int64_t *windows, const int64_t *t_comp_ns);
