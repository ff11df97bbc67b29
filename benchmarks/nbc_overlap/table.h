/*
 * table - the table for people: a row per point as it comes. Nothing parses it.
 */
#ifndef CAMPAIGN_TABLE_H
#define CAMPAIGN_TABLE_H

#include "record.h"

#include <stdbool.h>

/* tests: with columns about MPI_Test. */
void table_print_head(bool tests);

/* Medians in ns. r_overhead is Denis 2022, equation 1, from medians and never clamped; r_comm and r_comp are equations 4 and 3 per rank
 * against that rank's own references, the largest over ranks. t_test is of the
 * rank where it is longest. */
void table_print_row(const struct record_point *point, bool tests, int64_t t_measured, int64_t t_comm_ref, int64_t t_comp_ref);

/* The last line: the share of the wall time that went into valid repetitions. */
void table_print_end(double measured_seconds, double wall_seconds);

#endif
