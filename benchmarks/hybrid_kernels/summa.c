/*
 * SUMMA, the multiplication of dense matrices (Zhou et al. 2020, section 5.3.1; van de Geijn and Watts 1997): the ranks
 * form a grid, each has a block of either factor and of the product. In each phase a panel of the first factor is
 * broadcast along the rows of the grid, one of the second along its columns, and every rank adds their product.
 *
 * The paper's matrix has blocks of 256 x 256 on a square grid of ranks, so that each broadcast has 512 KiB: the usual
 * order is 256 sqrt(P). On a grid that is not square the panels are narrower than a block, and the order must be a
 * multiple of their number. The elements are small whole numbers, so that the product is exact whatever the order of
 * its sums, and can be compared bit by bit.
 */
#include "bits.h"
#include "blas.h"
#include "fail.h"
#include "fail_hybrid.h"
#include "fail_mpi.h"
#include "kernel.h"

#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS, COLUMNS };
enum { MOST_ELEMENT = 4 };  /* elements are whole numbers from -4 to 4 */
enum { MOST_PROBE = 1000 }; /* so many that errors hardly cancel, and so few that all sums are exact */

struct summa {
    enum way way;
    uint64_t seed;
    int n;
    int grid[2];     /* rows and columns of ranks */
    int place[2];    /* of this rank */
    int panels;      /* phases */
    int width;       /* of a panel */
    int block[2];    /* rows and columns of this rank's blocks */
    MPI_Comm comm;   /* owned, as the next two */
    MPI_Comm line;   /* the ranks in this row of the grid: the first factor travels here */
    MPI_Comm pile;   /* the ranks in this column */
    double *a;       /* [block columns][block rows], column by column: a panel is contiguous */
    double *b;       /* [block rows][block columns], row by row: likewise */
    double *c;       /* as a */
    double *a_panel; /* what was received; NULL in hybrid */
    double *b_panel;
    hybrid_comm *hybrid_line;
    hybrid_comm *hybrid_pile;
    hybrid_memory *a_memory;
    hybrid_memory *b_memory;
};

