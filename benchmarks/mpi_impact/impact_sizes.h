/*
 * impact_sizes - finds the work size for every computation time (Denis 2022, sections 4.3 and 5.1). Sizes are searched
 * in the configuration basic and saved, so that every configuration and the program without MPI do the same work.
 */
#ifndef CAMPAIGN_IMPACT_SIZES_H
#define CAMPAIGN_IMPACT_SIZES_H

#include "impact.h"
#include "program.h"
#include "size_table.h"

#include <stdbool.h>
#include <stddef.h>

/* Collective: searches the size of every target, and fills in its size and calibration. */
void impact_sizes_search(const struct program *program, struct impact_plan *plan);

/* Rank 0: reads the sizes and calibrations of all targets from a sizes file. Returns false and one line in error on a
 * fault. */
bool impact_sizes_read(const char *path, const struct program *program, int given_up_cores, struct impact_plan *plan,
                       char *error, size_t error_size);

/* Rank 0: writes them to a sizes file. Returns false and one line in error on a fault. */
bool impact_sizes_write(const char *path, const struct program *program, const struct impact_plan *plan, char *error,
                        size_t error_size);

#endif
