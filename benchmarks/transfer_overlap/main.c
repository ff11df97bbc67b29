/*
 * transfer_overlap - does it pay to program an iterative solver so that communication and computation may overlap?
 *
 * J. B. White III, S. W. Bova, "Where's the Overlap? An Analysis of Popular MPI Implementations", 1999, section III.
 */
#include "options.h"
#include "program.h"
#include "solves.h"

#include <stdio.h>
#include <stdlib.h>

enum { USUAL_POINTS = 10000, USUAL_UNKNOWNS = 1 };

/* Point numbers are of 32 bits, as METIS has them, and MPI counts in int. */
enum { MOST_POINTS = 100000000, MOST_UNKNOWNS = 1024 };

static struct settings {
    bool check;
    struct option_list variants;
    struct option_list grid_points;
    struct option_list unknowns;
    double tolerance;
    int64_t max_iterations;
    int64_t seed;
    int partitioner; /* -1: the usual one */
} settings = {.tolerance = 1e-8, .max_iterations = 1000, .seed = 1, .partitioner = -1};

static const char *const axis_names[AXES + 1] = {
    [AXIS_POINTS] = "grid_points", [AXIS_UNKNOWNS] = "unknowns", [AXIS_VARIANT] = "variant"};

static void describe_options(struct option_entry *entries) {
    struct settings *s = &settings;
    const struct option_entry table[] = {
        {.name = "grid-points",
         .kind = OPTION_INTEGERS,
         .target = &s->grid_points,
         .minimum = 1,
         .maximum = MOST_POINTS,
         .parameter = "grid_points",
         .help = "points of the grid; default: 10000, as White & Bova had them"},
        {.name = "unknowns",
         .kind = OPTION_INTEGERS,
         .target = &s->unknowns,
         .minimum = 1,
         .maximum = MOST_UNKNOWNS,
         .parameter = "unknowns",
         .help =
             "unknowns per point; all have the coefficients of the point, so that with more of them the computation "
             "grows less than the messages; default: 1"},
        {.name = "variant",
         .kind = OPTION_CHOICES,
         .target = &s->variants,
         .choices = variant_choices(),
         .parameter = "variant",
         .help = "versions of the solver to measure, comma-separated, may be repeated; default: all"},
        option_real("tolerance", &s->tolerance, 1e-12, 0.5, "T",
                    "a solve ends when the residual is this small, relative to the first one; default: 1e-8"),
        option_integer("max-iterations", &s->max_iterations, 1, 1000000, "N",
                       "a solver that takes more iterations does not converge, and is not measured; default: 1000"),
        option_seed(&s->seed, "seed of the grid and of the right side; default: 1"),
        option_one_of("partitioner", &s->partitioner, partitioner_choices(),
                      "what divides the grid; default: the first one that the program was built with"),
        option_flag("check", &s->check,
                    "solve each system once by each version, print iterations, last residual, a digest of all "
                    "residuals, what divided the grid and the edges that it cut, and end; nothing is timed"),
    };
    program_add_options(entries, table, sizeof table);
}

/* One line in error, the same on all ranks, where these ranks cannot measure it. */
static void check_ranks(const struct program *program, const struct solves *o, char *error, size_t error_size) {
    program_check_crowd(program, error, error_size);
    if (program->ranks < 2) {
        snprintf(error, error_size, "%d rank: an exchange needs at least 2; start with mpiexec -n 2 or more",
                 program->ranks);
    }
    solves_check(o, error, error_size);
}

/* One line in error where the program lacks the partitioner that was asked for. */
static void check_partitioner(enum partitioner partitioner, char *error, size_t error_size) {
    if (!partitioner_is_built_in(partitioner)) {
        snprintf(error, error_size,
                 "--partitioner %s: the program was built without it; ask for bisection, or install the library's "
                 "headers and build again",
                 partitioner_names[partitioner]);
    }
}

