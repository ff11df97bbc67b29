/*
 * partitioned - what does it bring to send a message in partitions, each as soon as it is ready?
 *
 * T. Gillis et al., "Quantifying the Performance Benefits of Partitioned Communication in MPI", ICPP 2023.
 */
#include "approach.h"
#include "options.h"
#include "pipeline.h"
#include "program.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>

/* The library is told by whoever starts the program; the record says it. */
static const struct option_choice interfaces_choices[] = {
    {"usual", "as the library comes"}, {"per_thread", "as many as a rank has threads"}, {NULL, NULL}};

/* The method of the paper's section 4. */
enum { PAPER_REPETITIONS = 150 };

/* Short messages need hundreds for a gain that is known to a few percent. */
enum { MOST_REPETITIONS = 200 };

static struct points_plan asked = {.noise_relative = 0.27, .seed = 1};

static const char *const axis_names[AXES + 1] = {[AXIS_MESSAGE] = "message_bytes",
                                                 [AXIS_PARTITIONS] = "partitions_send",
                                                 [AXIS_AGGREGATION] = "aggregation_bytes",
                                                 [AXIS_DELAY] = "delay_ratio"};

static void describe_options(struct option_entry *entries) {
    struct points_plan *a = &asked;
    const struct option_entry table[] = {
        {.name = "message-bytes",
         .kind = OPTION_INTEGERS,
         .target = &a->message_bytes,
         .minimum = 8,
         .maximum = INT_MAX,
         .parameter = "message_bytes",
         .grids = points_message_bytes,
         .help = "sizes of the message for one neighbour, bytes, each a multiple of 8 times the number of partitions"},
        {.name = "partitions-per-thread",
         .kind = OPTION_INTEGERS,
         .target = &a->partitions_per_thread,
         .minimum = 1,
         .maximum = POINTS_MOST_PARTITIONS,
         .parameter = "partitions_send",
         .grids = points_partitions_per_thread,
         .help = "partitions per thread of the sender (theta); the record has those of all its threads"},
        {.name = "aggregation-bytes",
         .kind = OPTION_INTEGERS,
         .target = &a->aggregation_bytes,
         .maximum = INT_MAX,
         .parameter = "aggregation_bytes",
         .grids = points_aggregation_bytes,
         .help = "of approach layer: partitions are sent together up to so many bytes; 0: each alone"},
        {.name = "delay-ratios",
         .kind = OPTION_REALS,
         .target = &a->ratio_millionths,
         .maximum = 1000,
         .parameter = "delay_ratio",
         .grids = points_ratio_millionths,
         .help = "delays of the last partition as gamma * beta: 1 is the time that one partition takes on the network"},
        option_constant("approach", &a->approach, approach_choices(), "how the message is sent; default: part"),
        option_constant("noise", &a->noise, noise_choices, "which partitions are late; default: last"),
        option_constant("interfaces", &a->interfaces, interfaces_choices,
                        "for the record: how many virtual interfaces the MPI library was told to have; default: usual"),
        option_constant("cache", &a->cache, program_cache_choices,
                        "warm: the message was just written; cold: before each transfer other data are read, twice the "
                        "size of the largest cache; default: warm"),
        option_constant("method", &a->method, program_method_choices,
                        "campaign: a delay is a fixed amount of work; paper: 150 repetitions, again while half the 90 "
                        "% interval of a mean exceeds 5 % of it, and a delay is a time that a thread waits for; "
                        "default: campaign"),
        option_constant("figure", &a->figure, points_figures,
                        "instead of a grid, the settings of this figure of the paper; each rank needs as many threads "
                        "as the figure has; default: none"),
        option_one_of("grid", &a->grid, program_grid_choices,
                      "the points to measure, those of the paper's figures; the lists above replace its values, and "
                      "then all combinations are measured; default: smoke"),
        option_integer("receive-partitions", &a->receive_partitions, 1, POINTS_MOST_PARTITIONS, "N",
                       "partitions of the receiver; default: as many as the sender has, or what the approach says"),
        option_real("noise-relative", &a->noise_relative, 0, 1, "S",
                    "standard deviation of the computation before a partition, relative to the average (sigma of "
                    "appendix A); single: how much longer one partition takes; default: 0.27"),
        option_text("sizes", &a->sizes, "FILE", "take the work of the delays from this file instead of searching it"),
        option_text("save-sizes", &a->save_sizes, "FILE", "write the work of the delays (for --sizes)"),
        option_text("reproducer", &a->reproducer, "FILE",
                    "where a library's partitioned communication delivers wrong data, write a small MPI program that "
                    "shows it into this file"),
        option_seed(&a->seed, "seed of the contents of messages and of the noise; default: 1"),
    };
    program_add_options(entries, table, sizeof table);
}

