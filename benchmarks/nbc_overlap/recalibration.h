/*
 * recalibration - searches a point's size again where its reference does not take the time that the size was calibrated
 * to, or drifts during the point.
 */
#pragma once

#include "sampler.h"
#include "size_search.h"

#include <stdbool.h>
#include <stddef.h>

/* Returns how far the median of a series is from the time that its size was calibrated to, relative to that time; NAN
 * where either is not known. */
double recalibration_moved(const sampler *s, size_t series, const struct size_search_result *result);

/* The sampler's hooks `doubts` and `review`, whose context is a struct overlap. The earlier a moved reference is
 * noticed, the fewer repetitions are thrown away. */
bool recalibration_doubts(void *context, const struct sampler_point *p, const sampler *s);
enum sampler_review recalibration_review(void *context, struct sampler_point *p, const sampler *s);
