/*
 * partitioned - what does it bring to send a message in partitions, each as soon as it is ready?
 *
 * T. Gillis et al., "Quantifying the Performance Benefits of Partitioned Communication in MPI", ICPP 2023.
 */
#include "approach.h"
#include "fail.h"
#include "options.h"
#include "pipeline.h"
#include "program.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Behind the grids stand the settings of the paper's figures. Figure 6 is figure 5 with a virtual interface per thread,
 * which whoever starts the program tells the library. */
enum { FIGURE_4 = GRID_FULL + 1, FIGURE_5, FIGURE_7, FIGURE_8 };
static const char *const figure_names[] = {"none", "4", "5", "7", "8", NULL};

/* The values of each grid; pipeline.c says which of their combinations are points. */
static const struct {
    int threads; /* of each rank in the figure; 0: any number */
    struct program_values message_bytes;
    struct program_values partitions_per_thread;
    struct program_values ratio_millionths;
    struct program_values aggregation_bytes;
} grids[] = {
    [GRID_SMOKE] = {.message_bytes = {{16384, 1048576}, 2},
                    .partitions_per_thread = {{4}, 1},
                    .ratio_millionths = {{0, 2500000}, 2},
                    .aggregation_bytes = {{0}, 1}},
    [GRID_NIGHTLY] = {.message_bytes = {{1024, 16384, 131072, 1048576, 4194304}, 5},
                      .partitions_per_thread = {{1, 4, 32}, 3},
                      .ratio_millionths = {{0, 2500000}, 2},
                      .aggregation_bytes = {{0, 512, 4096, 16384}, 4}},
    [GRID_FULL] = {.message_bytes = {{64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216}, 10},
                   .partitions_per_thread = {{1, 4, 32}, 3},
                   .ratio_millionths = {{0, 500000, 1000000, 2500000, 4000000}, 5},
                   .aggregation_bytes = {{0, 512, 1024, 2048, 4096, 8192, 16384}, 7}},
    [FIGURE_4] = {.threads = 1,
                  .message_bytes = {{64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216}, 10},
                  .partitions_per_thread = {{1}, 1},
                  .ratio_millionths = {{0}, 1},
                  .aggregation_bytes = {{0}, 1}},
    [FIGURE_5] = {.threads = 32,
                  .message_bytes = {{256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216}, 9},
                  .partitions_per_thread = {{1}, 1},
                  .ratio_millionths = {{0}, 1},
                  .aggregation_bytes = {{0}, 1}},
    [FIGURE_7] = {.threads = 4,
                  .message_bytes = {{1024, 4096, 16384, 65536, 262144, 1048576, 4194304}, 7},
                  .partitions_per_thread = {{32}, 1},
                  .ratio_millionths = {{0}, 1},
                  .aggregation_bytes = {{0, 512, 1024, 2048, 4096, 8192, 16384}, 7}},
    [FIGURE_8] = {.threads = 4,
                  .message_bytes = {{64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216}, 10},
                  .partitions_per_thread = {{1}, 1},
                  .ratio_millionths = {{2500000}, 1},
                  .aggregation_bytes = {{0}, 1}},
};

/* The library is told by whoever starts the program; the record says it. */
static const char *const interfaces_names[] = {"usual", "per_thread", NULL};

/* The method of the paper's section 4. */
enum { PAPER_REPETITIONS = 150 };

/* Short messages need hundreds for a gain that is known to a few percent. */
enum { MOST_REPETITIONS = 1000 };

/* MPI counts partitions and words as int, and tags of single partitions are numbers below the tags without data. */
enum { MOST_PARTITIONS = 16384 };

static struct settings {
    int approach;
    int grid;
    int figure;
    struct option_list message_bytes;
    struct option_list partitions_per_thread;
    int64_t receive_partitions;
    struct option_list aggregation_bytes;
    struct option_list delay_ratios;
    int noise;
    double noise_relative;
    int interfaces;
    int cache;
    int method;
    const char *sizes;
    const char *save_sizes;
    const char *reproducer;
    int64_t seed;
} settings = {.noise_relative = 0.27, .seed = 1};

