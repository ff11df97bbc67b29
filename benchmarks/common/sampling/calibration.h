/*
 * calibration - finds the size for every target time of a plan (Denis 2022, sections 4.3 and 5.1): searches it, takes
 * it from a sizes file, or searches it again when its reference has moved. The sizes are kept in a struct size_table.
 */
#pragma once

#include "bench.h"
#include "plan.h"
#include "size_search.h"
#include "size_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One line in error where --sizes, whose file makes a calibration needless, is given beside an option about the
 * calibration: save_sizes (NULL: not given), max_message_bytes (0: not given). */
void calibration_check_options(const char *sizes, const char *save_sizes, int64_t max_message_bytes, char *error,
                               size_t error_size);

/* Creates a table of the plan's targets and points without sizes, to be filled by size_table_read or
 * calibration_search. Free with calibration_sizes_free.
 */
struct size_table calibration_sizes_create(const struct plan *plan, int ranks);
void calibration_sizes_free(struct size_table *sizes);

/* Checks sizes that were read from the file `path`: one line in error where a message or a work of such a size is
 * impossible here (its unit, its largest size, the memory of a rank). */
void calibration_sizes_check(const struct plan *plan, const struct size_table *sizes, const char *path, char *error,
                             size_t error_size);

/* One line in error where not even the smallest computation fits in the memory that a rank may take for it. */
void calibration_memory_check(const struct plan *plan, char *error, size_t error_size);

/* Collective: broadcasts rank 0's sizes to all ranks. */
void calibration_sizes_share(struct size_table *sizes);

typedef struct calibration calibration;

/* Creates a calibration, which points at plan, bench and sizes. sizes has been read already where plan->sizes_given;
 * else calibration_search fills it in.
 */
calibration *calibration_create(const struct plan *plan, struct bench *bench, struct size_table *sizes);
void calibration_destroy(calibration *c);

/* Collective: searches the sizes of all targets, or takes over the given ones. Returns false where wrong data were
 * received. */
bool calibration_search(calibration *c);

/* Returns whether a size was found that can be measured with, near its target or not. */
bool calibration_can_take(const struct size_search_result *result);

/* Return how the size of a target was found; collective and target are indices of the plan. */
const struct size_search_result *calibration_comm(const calibration *c, size_t collective, size_t target);
const struct size_search_result *calibration_comp(const calibration *c, size_t target);

/*
 * Collective: rechecks the size of a communication target, or of a computation target where collective is
 * CALIBRATION_COMPUTATION, because its reference has moved. Where the reference, measured alone, still takes its time
 * to within `agreement` (relative to the target), the size stays. The points that follow use the size that is found.
 * deadline: local time of rank 0; 0: none. Returns false where wrong data were received.
 */
#define CALIBRATION_COMPUTATION SIZE_MAX
bool calibration_renew(calibration *c, size_t collective, size_t target, double agreement, int64_t deadline);