static void list_approaches(void) {
    for (int i = 0; i < APPROACH_COUNT; i++) {
        const struct approach *approach = &approach_table[i];
        const char *lacking = approach_lacks(approach);
        printf("%-20s %s%s%s%s\n", approach->name, approach->what, lacking != NULL ? " (this MPI library has no " : "",
               lacking != NULL ? lacking : "", lacking != NULL ? ")" : "");
    }
}

static void check_options(const struct program *program, char *error, size_t error_size) {
    points_check_options(&asked, error, error_size);
}

/* Collective: measures what was asked for. Returns the exit code. */
static int measure(struct program *program, const struct points_plan *plan) {
    char impossible[PROGRAM_MOST_REASON] = "";
    struct sampler_axis axes[SAMPLER_MOST_AXES];
    struct pipeline pipeline = {.plan = plan, .program = program, .planned = {NAN, NAN}};
    program_configure(program, impossible, sizeof impossible);
    points_check_ranks(plan, program, impossible, sizeof impossible);
    struct program_measurement measurement = {.context = &pipeline,
                                              .plan = program_plan(program, axis_names, axes),
                                              .seed = plan->seed,
                                              .sizes_given = plan->sizes != NULL,
                                              .impossible = impossible};
    axes[AXIS_PARTITIONS].numbers = plan->partitions.values;
    if (plan->method == METHOD_PAPER) {
        measurement.plan.rule.interval_relative = 0;
        measurement.plan.rule.warmup_relative = 1e9; /* the warm-up is the first transfer of a point */
        measurement.plan.rule.min_repetitions = PAPER_REPETITIONS;
        measurement.plan.rule.max_repetitions = PAPER_REPETITIONS;
    }
    const int code = program_measure(program, &measurement);
    delays_free(&pipeline.delays); /* also where it was refused before it began */
    return code;
}

static int run(struct program *program) {
    char error[PROGRAM_MOST_REASON] = "";
    points_fill(&asked, program->threads);
    points_check(&asked, program->threads, error, sizeof error);
    const int code = program_all_good(error) ? measure(program, &asked) : PROGRAM_WRONG_USE;
    options_free_list(&asked.partitions);
    return code;
}

int main(int argc, char **argv) {
    const struct program_kind kind = {
        .name = "partitioned",
        .family = "partitioned",
        .method = 6,
        .thread_level = MPI_THREAD_MULTIPLE,
        .configurations = true,
        .repeats = true,
        .max_repetitions = MOST_REPETITIONS,
        .help =
            "usage: mpiexec -n RANKS partitioned [OPTION]...\n\n"
            "Sends a message in partitions, each as soon as it is ready, and in the same repetition as a whole when\n"
            "all of it is ready (Gillis et al. 2023). Rank r of the first half sends to rank r of the second half.\n\n"
            "  t_ns      from the start to the completion at the receiver, without the computation\n"
            "  t_ref_ns  the same for one message when all partitions are ready (approach single)\n"
            "  gain      t_ref / t: above 1, sending early pays\n\n"
            "A point has at most 200 repetitions, or --max-repetitions. Long messages are measured first.\n",
        .describe = describe_options,
        .check_options = check_options,
        .run = run,
        .list = list_approaches,
        .points = &pipeline_points,
        .check = pipeline_check,
        .begin = pipeline_begin,
        .end = pipeline_end,
    };
    return program_main(&kind, argc, argv);
}
