/*
 * grid - an unstructured two-dimensional grid of triangles, and the linear system on it. Nothing is stored: each number
 * follows from the seed and the points that it belongs to, so that every rank can make its own part alone. No MPI.
 *
 * The points are those of a lattice, numbered row by row, each moved at random by up to 0.4 of their distance. Each
 * cell is cut into two triangles along a diagonal that is chosen at random, so that a point has from 2 to 8 neighbours.
 * Edges have random weights.
 *
 * The system is A x = b with A = L + shift I, where L is the weighted Laplacian of the edges: symmetric and positive
 * definite, as a backward Euler step of a diffusion gives it. With several unknowns per point, each has the same
 * coefficients, and the unknowns of a point are coupled with each other.
 */
#pragma once

#include <stdint.h>

struct grid {
    int64_t points;
    int64_t width; /* points of a row of the lattice; the last row may be shorter */
    uint64_t seed;
};

/* What is added to the diagonal. It bounds the condition number, and so the iterations, whatever the size. */
#define GRID_SHIFT 0.5

/* How strongly the unknowns of a point are coupled: this, times their sum, is added to the product of each. */
#define GRID_COUPLING 0.05

enum { GRID_MOST_NEIGHBOURS = 8 };

struct grid grid_make(int64_t points, uint64_t seed);

/* Writes the neighbours of a point in ascending order, and returns how many there are. */
int grid_neighbours(const struct grid *g, int64_t point, int64_t neighbours[GRID_MOST_NEIGHBOURS]);

/* Returns the weight of the edge between two neighbours, from 0.5 to 1.5; the same for (a, b) and (b, a). */
double grid_weight(const struct grid *g, int64_t a, int64_t b);

/* Returns a coordinate of a point: 0 is x, 1 is y. The distance of the lattice is 1. */
double grid_coordinate(const struct grid *g, int64_t point, int direction);

/* Returns the right side b of an unknown of a point, from -1 to 1. */
double grid_right_side(const struct grid *g, int64_t point, int64_t unknown);
