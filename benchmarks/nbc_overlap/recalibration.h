/*
 * recalibration - a point whose reference is not what its size was chosen for, or drifts: its size is looked for again.
 */
#ifndef CAMPAIGN_RECALIBRATION_H
#define CAMPAIGN_RECALIBRATION_H

#include "sampler.h"
#include "size_search.h"

#include <stdbool.h>
#include <stddef.h>

/* How far the median of a series is from the time that its size was calibrated to, relative to that; NAN where one of
 * them is not known. */
double recalibration_moved(const sampler *s, size_t series, const struct size_search_result *result);

/* The sampler's hooks, whose context is a struct overlap. Seen early, a reference that has moved throws little away. */
bool recalibration_doubts(void *context, const struct sampler_point *p, const sampler *s);
enum sampler_review recalibration_review(void *context, struct sampler_point *p, const sampler *s);

#endif