static int64_t common_multiple(int64_t a, int64_t b) {
    int64_t x = a;
    int64_t y = b;
    while (y != 0) {
        const int64_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

/* The grid of so many ranks. */
static void grid_of(int ranks, int grid[2]) {
    grid[ROWS] = grid[COLUMNS] = 0;
    MPI_CHECK(MPI_Dims_create(ranks, 2, grid));
}

/* The order must be a multiple of the panels of both grids: that of all ranks and that of the nodes. */
static int64_t unit_of(const struct crew *crew) {
    int ranks[2];
    int nodes[2];
    grid_of(crew->info.ranks, ranks);
    grid_of(crew->info.nodes, nodes);
    return common_multiple(common_multiple(ranks[ROWS], ranks[COLUMNS]), common_multiple(nodes[ROWS], nodes[COLUMNS]));
}

int64_t summa_usual_order(const struct crew *crew) {
    const int64_t unit = unit_of(crew);
    const int64_t order = llround(256 * sqrt(crew->info.ranks));
    return (order + unit - 1) / unit * unit;
}

/* ---- elements ---- */

static double element(uint64_t seed, int factor, int64_t row, int64_t column) {
    const uint64_t key = bits_mix(seed * 2 + (uint64_t)factor + 1) + ((uint64_t)row << 32) + (uint64_t)column;
    return (double)(int)(bits_mix(key) % (2 * MOST_ELEMENT + 1)) - MOST_ELEMENT;
}

/* Element of the vector that the product is checked with. */
static double probe(int64_t row) {
    return (double)(int)(bits_mix((uint64_t)row + 1) % (2 * MOST_PROBE + 1)) - MOST_PROBE;
}

/* Each thread makes the columns of which it computes the product, so that it touches them first; of the first factor,
 * which all threads read, as many. */
static void fill(void *state, struct team *team, int thread) {
    struct summa *s = state;
    const int64_t first_row = (int64_t)s->place[ROWS] * s->block[ROWS];
    const int64_t first_column = (int64_t)s->place[COLUMNS] * s->block[COLUMNS];
    const struct team_part part = team_own_part(team, thread, s->block[COLUMNS]);
    for (int i = 0; i < s->block[ROWS]; i++) {
        for (int j = part.first; j < part.end; j++) {
            s->a[(size_t)j * (size_t)s->block[ROWS] + (size_t)i] = element(s->seed, 0, first_row + i, first_column + j);
            s->b[(size_t)i * (size_t)s->block[COLUMNS] + (size_t)j] =
                element(s->seed, 1, first_row + i, first_column + j);
        }
    }
}

/* ---- what all variants share ---- */

/* The rank of the line that has the panel of the first factor, and where it lies there. */
static int a_root(const struct summa *s, int panel) {
    return panel / (s->panels / s->grid[COLUMNS]);
}

static double *a_own(const struct summa *s, int panel) {
    return s->a + (size_t)(panel % (s->panels / s->grid[COLUMNS])) * (size_t)s->width * (size_t)s->block[ROWS];
}

static int b_root(const struct summa *s, int panel) {
    return panel / (s->panels / s->grid[ROWS]);
}

static double *b_own(const struct summa *s, int panel) {
    return s->b + (size_t)(panel % (s->panels / s->grid[ROWS])) * (size_t)s->width * (size_t)s->block[COLUMNS];
}

static int a_count(const struct summa *s) {
    return s->block[ROWS] * s->width;
}

static int b_count(const struct summa *s) {
    return s->block[COLUMNS] * s->width;
}

/* Adds the product of two panels to columns [first, end) of the block. */
static void add_product(const struct summa *s, const double *a, const double *b, int first, int end) {
    if (end > first) {
        BLAS_NAME(cblas_dgemm)
        (CblasColMajor, CblasNoTrans, CblasTrans, s->block[ROWS], end - first, s->width, 1.0, a, s->block[ROWS],
         b + first, s->block[COLUMNS], 1.0, s->c + (size_t)first * (size_t)s->block[ROWS], s->block[ROWS]);
    }
}

/* ---- the variants ---- */

enum { PANELS_FIRST = __LINE__ };
static void make_panels(struct summa *s) {
    s->a_panel = fail_alloc((size_t)a_count(s), sizeof *s->a_panel);
    s->b_panel = fail_alloc((size_t)b_count(s), sizeof *s->b_panel);
}

static void free_panels(struct summa *s) {
    free(s->a_panel);
    free(s->b_panel);
    s->a_panel = s->b_panel = NULL;
}

/* Broadcasts both panels by the MPI library. The rank that has one sends it from where it is. */
static void broadcast_panels(const struct summa *s, int panel, const double **a, const double **b) {
    double *own_a = a_root(s, panel) == s->place[COLUMNS] ? a_own(s, panel) : s->a_panel;
    double *own_b = b_root(s, panel) == s->place[ROWS] ? b_own(s, panel) : s->b_panel;
    MPI_CHECK(MPI_Bcast(own_a, a_count(s), MPI_DOUBLE, a_root(s, panel), s->line));
    MPI_CHECK(MPI_Bcast(own_b, b_count(s), MPI_DOUBLE, b_root(s, panel), s->pile));
    *a = own_a;
    *b = own_b;
}
enum { PANELS_LINES = __LINE__ - PANELS_FIRST - 1 };

enum { MPI_FIRST = __LINE__ };
static void solve_mpi(void *state, struct team *team, int thread, struct stopwatch *w) {
    const struct summa *s = state;
    for (int panel = 0; panel < s->panels; panel++) {
        const double *a = NULL;
        const double *b = NULL;
        broadcast_panels(s, panel, &a, &b);
        stopwatch_communicated(w);
        add_product(s, a, b, 0, s->block[COLUMNS]);
        stopwatch_computed(w);
    }
}
enum { MPI_LINES = __LINE__ - MPI_FIRST - 1 };

enum { OPENMP_FIRST = __LINE__ };
static void solve_openmp(void *state, struct team *team, int thread, struct stopwatch *w) {
    const struct summa *s = state;
    const struct team_part part = team_own_part(team, thread, s->block[COLUMNS]);
    for (int panel = 0; panel < s->panels; panel++) {
        const double *a = a_root(s, panel) == s->place[COLUMNS] ? a_own(s, panel) : s->a_panel;
        const double *b = b_root(s, panel) == s->place[ROWS] ? b_own(s, panel) : s->b_panel;
        if (thread == 0) {
            broadcast_panels(s, panel, &a, &b);
            stopwatch_communicated(w);
        }
        team_meet(team);
        add_product(s, a, b, part.first, part.end);
        team_meet(team);
        if (thread == 0) {
            stopwatch_computed(w);
        }
    }
}
enum { OPENMP_LINES = __LINE__ - OPENMP_FIRST - 1 };

enum { HYBRID_FIRST = __LINE__ };
static void make_memories(struct summa *s, const struct crew *crew) {
    const struct hybrid_settings same_nodes = {.nodes_of = crew->hybrid};
    HYBRID_CHECK(hybrid_comm_create(s->line, &same_nodes, &s->hybrid_line));
    HYBRID_CHECK(hybrid_comm_create(s->pile, &same_nodes, &s->hybrid_pile));
    HYBRID_CHECK(
        hybrid_memory_create_buffers(s->hybrid_line, (size_t)a_count(s), sizeof(double), HYBRID_ONE, 1, &s->a_memory));
    HYBRID_CHECK(
        hybrid_memory_create_buffers(s->hybrid_pile, (size_t)b_count(s), sizeof(double), HYBRID_ONE, 1, &s->b_memory));
}

static void free_memories(struct summa *s) {
    HYBRID_CHECK(hybrid_memory_free(&s->a_memory));
    HYBRID_CHECK(hybrid_memory_free(&s->b_memory));
}

static void free_communicators(struct summa *s) {
    HYBRID_CHECK(hybrid_comm_free(&s->hybrid_line));
    HYBRID_CHECK(hybrid_comm_free(&s->hybrid_pile));
}

/* Broadcasts a panel: the root copies its own into the memory of the node. */
static const double *share_panel(hybrid_memory *memory, const double *own, int count, int root) {
    const size_t bytes = (size_t)count * sizeof *own;
    void *message = NULL;
    const void *result = NULL;
    HYBRID_CHECK(hybrid_write_message(memory, bytes, root, &message));
    if (message != NULL) {
        memcpy(message, own, bytes);
    }
    HYBRID_CHECK(hybrid_broadcast(memory, (size_t)count, MPI_DOUBLE, root));
    HYBRID_CHECK(hybrid_read(memory, &result));
    return result;
}

static void solve_hybrid(void *state, struct team *team, int thread, struct stopwatch *w) {
    const struct summa *s = state;
    for (int panel = 0; panel < s->panels; panel++) {
        const double *a = share_panel(s->a_memory, a_own(s, panel), a_count(s), a_root(s, panel));
        const double *b = share_panel(s->b_memory, b_own(s, panel), b_count(s), b_root(s, panel));
        stopwatch_communicated(w);
        add_product(s, a, b, 0, s->block[COLUMNS]);
        stopwatch_computed(w);
        HYBRID_CHECK(hybrid_read_end(s->a_memory));
        HYBRID_CHECK(hybrid_read_end(s->b_memory));
    }
    stopwatch_communicated(w);
}
enum { HYBRID_LINES = __LINE__ - HYBRID_FIRST - 1 };

/* ---- the kernel ---- */

static void check_size(const struct crew *crew, const struct problem *problem, char *error, size_t error_size) {
    const int64_t unit = unit_of(crew);
    int grid[2];
    grid_of(crew->info.ranks, grid);
    if (problem->size % unit != 0) {
        snprintf(error, error_size,
                 "--summa-order: %" PRId64 " cannot be divided on a grid of %d x %d ranks; multiples of %" PRId64
                 " can, such as %" PRId64,
                 problem->size, grid[ROWS], grid[COLUMNS], unit, (problem->size + unit - 1) / unit * unit);
    } else if (problem->size * problem->size > INT_MAX) {
        snprintf(error, error_size,
                 "--summa-order: a panel of a matrix of order %" PRId64 " may exceed MPI's counts; at most %d",
                 problem->size, 46340);
    }
}

static double bytes_needed(const struct crew *crew, const struct problem *problem) {
    const double matrix = 8.0 * (double)problem->size * (double)problem->size;
    /* Three blocks and two panels of at most a block each: of a process in two ways; the leader has those of its node
     * besides. */
    return 5 * matrix * (2.0 / crew->info.ranks + 1.0 / crew->info.nodes) + 2 * matrix / crew->info.ranks;
}

/* Returns whether a lower rank of the same node is in the same row of the grid, or in the same column. */
static bool follows(const struct crew *crew, const int grid[2], int line) {
    const int own = crew->info.rank;
    for (int rank = 0; rank < own; rank++) {
        int node = 0;
        int node_rank = 0;
        HYBRID_CHECK(hybrid_comm_translate(crew->hybrid, rank, &node, &node_rank));
        const bool same =
            line == ROWS ? rank / grid[COLUMNS] == own / grid[COLUMNS] : rank % grid[COLUMNS] == own % grid[COLUMNS];
        if (same && node == crew->info.node) {
            return true;
        }
    }
    return false;
}

static int64_t window_bytes(const struct crew *crew, const struct problem *problem) {
    int grid[2];
    int64_t elements = 0;
    grid_of(crew->info.ranks, grid);
    const int64_t width = problem->size / common_multiple(grid[ROWS], grid[COLUMNS]);
    for (int line = ROWS; line <= COLUMNS; line++) {
        elements += follows(crew, grid, line) ? 0 : problem->size / grid[line] * width;
    }
    return elements * (int64_t)sizeof(double);
}

static void *create(const struct crew *crew, enum way way, const struct problem *problem) {
    struct summa *s = fail_alloc(1, sizeof *s);
    int rank = 0;
    int ranks = 0;
    s->way = way;
    s->seed = problem->seed;
    s->n = (int)problem->size;
    MPI_CHECK(MPI_Comm_dup(crew_comm(crew, way), &s->comm));
    MPI_CHECK(MPI_Comm_rank(s->comm, &rank));
    MPI_CHECK(MPI_Comm_size(s->comm, &ranks));
    grid_of(ranks, s->grid);
    s->place[ROWS] = rank / s->grid[COLUMNS];
    s->place[COLUMNS] = rank % s->grid[COLUMNS];
    s->panels = (int)common_multiple(s->grid[ROWS], s->grid[COLUMNS]);
    s->width = s->n / s->panels;
    s->block[ROWS] = s->n / s->grid[ROWS];
    s->block[COLUMNS] = s->n / s->grid[COLUMNS];
    MPI_CHECK(MPI_Comm_split(s->comm, s->place[ROWS], s->place[COLUMNS], &s->line));
    MPI_CHECK(MPI_Comm_split(s->comm, s->place[COLUMNS], s->place[ROWS], &s->pile));
    const size_t elements = (size_t)s->block[ROWS] * (size_t)s->block[COLUMNS];
    s->a = fail_alloc(elements, sizeof *s->a);
    s->b = fail_alloc(elements, sizeof *s->b);
    s->c = fail_alloc(elements, sizeof *s->c);
    if (way == WAY_HYBRID) {
        make_memories(s, crew);
    } else {
        make_panels(s);
    }
    return s;
}

static void drop(void *state) {
    struct summa *s = state;
    if (s->way != WAY_HYBRID) {
        free_panels(s);
    } else if (s->a_memory != NULL) {
        free_memories(s);
    }
}

static void destroy(void *state) {
    struct summa *s = state;
    drop(s);
    if (s->way == WAY_HYBRID) {
        free_communicators(s);
    }
    MPI_CHECK(MPI_Comm_free(&s->line));
    MPI_CHECK(MPI_Comm_free(&s->pile));
    MPI_CHECK(MPI_Comm_free(&s->comm));
    free(s->a);
    free(s->b);
    free(s->c);
    free(s);
}

/* A solve is so short that a whole one settles. */
static void reset(void *state, struct team *team, int thread, bool settles) {
    struct summa *s = state;
    const struct team_part part = team_own_part(team, thread, s->block[COLUMNS]);
    const size_t column = (size_t)s->block[ROWS];
    memset(s->c + (size_t)part.first * column, 0, (size_t)(part.end - part.first) * column * sizeof *s->c);
}

/* Collective over the line: returns the largest difference between C x and A (B x), for the rows of this rank. Each
 * rank makes the elements of the factors itself, so that wrong panels show. */
static double largest_residual(const struct summa *s) {
    const int64_t first_row = (int64_t)s->place[ROWS] * s->block[ROWS];
    const int64_t first_column = (int64_t)s->place[COLUMNS] * s->block[COLUMNS];
    double *product = fail_alloc((size_t)s->n, sizeof *product); /* B x */
    double *rows = fail_alloc((size_t)s->block[ROWS], sizeof *rows);
    double largest = 0;
    for (int64_t k = 0; k < s->n; k++) {
        for (int64_t j = 0; j < s->n; j++) {
            product[k] += element(s->seed, 1, k, j) * probe(j);
        }
    }
    for (int j = 0; j < s->block[COLUMNS]; j++) {
        for (int i = 0; i < s->block[ROWS]; i++) {
            rows[i] += s->c[(size_t)j * (size_t)s->block[ROWS] + (size_t)i] * probe(first_column + j);
        }
    }
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, rows, s->block[ROWS], MPI_DOUBLE, MPI_SUM, s->line));
    for (int i = 0; i < s->block[ROWS]; i++) {
        double right = 0;
        for (int64_t k = 0; k < s->n; k++) {
            right += element(s->seed, 0, first_row + i, k) * product[k];
        }
        const double off = fabs(right - rows[i]);
        /* Not a number counts as wrong. DBL_MAX survives the other rows, MPI_MAX and JSON. */
        largest = off > largest ? off : off <= largest ? largest : DBL_MAX;
    }
    free(rows);
    free(product);
    return largest;
}