/* Collective: measures what was asked for. Returns the exit code. */
static int measure(struct program *program, const struct settings *s, bool own_limits) {
    char impossible[PROGRAM_MOST_REASON] = "";
    struct sampler_axis axes[SAMPLER_MOST_AXES];
    struct solves solves = {.program = program,
                            .grid_points = s->grid_points.values,
                            .grid_count = s->grid_points.count,
                            .unknowns = s->unknowns.values,
                            .unknowns_count = s->unknowns.count,
                            .variants = s->variants.values,
                            .variant_count = s->variants.count,
                            .tolerance = s->tolerance,
                            .max_iterations = (int)s->max_iterations,
                            .seed = (uint64_t)s->seed,
                            .partitioner = s->partitioner < 0 ? partitioner_usual() : (enum partitioner)s->partitioner};
    program_configure(program, impossible, sizeof impossible);
    if (impossible[0] == '\0') {
        check_ranks(program, &solves, impossible, sizeof impossible);
    }
    if (impossible[0] == '\0') {
        check_partitioner(solves.partitioner, impossible, sizeof impossible);
    }
    if (s->check) {
        char wrong[PROGRAM_MOST_REASON] = "";
        if (!program_all_good(impossible)) {
            return PROGRAM_WRONG_USE;
        }
        solves_try(&solves, true, wrong, sizeof wrong);
        return program_all_good(wrong) ? PROGRAM_GOOD : PROGRAM_FAILED;
    }
    /* The system's condition is bounded (grid.h), so that with the usual limits every solve converges. */
    if (impossible[0] == '\0' && own_limits) {
        solves_try(&solves, false, impossible, sizeof impossible);
    }
    return program_measure(program, &(struct program_measurement){.context = &solves,
                                                                  .plan = program_plan(program, axis_names, axes),
                                                                  .seed = s->seed,
                                                                  .sizes_given = RECORD_UNKNOWN,
                                                                  .impossible = impossible});
}

static void print_list(void) {
    for (int i = 0; i < VARIANT_COUNT; i++) {
        printf("%-16s %s\n", variant_table[i].name, variant_table[i].what);
    }
}

static int run(struct program *program) {
    struct settings *s = &settings;
    const struct settings usual = {.tolerance = 1e-8, .max_iterations = 1000};
    const bool own_limits = s->tolerance < usual.tolerance || s->max_iterations < usual.max_iterations;
    options_fill_range(&s->variants, 0, VARIANT_COUNT);
    options_fill_range(&s->grid_points, USUAL_POINTS, 1);
    options_fill_range(&s->unknowns, USUAL_UNKNOWNS, 1);
    return measure(program, s, own_limits);
}

int main(int argc, char **argv) {
    const struct program_kind kind = {
        .name = "transfer_overlap",
        .family = "transfer_overlap",
        .method = 3,
        .configurations = true,
        .repeats = true,
        .max_repetitions = 400,
        .usual_budget_seconds = 60, /* a repetition of a large system takes seconds */
        .help = "usage: mpiexec -n RANKS transfer_overlap [OPTION]...\n\n"
                "Solves a system on an unstructured grid by conjugate gradients, in versions that differ in when and "
                "how they\n"
                "exchange the values at the interfaces of the ranks' parts (White & Bova 1999, section III). Every "
                "repetition\n"
                "times the version that computes all and then exchanges, and right beside it the tested version.\n\n"
                "  t_nonoverlap_ns  a solve that computes all, then exchanges\n"
                "  t_overlap_ns     the same solve by the tested version\n"
                "  t_comm_ns        the exchanges of a solve alone (pipelined: and its sums)\n"
                "  t_comp_ns        the computation of a solve alone\n"
                "  improvement      (t_nonoverlap - t_overlap) / t_nonoverlap: above 0, the tested version pays\n\n"
                "A version is repeated until the intervals of its times and of the improvement are narrow. Without "
                "--budget-seconds\n"
                "the budget is 60 s.\n",
        .describe = describe_options,
        .run = run,
        .list = print_list,
        .points = &solves_points,
        .end = solves_end,
    };
    return program_main(&kind, argc, argv);
}
