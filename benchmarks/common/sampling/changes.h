/*
 * changes - which message size to measure next: first the sizes that were asked for, then sizes between neighbours
 * whose outcomes differ, until the place of every change is known.
 *
 * Outcomes need not be monotonic in the size, so that every pair of neighbours is looked at. The pair that is furthest
 * apart, as a ratio, is divided first: where time runs out, all changes are known about equally well. No MPI.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* At most so many sizes are measured beside those that were asked for: an outcome that is decided by chance changes
 * between any two sizes. */
enum { CHANGES_MOST_BETWEEN = 100 };

typedef struct changes changes;

/*
 * asked: the sizes to begin with, in any order, bytes; a size that occurs twice is measured once. step: sizes between
 * them are multiples of step, and neighbours that are one step apart are not divided any more. bisects: false measures
 * the sizes that were asked for and no others.
 */
changes *changes_create(const int64_t *asked, size_t count, int64_t step, bool bisects);
void changes_destroy(changes *c);

/* Returns the next size in *bytes; false where there is none. Repeats its answer until changes_note has that size. */
bool changes_next(const changes *c, int64_t *bytes);

/* Returns whether all sizes that were asked for are measured. */
bool changes_has_asked(const changes *c);

/* Notes the outcome of a size: any number, of which only equality matters, or CHANGES_UNKNOWN where it was not found
 * out: no change is seen between such a size and its neighbours. */
enum { CHANGES_UNKNOWN = -1 };
void changes_note(changes *c, int64_t bytes, int outcome);

/* Returns how many sizes are still to be measured if no further change is found. */
size_t changes_left(const changes *c);
