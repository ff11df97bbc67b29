/*
 * calibration - the sizes of all targets (Denis 2022, sections 4.3 and 5.1): searched, taken from a file, or looked at
 * again.
 */
#ifndef CAMPAIGN_CALIBRATION_H
#define CAMPAIGN_CALIBRATION_H

#include "bench.h"
#include "plan.h"
#include "size_search.h"
#include "size_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The targets of a plan without sizes, every point included: for size_table_read, or to be filled by a search. Free it.
 */
struct size_table calibration_sizes_create(const struct plan *plan, int ranks);
void calibration_sizes_free(struct size_table *sizes);

/* What a sizes file, of this path, may say but no message or work can be: one line in error. */
void calibration_sizes_check(const struct plan *plan, const struct size_table *sizes, const char *path, char *error,
                             size_t error_size);

/* Where not even the smallest computation fits in the memory of a rank: one line in error. */
void calibration_memory_check(const struct plan *plan, char *error, size_t error_size);

/* Collective: rank 0's sizes for all. */
void calibration_sizes_share(struct size_table *sizes);

typedef struct calibration calibration;

/* sizes: filled by calibration_search, or read already (plan->sizes_given). The plan's budget counts from its began_ns.
 */
calibration *calibration_create(const struct plan *plan, struct bench *bench, struct size_table *sizes);
void calibration_destroy(calibration *c);

/* Collective. Finds, or takes over, the sizes of all targets. false: wrong data were received. */
bool calibration_search(calibration *c);

/* Whether a size was found that can be measured with, near its target or not. */
bool calibration_can_take(const struct size_search_result *result);

const struct size_search_result *calibration_comm(const calibration *c, size_t collective, size_t target);
const struct size_search_result *calibration_comp(const calibration *c, size_t target);

/*
 * Collective. Looks again for the size of a communication target, or where collective is CALIBRATION_COMPUTATION of a
 * computation target: its reference has moved. A size that still takes its time, by itself, within `agreement`,
 * relative to the target, stays. The points that come after use what is found. deadline: local time of rank 0, 0 for
 * none. false: wrong data were received.
 */
#define CALIBRATION_COMPUTATION SIZE_MAX
bool calibration_renew(calibration *c, size_t collective, size_t target, double agreement, int64_t deadline);

#endif
