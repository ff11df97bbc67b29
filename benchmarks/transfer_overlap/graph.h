/*
 * graph - divides the graph of a grid's edges into parts by recursive bisection, with METIS or Scotch, as far as the
 * program was built with them.
 */
#pragma once

#include "grid.h"

#include <stdbool.h>
#include <stdint.h>

/* Returns whether the program was built with the library. */
bool graph_has_metis(void);
bool graph_has_scotch(void);

/* Write the part of each point, from 0 on: part[points]. parts is a power of two. Return false where the library is not
 * built in, refuses, or leaves a part empty. */
bool graph_divide_by_metis(const struct grid *g, int parts, uint16_t *part);
bool graph_divide_by_scotch(const struct grid *g, int parts, uint16_t *part);
