#include "settings.h"

#include "fail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SIZE = 1000000000, LEAST_ITEMS = 64, LEAST_ITERATIONS = 6 };
enum { POSITION_SUMMA, POSITION_POISSON, POSITION_BPMF }; /* in kernel_table */

/* Rows of the grid of the Poisson equation, the paper's, and items of bpmf per rank: 1000 of them make its messages of
 * 80,000 bytes. */
static const struct option_values poisson_rows[] = {
    [GRID_SMOKE] = {{256}, 1}, [GRID_NIGHTLY] = {{256, 512}, 2}, [GRID_FULL] = {{256, 512, 1024}, 3}};
static const int64_t items_per_rank[] = {[GRID_SMOKE] = 250, [GRID_NIGHTLY] = 1000, [GRID_FULL] = 1000};

struct settings settings = {.noise = 0.5, .iterations = 20, .seed = 1};

void settings_describe(struct option_entry *entries) {
    struct settings *s = &settings;
    const struct option_entry table[] = {
        {.name = "kernel",
         .kind = OPTION_CHOICES,
         .target = &s->kernels,
         .choices = kernel_choices(),
         .parameter = "kernel",
         .help = "kernels to solve, comma-separated, may be repeated; default: all"},
        {.name = "summa-order",
         .kind = OPTION_INTEGERS,
         .target = &s->sizes[POSITION_SUMMA],
         .minimum = 1,
         .maximum = MOST_SIZE,
         .parameter = "size",
         .help = "orders of the matrices that are multiplied; default: 256 times the root of the number of ranks"},
        {.name = "poisson-rows",
         .kind = OPTION_INTEGERS,
         .target = &s->sizes[POSITION_POISSON],
         .minimum = 1,
         .maximum = MOST_SIZE,
         .parameter = "size",
         .grids = poisson_rows,
         .help = "rows, and points of each row, of the grid of the Poisson equation; default: the grid's"},
        {.name = "bpmf-items",
         .kind = OPTION_INTEGERS,
         .target = &s->sizes[POSITION_BPMF],
         .minimum = LEAST_ITEMS,
         .maximum = MOST_SIZE,
         .parameter = "size",
         .help =
             "rows, and columns, of the matrix of ratings that is generated; default: 250 per rank, 1000 with other "
             "grids than smoke"},
        option_constant(
            "method", &s->method, program_method_choices,
            "when a point is done; default: campaign. The paper's way is 20 repetitions, however wide the interval "
            "is"),
        program_virtual_node_ranks(&s->virtual_node_ranks),
        option_one_of("grid", &s->grid, program_grid_choices,
                      "the sizes of kernels for which no other option gives one; default: smoke"),
        option_text("ratings", &s->ratings, "FILE",
                    "a matrix of ratings in the Matrix Market format (coordinate, real or integer, general), in place "
                    "of a generated one"),
        option_real("noise", &s->noise, 1e-6, 1e6, "X",
                    "standard deviation of generated ratings about the product of their factors, which bpmf also "
                    "assumes of those in a file; default: 0.5"),
        option_integer("iterations", &s->iterations, LEAST_ITERATIONS, 100000, "N",
                       "iterations of bpmf; the first 5 do not count for its predictions; default: 20"),
        option_flag("memory-only", &s->memory_only,
                    "measure the memory of each variant, and no times: for ranks that share cores"),
        option_flag("round-robin", &s->round_robin,
                    "deal the ranks out to the virtual nodes in turn; default: in blocks"),
        option_seed(&s->seed, "of the elements of matrices, and of all random numbers; default: 1"),
    };
    program_add_options(entries, table, sizeof table);
}

void settings_fill(struct settings *s, const struct crew *crew, const struct ratings *ratings) {
    const struct option_values order = {{summa_usual_order(crew)}, 1};
    const struct option_values items = {{ratings != NULL ? ratings->rows : items_per_rank[s->grid] * crew->info.ranks},
                                        1};
    options_fill_range(&s->kernels, 0, KERNELS);
    options_fill_list(&s->sizes[POSITION_SUMMA], &order);
    options_fill_list(&s->sizes[POSITION_POISSON], &poisson_rows[s->grid]);
    options_fill_list(&s->sizes[POSITION_BPMF], &items);
}

static int compare_sizes(const void *left, const void *right) {
    const int64_t a = *(const int64_t *)left;
    const int64_t b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

struct option_list settings_sizes(const struct settings *s) {
    struct option_list all = {0};
    size_t kept = 0;
    for (size_t i = 0; i < s->kernels.count; i++) {
        const struct option_list *sizes = &s->sizes[s->kernels.values[i]];
        all.values = fail_realloc(all.values, all.count + sizes->count, sizeof *all.values);
        memcpy(all.values + all.count, sizes->values, sizes->count * sizeof *all.values);
        all.count += sizes->count;
    }
    qsort(all.values, all.count, sizeof *all.values, compare_sizes);
    for (size_t i = 0; i < all.count; i++) {
        if (kept == 0 || all.values[kept - 1] != all.values[i]) {
            all.values[kept++] = all.values[i];
        }
    }
    all.count = kept;
    return all;
}

void settings_check(const struct program *program, char *error, size_t error_size) {
    const struct settings *s = &settings;
    if (s->round_robin && s->virtual_node_ranks == 0) {
        snprintf(error, error_size,
                 "--round-robin: it deals ranks out to virtual nodes, which --virtual-node-ranks makes");
    } else if (s->ratings != NULL && s->sizes[POSITION_BPMF].count > 0) {
        snprintf(error, error_size, "--ratings: the file has a size of its own; leave --bpmf-items out");
    }
}
