/*
 * impact_sizes - finds the work size for every computation time (Denis 2022, sections 4.3 and 5.1). Sizes are searched
 * in the configuration basic and saved, so that every configuration and the program without MPI do the same work.
 */
#pragma once

#include "impact.h"
#include "program.h"
#include "size_table.h"

#include <stdbool.h>
#include <stddef.h>

/* Rank 0: reads the sizes and calibrations of all targets from a sizes file. Returns false and one line in error on a
 * fault. */
bool impact_sizes_read(const char *path, const struct program *program, int given_up_cores, struct impact_plan *plan,
                       char *error, size_t error_size);

/* Collective: gives the sizes that rank 0 has read to all ranks or, where none are given, searches them. Writes them to
 * this sizes file; save_sizes NULL: to none. Returns false, after one line on stderr, where no size takes one of the
 * times or they cannot be written. */
bool impact_sizes_find(const struct program *program, bool given, const char *save_sizes, struct impact_plan *plan);
