/*
 * table - prints the table of results of a benchmark that has none of its own, on stdout: one row per point, when it is
 * measured. It is for people; no program parses it.
 */
#pragma once

#include "sampler.h"

/* Prints a column for every parameter of the points (for their name, where points are found while the run goes on), and
 * for the median of every series. */
void table_print_head(const struct sampler_kind *kind, const struct sampler_plan *plan);
void table_print_row(const struct sampler_kind *kind, void *context, const struct sampler_plan *plan,
                     const struct sampler_point *point, const samples *s, const struct record_point *record);

/* Prints the last line: the share of the wall time that went into valid repetitions. */
void table_print_end(double measured_seconds, double wall_seconds);
