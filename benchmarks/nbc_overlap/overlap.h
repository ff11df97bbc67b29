/*
 * overlap - what nbc_overlap measures (Denis 2022, section 5): a communication alone, a computation alone, and both
 * together, for every point of a grid of communication times and computation times, with sizes that were calibrated to
 * these times.
 */
#pragma once

#include "overlap_state.h"
#include "program.h"

/* What sampler_measure measures. The context of its hooks is a struct overlap. */
extern const struct sampler_kind overlap_points;

/* The `check`, `begin` and `end` of the struct program_kind: overlap_check looks at memory and given sizes,
 * overlap_begin calibrates, and both write the sizes file where one was asked for. */
void overlap_check(struct program *program, void *context, char *error, size_t error_size);
bool overlap_begin(struct program *program, void *context, sampler *s, char *reason, size_t reason_size);
bool overlap_end(struct program *program, void *context, char *reason, size_t reason_size);
