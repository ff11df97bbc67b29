/*
 * hybrid_kernels - three kernels, each as pure MPI, as MPI and OpenMP, and with collectives that keep one copy of the
 * data per node.
 *
 * H. Zhou, J. Gracia, N. Zhou, R. Schneider, "Collectives in hybrid MPI+MPI code: design, practice and performance",
 * Parallel Computing 99 (2020), section 5.3.
 */
#include "compute.h"
#include "fail.h"
#include "fail_mpi.h"
#include "group.h"
#include "kernels.h"
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SIZE = 1000000000, LEAST_ITEMS = 64, LEAST_ITERATIONS = 6, PAPER_REPETITIONS = 20 };
enum { POSITION_SUMMA, POSITION_POISSON, POSITION_BPMF }; /* in kernel_table */

static const char *const kernel_names[] = {"summa", "poisson", "bpmf", NULL};

/* Rows of the grid of the Poisson equation, the paper's, and items of bpmf per rank: 1000 of them make its messages of
 * 80,000 bytes. */
static const int64_t poisson_rows[] = {256, 512, 1024};
static const size_t poisson_counts[] = {[GRID_SMOKE] = 1, [GRID_NIGHTLY] = 2, [GRID_FULL] = 3};
static const int64_t items_per_rank[] = {[GRID_SMOKE] = 250, [GRID_NIGHTLY] = 1000, [GRID_FULL] = 1000};

static struct settings {
    struct option_list kernels;
    struct option_list sizes[KERNELS];
    int grid;
    int method;
    bool memory_only;
    const char *ratings;
    double noise;
    int64_t iterations;
    int64_t virtual_node_ranks;
    bool round_robin;
    int64_t seed;
} settings = {.noise = 0.5, .iterations = 20, .seed = 1};

static void describe_options(struct option_entry *entries) {
    struct settings *s = &settings;
    const struct option_entry table[] = {
        option_some_of("kernel", &s->kernels, kernel_names,
                       "kernels to solve, comma-separated, may be repeated; default: all"),
        option_one_of("grid", &s->grid, program_grid_names,
                      "the sizes of kernels for which no other option gives one; default: smoke"),
        option_integers(
            "summa-order", &s->sizes[POSITION_SUMMA], 1, MOST_SIZE,
            "orders of the matrices that are multiplied; default: 256 times the root of the number of ranks"),
        option_integers("poisson-rows", &s->sizes[POSITION_POISSON], 1, MOST_SIZE,
                        "rows, and points of each row, of the grid of the Poisson equation"),
        option_integers("bpmf-items", &s->sizes[POSITION_BPMF], LEAST_ITEMS, MOST_SIZE,
                        "rows, and columns, of the matrix of ratings that is generated; default: 250 per rank, 1000 "
                        "with other grids than smoke"),
        option_text("ratings", &s->ratings, "FILE",
                    "a matrix of ratings in the Matrix Market format (coordinate, real or integer, general), in place "
                    "of a generated one"),
        option_real("noise", &s->noise, 1e-6, 1e6, "X",
                    "standard deviation of generated ratings about the product of their factors, which bpmf also "
                    "assumes of those in a file; default: 0.5"),
        option_integer("iterations", &s->iterations, LEAST_ITERATIONS, 100000, "N",
                       "iterations of bpmf; the first 5 do not count for its predictions; default: 20"),
        option_one_of("method", &s->method, program_method_names,
                      "paper: 20 repetitions of each point, however wide its interval is; default: campaign"),
        option_flag("memory-only", &s->memory_only,
                    "measure the memory of each variant, and no times: for ranks that share cores"),
        option_integer("virtual-node-ranks", &s->virtual_node_ranks, 0, 65536, "N",
                       "virtual nodes of at most so many ranks, fewer than there are, of which the MPI library does "
                       "not know; default: 0, the nodes there are"),
        option_flag("round-robin", &s->round_robin,
                    "deal the ranks out to the virtual nodes in turn; default: in blocks"),
        option_seed(&s->seed, "of the elements of matrices, and of all random numbers; default: 1"),
    };
    program_add_options(entries, table, sizeof table);
}

/* ---- what is to be solved ---- */

