#include "grid.h"

#include "bits.h"

#include <math.h>
#include <stdbool.h>

/* What random numbers are for. */
enum stream { DIAGONAL = 1, WEIGHT, PLACE_X, PLACE_Y, RIGHT_SIDE };

/* How far a point is moved in each direction, at most. */
#define MOVED 0.4

static uint64_t mix(uint64_t x) {
    return bits_mix(x + BITS_STEP);
}

static uint64_t random_bits(const struct grid *g, enum stream stream, int64_t a, int64_t b) {
    return mix(mix(mix(g->seed + (uint64_t)stream) + (uint64_t)a) + (uint64_t)b);
}

/* Returns a number in [0, 1). */
static double random_share(const struct grid *g, enum stream stream, int64_t a, int64_t b) {
    return bits_share(random_bits(g, stream, a, b));
}

struct grid grid_make(int64_t points, uint64_t seed) {
    return (struct grid){.points = points, .width = (int64_t)ceil(sqrt((double)points)), .seed = seed};
}

static bool exists(const struct grid *g, int64_t x, int64_t y) {
    return x >= 0 && x < g->width && y >= 0 && y * g->width + x < g->points;
}

/* Returns whether the diagonal of a cell goes from its corner (x, y) to (x + 1, y + 1); otherwise it is the other one.
 */
static bool rises(const struct grid *g, int64_t x, int64_t y) {
    return random_bits(g, DIAGONAL, x, y) % 2 == 1;
}

static bool is_edge(const struct grid *g, int64_t x, int64_t y, int64_t dx, int64_t dy) {
    const int64_t cell_x = dx < 0 ? x - 1 : x;
    const int64_t cell_y = dy < 0 ? y - 1 : y;
    if (!exists(g, x + dx, y + dy)) {
        return false;
    }
    return dx == 0 || dy == 0 || rises(g, cell_x, cell_y) == (dx == dy);
}

int grid_neighbours(const struct grid *g, int64_t point, int64_t neighbours[GRID_MOST_NEIGHBOURS]) {
    const int64_t x = point % g->width;
    const int64_t y = point / g->width;
    int count = 0;
    for (int64_t dy = -1; dy <= 1; dy++) {
        for (int64_t dx = -1; dx <= 1; dx++) {
            if ((dx != 0 || dy != 0) && is_edge(g, x, y, dx, dy)) {
                neighbours[count++] = point + dy * g->width + dx;
            }
        }
    }
    return count;
}

double grid_weight(const struct grid *g, int64_t a, int64_t b) {
    return 0.5 + random_share(g, WEIGHT, a < b ? a : b, a < b ? b : a);
}

double grid_coordinate(const struct grid *g, int64_t point, int direction) {
    const int64_t on_lattice = direction == 0 ? point % g->width : point / g->width;
    const double moved = MOVED * (2 * random_share(g, direction == 0 ? PLACE_X : PLACE_Y, point, 0) - 1);
    return (double)on_lattice + moved;
}

double grid_right_side(const struct grid *g, int64_t point, int64_t unknown) {
    return 2 * random_share(g, RIGHT_SIDE, point, unknown) - 1;
}