static void describe_options(struct option_entry *entries) {
    struct settings *s = &settings;
    const struct option_entry table[] = {
        option_one_of("approach", &s->approach, approach_names(), "how the message is sent, see --list; default: part"),
        option_one_of("grid", &s->grid, program_grid_names,
                      "the points to measure, those of the paper's figures; the options below replace its values, and "
                      "then all combinations are measured; default: smoke"),
        option_one_of("figure", &s->figure, figure_names,
                      "instead of a grid, the settings of this figure of the paper; each rank needs as many threads as "
                      "the figure has; default: none"),
        option_integers("message-bytes", &s->message_bytes, 8, INT_MAX,
                        "sizes of the message, bytes, each a multiple of 8 times the number of partitions"),
        option_integers("partitions-per-thread", &s->partitions_per_thread, 1, MOST_PARTITIONS,
                        "partitions per thread of the sender (theta)"),
        option_integer("receive-partitions", &s->receive_partitions, 1, MOST_PARTITIONS, "N",
                       "partitions of the receiver; default: as many as the sender has, or what the approach says"),
        option_integers("aggregation-bytes", &s->aggregation_bytes, 0, INT_MAX,
                        "of approach layer: partitions are sent together up to so many bytes; 0: each alone"),
        {"delay-ratios", OPTION_REALS, &s->delay_ratios, 0, 1000, NULL, "LIST",
         "delays of the last partition as gamma * beta: 1 is the time that one partition takes on the network"},
        option_one_of("noise", &s->noise, noise_names,
                      "which partitions are late: the last one, by the delay (default); or a computation before each "
                      "partition, on average as long as the delay, with this noise"),
        option_real("noise-relative", &s->noise_relative, 0, 1, "S",
                    "standard deviation of that computation, relative to the average (sigma of appendix A); single: "
                    "how much longer one partition takes; default: 0.27"),
        option_one_of("interfaces", &s->interfaces, interfaces_names,
                      "for the record: how many virtual interfaces the MPI library was told to have; default: usual"),
        option_one_of("cache", &s->cache, program_cache_names,
                      "warm: the message was just written (default); cold: before each transfer other data are read, "
                      "twice the size of the largest cache"),
        option_one_of("method", &s->method, program_method_names,
                      "campaign: as --interval and its like say, and a delay is a fixed amount of work (default); "
                      "paper: 150 repetitions, again while half the 90 % interval of a mean exceeds 5 % of it, and a "
                      "delay is a time that a thread waits for"),
        option_text("sizes", &s->sizes, "FILE", "take the work of the delays from this file instead of searching it"),
        option_text("save-sizes", &s->save_sizes, "FILE", "write the work of the delays (for --sizes)"),
        option_text("reproducer", &s->reproducer, "FILE",
                    "where a library's partitioned communication delivers wrong data, write a small MPI program that "
                    "shows it into this file"),
        option_seed(&s->seed, "seed of the contents of messages and of the noise; default: 1"),
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

/* A list that was not given gets the grid's values. Returns whether it was given. */
static bool fill(struct option_list *list, const struct program_values *values) {
    return !options_fill_list(list, values->items, values->count);
}

static int by_size(const void *left, const void *right) {
    const int64_t a = *(const int64_t *)left;
    const int64_t b = *(const int64_t *)right;
    return (a < b) - (a > b);
}

static int grid_of(const struct settings *s) {
    return s->figure > 0 ? FIGURE_4 + s->figure - 1 : s->grid;
}

/* Returns whether all lists are those of a grid, and not of a figure. Long messages come first: they need few
 * repetitions, and the time that they leave goes to the short ones, which need many. */
static bool fill_lists(struct settings *s) {
    const struct program_values alone = {{0}, 1};
    const int grid = grid_of(s);
    const bool aggregates = approach_table[s->approach].aggregates;
    bool given = fill(&s->message_bytes, &grids[grid].message_bytes);
    qsort(s->message_bytes.values, s->message_bytes.count, sizeof *s->message_bytes.values, by_size);
    given = fill(&s->partitions_per_thread, &grids[grid].partitions_per_thread) || given;
    given = fill(&s->delay_ratios, &grids[grid].ratio_millionths) || given;
    /* A grid has points with an aggregation size beside its others. */
    const bool own_aggregation = s->aggregation_bytes.count > 0;
    fill(&s->aggregation_bytes, aggregates && !given ? &grids[grid].aggregation_bytes : &alone);
    return !given && !own_aggregation && s->figure == 0;
}

/* What the approach cannot do. One line in error. */
static void check_approach(const struct program *program, char *error, size_t error_size) {
    (void)program;
    const struct settings *s = &settings;
    const struct approach *approach = &approach_table[s->approach];
    if (s->sizes != NULL && s->save_sizes != NULL) {
        snprintf(error, error_size,
                 "--save-sizes has nothing to save with --sizes, which searches nothing; use one of them");
    } else if (approach_lacks(approach) != NULL) {
        snprintf(error, error_size,
                 "this MPI library has no %s, which approach %s needs; --list shows the approaches that it has",
                 approach_lacks(approach), approach->name);
    } else if (s->receive_partitions > 0 && !approach->regroups) {
        snprintf(
            error, error_size,
            "--receive-partitions: with approach %s both sides have the same partitions; leave it out, or use part, "
            "part_parrived or layer",
            approach->name);
    } else if (s->aggregation_bytes.count > 0 && !approach->aggregates) {
        snprintf(error, error_size, "--aggregation-bytes: approach %s does not aggregate; leave it out, or use layer",
                 approach->name);
    }
}

/* Checks that every message divides into its partitions. One line in error. */
static void check_sizes(const struct pipeline_plan *plan, char *error, size_t error_size) {
    for (size_t i = 0; i < plan->partition_count && error[0] == '\0'; i++) {
        const int64_t send = plan->partitions[i];
        const int64_t receive = pipeline_receive_partitions(plan, send);
        const int64_t more = send > receive ? send : receive;
        const int64_t fewer = send > receive ? receive : send;
        if (more > MOST_PARTITIONS) {
            snprintf(error, error_size, "%" PRId64 " partitions are too many; at most %d are possible", more,
                     MOST_PARTITIONS);
        } else if (more % fewer != 0) {
            snprintf(error, error_size,
                     "%" PRId64 " partitions cannot be received as %" PRId64
                     ": one number must be a multiple of the other",
                     send, receive);
        }
        for (size_t j = 0; j < plan->message_count && error[0] == '\0' && !plan->preset; j++) {
            if (plan->message_bytes[j] % (8 * more) != 0) {
                snprintf(error, error_size,
                         "--message-bytes: %" PRId64 " bytes do not divide into %" PRId64
                         " partitions of whole words of 8 bytes; a multiple of %" PRId64 " does",
                         plan->message_bytes[j], more, 8 * more);
            }
        }
    }
}

/* Checks that a grid has a point with these partitions: it leaves out those that do not divide. One line in error. */
static void check_grid(const struct pipeline_plan *plan, char *error, size_t error_size) {
    bool any = !plan->preset || error[0] != '\0';
    for (size_t i = 0; i < plan->partition_count; i++) {
        for (size_t j = 0; j < plan->message_count; j++) {
            any = any || pipeline_divides(plan, plan->message_bytes[j], plan->partitions[i]);
        }
    }
    if (!any) {
        snprintf(error, error_size,
                 "no message of the grid divides into these partitions; set --message-bytes and "
                 "--partitions-per-thread, or leave out --receive-partitions");
    }
}

/* Collective: one line in error, the same on all ranks, where these ranks cannot measure it. */
static void check_ranks(const struct program *program, const struct pipeline_plan *plan, char *error,
                        size_t error_size) {
    const int64_t *sizes = plan->message_bytes;
    const size_t neighbours = approach_neighbours(plan->approach);
    int64_t largest = 0;
    program_check_crowd(program, error, error_size);
    for (size_t i = 0; i < plan->message_count; i++) {
        largest = sizes[i] > largest ? sizes[i] : largest;
    }
    if (program->ranks % 2 != 0) {
        snprintf(error, error_size,
                 "%d rank%s: partitioned communication is measured between pairs; start an even number", program->ranks,
                 program->ranks == 1 ? "" : "s");
    } else if (program->thread_level < MPI_THREAD_MULTIPLE) {
        snprintf(error, error_size,
                 "the MPI library provides %s, and every thread calls MPI: MPI_THREAD_MULTIPLE is needed",
                 program_thread_level_name(program->thread_level));
    } else if (program->memory_bytes > 0 && (uint64_t)largest * neighbours > program->memory_bytes / 4) {
        snprintf(error, error_size,
                 "--message-bytes: %zu times %" PRId64
                 " bytes are more than a quarter of the rank's share of memory, %.0f MiB",
                 neighbours, largest, (double)program->memory_bytes / 1048576);
    } else {
        approach_started_for(plan->approach, program->threads, error, error_size);
    }
}

static void fill_axes(const struct settings *s, const struct pipeline_plan *plan, struct sampler_axis axes[AXES]) {
    axes[AXIS_MESSAGE] = sampler_numbers("message_bytes", plan->message_bytes, plan->message_count);
    axes[AXIS_PARTITIONS] = sampler_numbers("partitions_send", plan->partitions, plan->partition_count);
    axes[AXIS_AGGREGATION] = sampler_numbers("aggregation_bytes", plan->aggregation_bytes, plan->aggregation_count);
    axes[AXIS_DELAY] = (struct sampler_axis){
        .name = "delay_ratio", .numbers = plan->ratio_millionths, .count = plan->ratio_count, .millionths = true};
    axes[AXIS_APPROACH] = sampler_constant("approach", &plan->approach->name);
    axes[AXIS_NOISE] = sampler_constant("noise", &noise_names[s->noise]);
    axes[AXIS_INTERFACES] = sampler_constant("interfaces", &interfaces_names[s->interfaces]);
    axes[AXIS_CACHE] = sampler_constant("cache", &program_cache_names[s->cache]);
    axes[AXIS_METHOD] = sampler_constant("method", &program_method_names[s->method]);
    axes[AXIS_FIGURE] = sampler_constant("figure", &figure_names[s->figure]);
}

/* Checks that ranks have the threads of the figure. One line in error. */
static void check_figure(const struct settings *s, int threads, char *error, size_t error_size) {
    const int needed = grids[grid_of(s)].threads;
    if (needed > 0 && threads != needed) {
        snprintf(error, error_size, "--figure %s needs %d thread%s per rank, and here are %d: set --threads %d",
                 figure_names[s->figure], needed, needed == 1 ? "" : "s", threads, needed);
    }
}

/* Collective: measures what was asked for. Returns the exit code. */
static int measure(struct program *program, struct settings *s) {
    char impossible[PROGRAM_MOST_REASON] = "";
    struct sampler_axis axes[AXES];
    const bool preset = fill_lists(s);
    int64_t *partitions = fail_alloc(s->partitions_per_thread.count, sizeof *partitions);
    for (size_t i = 0; i < s->partitions_per_thread.count; i++) {
        partitions[i] = s->partitions_per_thread.values[i] * program->threads;
    }
    const struct pipeline_plan plan = {.approach = &approach_table[s->approach],
                                       .message_bytes = s->message_bytes.values,
                                       .message_count = s->message_bytes.count,
                                       .partitions = partitions,
                                       .partition_count = s->partitions_per_thread.count,
                                       .receive_partitions = s->receive_partitions,
                                       .aggregation_bytes = s->aggregation_bytes.values,
                                       .aggregation_count = s->aggregation_bytes.count,
                                       .ratio_millionths = s->delay_ratios.values,
                                       .ratio_count = s->delay_ratios.count,
                                       .preset = preset,
                                       .noise = (enum noise)s->noise,
                                       .noise_relative = s->noise_relative,
                                       .cold = s->cache == CACHE_COLD,
                                       .paper = s->method == METHOD_PAPER,
                                       .seed = (uint64_t)s->seed,
                                       .sizes = s->sizes,
                                       .save_sizes = s->save_sizes,
                                       .reproducer = s->reproducer};
    struct pipeline pipeline = {.plan = &plan, .program = program, .planned = {NAN, NAN}};
    int code = PROGRAM_WRONG_USE;
    fill_axes(s, &plan, axes);
    char error[PROGRAM_MOST_REASON] = "";
    check_sizes(&plan, error, sizeof error);
    check_figure(s, program->threads, error, sizeof error);
    check_grid(&plan, error, sizeof error);
    if (program_all_good(error)) {
        program_configure(program, impossible, sizeof impossible);
        check_ranks(program, &plan, impossible, sizeof impossible);
        struct program_measurement measurement = {.context = &pipeline,
                                                  .plan = program_plan(program, axes, AXES),
                                                  .seed = s->seed,
                                                  .sizes_given = s->sizes != NULL,
                                                  .impossible = impossible};
        if (plan.paper) {
            measurement.plan.rule.interval_relative = 0;
            measurement.plan.rule.warmup_relative = 1e9; /* the warm-up is the first transfer of a point */
            measurement.plan.rule.min_repetitions = PAPER_REPETITIONS;
            measurement.plan.rule.max_repetitions = PAPER_REPETITIONS;
        }
        code = program_measure(program, &measurement);
        delays_free(&pipeline.delays); /* also where it was refused before it began */
    }
    free(partitions);
    return code;
}

static int run(struct program *program) {
    return measure(program, &settings);
}

int main(int argc, char **argv) {
    const struct program_kind kind = {
        .name = "partitioned",
        .family = "partitioned",
        .method = 4,
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
            "A point has at most 1000 repetitions, or --max-repetitions. Long messages are measured first.\n",
        .describe = describe_options,
        .check_options = check_approach,
        .run = run,
        .list = list_approaches,
        .points = &pipeline_points,
        .check = pipeline_check,
        .begin = pipeline_begin,
        .end = pipeline_end,
    };
    return program_main(&kind, argc, argv);
}