static struct kernel_end end(void *state) {
    const struct summa *s = state;
    uint64_t digest = 0;
    double residual = largest_residual(s);
    for (int j = 0; j < s->block[COLUMNS]; j++) {
        for (int i = 0; i < s->block[ROWS]; i++) {
            const uint64_t row = (uint64_t)s->place[ROWS] * (uint64_t)s->block[ROWS] + (uint64_t)i;
            const uint64_t column = (uint64_t)s->place[COLUMNS] * (uint64_t)s->block[COLUMNS] + (uint64_t)j;
            digest +=
                kernel_digest_of(row * (uint64_t)s->n + column, s->c[(size_t)j * (size_t)s->block[ROWS] + (size_t)i]);
        }
    }
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &digest, 1, MPI_UINT64_T, MPI_SUM, s->comm));
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &residual, 1, MPI_DOUBLE, MPI_MAX, s->comm));
    return (struct kernel_end){.iterations = 1, .error = residual, .digest = digest, .right = residual == 0};
}

static struct kernel_bytes replicated(const void *state) {
    const struct summa *s = state;
    const int64_t panels[] = {a_count(s) * (int64_t)sizeof(double), b_count(s) * (int64_t)sizeof(double)};
    struct kernel_bytes bytes = {0, 0};
    if (s->way != WAY_HYBRID) {
        bytes.replicated = panels[0] + panels[1];
        return bytes;
    }
    hybrid_memory *const memories[] = {s->a_memory, s->b_memory};
    hybrid_comm *const comms[] = {s->hybrid_line, s->hybrid_pile};
    for (int i = 0; i < 2; i++) {
        struct hybrid_info info;
        size_t buffer = 0;
        size_t window = 0;
        HYBRID_CHECK(hybrid_comm_info(comms[i], &info));
        HYBRID_CHECK(hybrid_memory_bytes(memories[i], &buffer, &window));
        bytes.replicated += info.node_rank == 0 ? (int64_t)window : 0;
        bytes.one_copy += info.node_rank == 0 ? panels[i] : 0;
    }
    return bytes;
}

const struct kernel kernel_summa = {
    .name = "summa",
    .what = "the product of two square matrices, by SUMMA; size: their order",
    .option = "summa-order",
    .collective = "MPI_Bcast",
    .error_help = "largest difference between C x and A (B x), whole numbers",
    .lines = {[WAY_MPI] = PANELS_LINES + MPI_LINES,
              [WAY_OPENMP] = PANELS_LINES + OPENMP_LINES,
              [WAY_HYBRID] = HYBRID_LINES},
    .check = check_size,
    .bytes = bytes_needed,
    .windows = window_bytes,
    .create = create,
    .free = destroy,
    .fill = fill,
    .reset = reset,
    .solve = {[WAY_MPI] = solve_mpi, [WAY_OPENMP] = solve_openmp, [WAY_HYBRID] = solve_hybrid},
    .end = end,
    .replicated = replicated,
    .drop = drop,
};
