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
#include "settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAPER_REPETITIONS = 20 };

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

struct of_header {
    int shared_nodes;
    int64_t virtual_node_ranks;
    const char *dgemm;
    const char *ratings;
    double noise;
    int64_t bpmf_iterations;
    bool memory_only;
};
static const struct field of_header_fields[] = {
    FIELD(struct of_header, shared_nodes, "groups of ranks that share a copy"),
    FIELD(struct of_header, virtual_node_ranks,
          "most ranks of a virtual node, of which the MPI library does not know; 0: there are none"),
    FIELD(struct of_header, dgemm, "the library that multiplies matrices"),
    FIELD(struct of_header, ratings, "the file with the ratings of bpmf, or generated"),
    FIELD(struct of_header, noise, "standard deviation of the ratings about the model"),
    FIELD(struct of_header, bpmf_iterations, "iterations of bpmf"),
    FIELD(struct of_header, memory_only, "whether memory is measured, and no time: points have no repetitions"),
    FIELDS_END,
};

static struct of_header header_of(const struct settings *s, const struct kernels *o) {
    const char *path = s->ratings != NULL ? strrchr(s->ratings, '/') : NULL;
    return (struct of_header){.shared_nodes = o->crew.info.nodes,
                              .virtual_node_ranks = s->virtual_node_ranks,
                              .dgemm = compute_blas_description(),
                              .ratings = s->ratings == NULL ? "generated"
                                         : path != NULL     ? path + 1
                                                            : s->ratings,
                              .noise = s->noise,
                              .bpmf_iterations = s->iterations,
                              .memory_only = s->memory_only};
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

static const char *const axis_names[AXES + 1] = {[AXIS_KERNEL] = "kernel", [AXIS_SIZE] = "size"};

/* Collective. Returns the exit code. */
static int measure(struct program *program, struct settings *s, struct kernels *o) {
    char impossible[PROGRAM_MOST_REASON] = "";
    struct option_list sizes = settings_sizes(s);
    struct sampler_axis axes[SAMPLER_MOST_AXES];
    o->chosen = s->kernels.values;
    o->chosen_count = s->kernels.count;
    o->of_kernel = s->sizes;
    o->sizes = sizes.values;
    o->size_count = sizes.count;
    program_configure(program, impossible, sizeof impossible);
    if (impossible[0] == '\0') {
        check_ranks(program, o, s->virtual_node_ranks, impossible, sizeof impossible);
    }
    const struct of_header own = header_of(s, o);
    struct sampler_plan plan = program_plan(program, axis_names, axes);
    axes[AXIS_SIZE].numbers = sizes.values;
    axes[AXIS_SIZE].count = sizes.count;
    if (s->method == METHOD_PAPER) {
        plan.rule.min_repetitions = plan.rule.max_repetitions = PAPER_REPETITIONS;
    }
    const int code = program_measure(program, &(struct program_measurement){.context = o,
                                                                            .plan = plan,
                                                                            .seed = s->seed,
                                                                            .sizes_given = RECORD_UNKNOWN,
                                                                            .own = &own,
                                                                            .impossible = impossible});
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
    settings_fill(s, &kernels.crew, ratings);
    kernels.between_cores = handover_create(MPI_COMM_WORLD);
    const int code = measure(program, s, &kernels);
    handover_destroy(kernels.between_cores);
    crew_free(&kernels.crew);
    return code;
}

static void print_list(void) {
    for (size_t i = 0; i < KERNELS; i++) {
        printf("%-8s %s\n", kernel_table[i]->name, kernel_table[i]->collective);
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
        .method = 3,
        .configurations = true,
        .repeats = true,
        .help = "usage: mpiexec -n RANKS hybrid_kernels [OPTION]...\n\n"
                "Solves three kernels (Zhou et al. 2020), each in three variants, in turn in every repetition.\n\n"
                "  mpi     a process per core, and the MPI library's collectives\n"
                "  openmp  a process per node with a thread on the core of each rank; the other ranks sleep\n"
                "  hybrid  a process per core, and collectives that keep one copy of the data per node\n",
        .describe = settings_describe,
        .check_options = settings_check,
        .run = run,
        .list = print_list,
        .header = of_header_fields,
        .points = &kernels_points,
    };
    return program_main(&kind, argc, argv);
}