/* Lists that were not given get the usual values. */
static void fill_lists(struct settings *s, const struct crew *crew, const struct ratings *ratings) {
    const int64_t order = summa_usual_order(crew);
    const int64_t items = ratings != NULL ? ratings->rows : items_per_rank[s->grid] * crew->info.ranks;
    options_fill_range(&s->kernels, 0, KERNELS);
    options_fill_list(&s->sizes[POSITION_SUMMA], &order, 1);
    options_fill_list(&s->sizes[POSITION_POISSON], poisson_rows, poisson_counts[s->grid]);
    options_fill_list(&s->sizes[POSITION_BPMF], &items, 1);
}

static int compare_sizes(const void *left, const void *right) {
    const int64_t a = *(const int64_t *)left;
    const int64_t b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* Returns the sizes of the chosen kernels, each once, ascending. Free with options_free_list. */
static struct option_list all_sizes(const struct settings *s) {
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

/* ---- ratings from a file ---- */

/* Collective: rank 0 reads the file and hands it to all. One line in error. */
static void read_ratings(const struct settings *s, struct ratings *r, char *error, size_t error_size) {
    int rank = 0;
    MPI_Datatype entry;
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    if (rank == 0 && ratings_read(s->ratings, r, error, error_size)) {
        size_t tests = 0;
        for (size_t i = 0; i < r->count; i++) {
            tests += ratings_tests((uint64_t)s->seed, r->items[i].row, r->items[i].column);
        }
        if (tests == 0 || tests == r->count) {
            snprintf(error, error_size,
                     "--ratings: %.256s: of its %zu ratings %zu are left out for the test; both there and in the rest "
                     "at least one is needed",
                     s->ratings, r->count, tests);
        }
    }
    if (!group_share_error(error, error_size)) {
        return;
    }
    int64_t sizes[] = {r->rows, r->columns, (int64_t)r->count};
    MPI_CHECK(MPI_Bcast(sizes, 3, MPI_INT64_T, 0, MPI_COMM_WORLD));
    *r = (struct ratings){(int32_t)sizes[0], (int32_t)sizes[1], (size_t)sizes[2], r->items};
    if (rank != 0) {
        r->items = fail_alloc(r->count, sizeof *r->items);
    }
    MPI_CHECK(MPI_Type_contiguous((int)sizeof *r->items, MPI_BYTE, &entry));
    MPI_CHECK(MPI_Type_commit(&entry));
    MPI_CHECK(MPI_Bcast(r->items, (int)r->count, entry, 0, MPI_COMM_WORLD));
    MPI_CHECK(MPI_Type_free(&entry));
}

/* ---- measuring ---- */

/* Returns the header's own object. Free with free(). */
static char *own_text(const struct settings *s, const struct kernels *o) {
    json_line *line = json_line_create();
    const char *path = s->ratings != NULL ? strrchr(s->ratings, '/') : NULL;
    json_open_object(line, NULL);
    json_put_integer(line, "shared_nodes", o->crew.info.nodes);
    json_put_integer(line, "virtual_node_ranks", s->virtual_node_ranks);
    json_put_string(line, "dgemm", compute_blas_description());
    json_put_string(line, "ratings", s->ratings == NULL ? "generated" : path != NULL ? path + 1 : s->ratings);
    json_put_real(line, "noise", s->noise);
    json_put_integer(line, "bpmf_iterations", s->iterations);
    json_put_boolean(line, "memory_only", s->memory_only);
    json_close_object(line);
    return json_line_take(line);
}

/* One line in error, the same on all ranks, where these ranks cannot measure it. */
static void check_ranks(const struct program *program, const struct kernels *o, int64_t virtual_node_ranks, char *error,
                        size_t error_size) {
    program_check_nodes(program, virtual_node_ranks, error, error_size);
    group_share_error(error, error_size);
    if (error[0] == '\0') {
        kernels_check(o, error, error_size);
    }
}

/* Collective. Returns the exit code. */
static int measure(struct program *program, struct settings *s, struct kernels *o) {
    char impossible[PROGRAM_MOST_REASON] = "";
    const char *names[KERNELS];
    struct option_list sizes = all_sizes(s);
    for (size_t i = 0; i < s->kernels.count; i++) {
        names[i] = kernel_names[s->kernels.values[i]];
    }
    o->chosen = s->kernels.values;
    o->chosen_count = s->kernels.count;
    o->of_kernel = s->sizes;
    o->sizes = sizes.values;
    o->size_count = sizes.count;
    const struct sampler_axis axes[] = {
        [AXIS_KERNEL] = {.name = "kernel", .texts = names, .count = s->kernels.count},
        [AXIS_SIZE] = sampler_numbers("size", sizes.values, sizes.count),
        sampler_constant("method", &program_method_names[s->method]),
        {.name = "virtual_node_ranks", .numbers = &s->virtual_node_ranks, .count = 1, .constant = true}};
    program_configure(program, impossible, sizeof impossible);
    if (impossible[0] == '\0') {
        check_ranks(program, o, s->virtual_node_ranks, impossible, sizeof impossible);
    }
    char *own = own_text(s, o);
    struct sampler_plan plan = program_plan(program, axes, sizeof axes / sizeof *axes);
    if (s->method == METHOD_PAPER) {
        plan.rule.min_repetitions = plan.rule.max_repetitions = PAPER_REPETITIONS;
    }
    const int code = program_measure(program, &(struct program_measurement){.context = o,
                                                                            .plan = plan,
                                                                            .seed = s->seed,
                                                                            .sizes_given = RECORD_UNKNOWN,
                                                                            .own = own,
                                                                            .impossible = impossible});
    free(own);
    options_free_list(&sizes);
    return code;
}

/* Collective. Returns the exit code. */
static int solve_all(struct program *program, struct settings *s, const struct ratings *ratings) {
    char error[PROGRAM_MOST_REASON] = "";
    const struct hybrid_settings of_comm = {.ranks_per_node = (int)s->virtual_node_ranks,
                                            .round_robin = s->round_robin};
    struct kernels kernels = {
        .program = program,
        .memory_only = s->memory_only,
        .problem = {
            .seed = (uint64_t)s->seed, .ratings = ratings, .noise = s->noise, .iterations = (int)s->iterations}};
    if (!crew_create(&kernels.crew, &of_comm, error, sizeof error)) {
        fail_die("%s", error);
    }
    fill_lists(s, &kernels.crew, ratings);
    kernels.between_cores = handover_create(MPI_COMM_WORLD);
    const int code = measure(program, s, &kernels);
    handover_destroy(kernels.between_cores);
    crew_free(&kernels.crew);
    return code;
}

static void check_options(const struct program *program, char *error, size_t error_size) {
    (void)program;
    const struct settings *s = &settings;
    if (s->round_robin && s->virtual_node_ranks == 0) {
        snprintf(error, error_size,
                 "--round-robin: it deals ranks out to virtual nodes, which --virtual-node-ranks makes");
    } else if (s->ratings != NULL && s->sizes[POSITION_BPMF].count > 0) {
        snprintf(error, error_size, "--ratings: the file has a size of its own; leave --bpmf-items out");
    }
}

static void print_list(void) {
    for (size_t i = 0; i < KERNELS; i++) {
        printf("%-8s %s\n", kernel_names[i], kernel_table[i]->collective);
    }
}

static int run(struct program *program) {
    struct settings *s = &settings;
    char error[PROGRAM_MOST_REASON] = "";
    struct ratings ratings = {0};
    int code = PROGRAM_WRONG_USE;
    if (s->ratings != NULL) {
        read_ratings(s, &ratings, error, sizeof error);
    }
    if (program_all_good(error)) {
        code = solve_all(program, s, s->ratings != NULL ? &ratings : NULL);
    }
    ratings_free(&ratings);
    return code;
}

int main(int argc, char **argv) {
    const struct program_kind kind = {
        .name = "hybrid_kernels",
        .family = "hybrid_kernels",
        .method = 2,
        .configurations = true,
        .repeats = true,
        .help = "usage: mpiexec -n RANKS hybrid_kernels [OPTION]...\n\n"
                "Solves three kernels (Zhou et al. 2020), each in three variants, in turn in every repetition.\n\n"
                "  mpi     a process per core, and the MPI library's collectives\n"
                "  openmp  a process per node with a thread on the core of each rank; the other ranks sleep\n"
                "  hybrid  a process per core, and collectives that keep one copy of the data per node\n",
        .describe = describe_options,
        .check_options = check_options,
        .run = run,
        .list = print_list,
        .points = &kernels_points,
    };
    return program_main(&kind, argc, argv);
}
