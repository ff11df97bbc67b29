/*
 * overlap_table - prints the table of results of nbc_overlap on stdout: one row per point, when it is measured. It is
 * for people; no program parses it.
 */
#pragma once

#include "record.h"
#include "sampler.h"

#include <stdbool.h>

/* Prints the head. tests: with columns about MPI_Test. */
void overlap_table_head(bool tests);

/* Prints a point's row: the sampler's hook print_row, whose context is a struct overlap. Times are medians. r_overhead
 * is Denis 2022, equation 1, from medians and never clamped. r_comm and r_comp are equations 4 and 3 for each rank
 * against that rank's own references; the largest over ranks is printed. t_test is that of the rank where it is
 * longest. */
void overlap_table_row(void *context, const struct sampler_point *p, const sampler *s,
                       const struct record_point *record);
