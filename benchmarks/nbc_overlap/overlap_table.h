/*
 * overlap_table - the table for people: a row per point as it comes. Nothing parses it.
 */
#ifndef CAMPAIGN_OVERLAP_TABLE_H
#define CAMPAIGN_OVERLAP_TABLE_H

#include "record.h"
#include "sampler.h"

#include <stdbool.h>

/* tests: with columns about MPI_Test. */
void overlap_table_head(bool tests);

/* The sampler's hook, whose context is a struct overlap. Medians. r_overhead is Denis 2022, equation 1, from medians
 * and never clamped; r_comm and r_comp are equations 4 and 3 per rank against that rank's own references, the largest
 * over ranks. t_test is of the rank where it is longest. */
void overlap_table_row(void *context, const struct sampler_point *p, const sampler *s,
                       const struct record_point *record);

#endif
