/*
 * table - the table for people of a benchmark that has none of its own: a row per point as it comes. Nothing parses it.
 */
#ifndef CAMPAIGN_TABLE_H
#define CAMPAIGN_TABLE_H

#include "sampler.h"

/* A column for every parameter of the points, or where they are found on the way for their name, and for the median of every series. */
void table_print_head(const struct sampler_kind *kind, const struct sampler_plan *plan);
void table_print_row(const struct sampler_kind *kind, void *context, const struct sampler_plan *plan, const struct sampler_point *point,
                     const samples *s, const struct record_point *record);

/* The last line: the share of the wall time that went into valid repetitions. */
void table_print_end(double measured_seconds, double wall_seconds);

#endif
