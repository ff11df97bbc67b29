/*
 * nbc_overlap - does a nonblocking collective overlap with computation, and at what price?
 *
 * A. Denis et al., "A methodology for assessing computation/communication overlap of MPI nonblocking collectives",
 * 2022, section 5.
 */
#include "calibration.h"
#include "collectives.h"
#include "options.h"
#include "overlap.h"
#include "pattern.h"
#include "program.h"

#include <stdio.h>

/* Both axes. */
#define MS INT64_C(1000000)
static const struct option_values times[] = {
    [GRID_SMOKE] = {{8 * MS, 16 * MS, 32 * MS}, 3},
    [GRID_NIGHTLY] = {{4 * MS, 8 * MS, 16 * MS}, 3},
    [GRID_FULL] = {{MS / 2, 1 * MS, 2 * MS, 4 * MS, 8 * MS, 16 * MS, 32 * MS, 64 * MS, 128 * MS, 256 * MS, 512 * MS,
                    1024 * MS},
                   12},
};

static struct settings {
    struct option_list collectives;
    int grid;
    struct option_list comm_times;
    struct option_list comp_times;
    const char *sizes;
    const char *save_sizes;
    int64_t seed;
    int cache;
    int computation; /* enum compute_kind */
    int64_t test_interval_ns;
    int64_t max_message_bytes;
} settings = {.seed = 1};

/* The table of options: what --help prints and the parser knows is this. */
static const char *const axis_names[AXES + 1] = {
    [AXIS_COLLECTIVE] = "collective", [AXIS_COMM] = "comm_target_ns", [AXIS_COMP] = "comp_target_ns"};

static void describe_options(struct option_entry *entries) {
    struct settings *s = &settings;
    const struct option_entry table[] = {
        {.name = "collective",
         .kind = OPTION_CHOICES,
         .target = &s->collectives,
         .choices = collective_choices(),
         .parameter = "collective",
         .help = "collectives to measure, comma-separated, may be repeated, see --list; default: the first five"},
        {.name = "comm-times",
         .kind = OPTION_DURATIONS,
         .target = &s->comm_times,
         .parameter = "comm_target_ns",
         .grids = times,
         .help = "target times of the communication instead of the grid's, ascending, with units: 500us,8ms,1s"},
        {.name = "comp-times",
         .kind = OPTION_DURATIONS,
         .target = &s->comp_times,
         .parameter = "comp_target_ns",
         .grids = times,
         .help = "target times of the computation instead of the grid's"},
        option_constant(
            "cache", &s->cache, program_cache_choices,
            "whether buffers take turns; default: warm. Cold ones are on each rank together twice the size of the "
            "largest cache, as far as memory allows"),
        option_constant("computation", &s->computation, compute_choices(),
                        "what every thread computes; default: dgemm"),
        {.name = "test-interval",
         .kind = OPTION_DURATION,
         .target = &s->test_interval_ns,
         .parameter = "test_interval_ns",
         .of_plan = true,
         .help = "the computing thread that called MPI calls MPI_Test about this often, such as 100us, until the "
                 "collective is complete; its computation is cut into pieces for this, in the reference too; default: "
                 "0, never"},
        option_one_of("grid", &s->grid, program_grid_choices, "target times of both axes; default: smoke"),
        option_text(
            "sizes", &s->sizes, "FILE",
            "take message and work sizes from this file and calibrate nothing; a reference that has moved is flagged"),
        option_text("save-sizes", &s->save_sizes, "FILE",
                    "write the sizes that the calibration found (for --sizes); they are written again at the end where "
                    "a reference moved and its size was calibrated anew"),
        option_seed(&s->seed, "seed of the contents of messages; default: 1"),
        option_integer("max-message-bytes", &s->max_message_bytes, 64, 17179869176.0, "N",
                       "largest message that the calibration tries, in bytes; never more than fits in half of the "
                       "rank's share of memory; default: 1 GiB"),
    };
    program_add_options(entries, table, sizeof table);
}

static void check_collectives(const struct option_list *collectives, char *error, size_t error_size) {
    for (size_t i = 0; i < collectives->count && error[0] == '\0'; i++) {
        const struct collective *collective = &collective_table[collectives->values[i]];
        if (!collective->available) {
            snprintf(error, error_size, "this MPI library has no %s; --list shows which collectives it has",
                     collective->mpi_name);
        }
    }
}

/* Checks what the table of options cannot express. One line in error where options contradict each other. */
static void check_settings(const struct program *program, char *error, size_t error_size) {
    const struct settings *s = &settings;
    calibration_check_options(s->sizes, s->save_sizes, s->max_message_bytes, error, error_size);
    if (s->test_interval_ns > 0 && program->configuration->source == PROGRESS_APPLICATION) {
        snprintf(error, error_size,
                 "--test-interval: in configuration %s the helper thread calls MPI_Test already, and no two threads "
                 "may test one request; leave it out, or use another configuration",
                 program->configuration->name);
    }
    check_collectives(&s->collectives, error, error_size);
}

/* Collective: one line in error, the same on all ranks, where the number or the placement of ranks makes measuring
 * impossible. */
static void check_ranks(const struct program *program, char *error, size_t error_size) {
    program_check_nodes(program, 0, error, error_size);
    if (program->ranks > PATTERN_MAX_SUM_RANKS) {
        snprintf(error, error_size, "%d ranks: sums can be checked for at most %d", program->ranks,
                 PATTERN_MAX_SUM_RANKS);
    }
}

static struct plan plan_of(const struct program *program, const struct settings *s) {
    return (struct plan){.collectives = s->collectives.values,
                         .collective_count = s->collectives.count,
                         .comm_targets_ns = s->comm_times.values,
                         .comm_target_count = s->comm_times.count,
                         .comp_targets_ns = s->comp_times.values,
                         .comp_target_count = s->comp_times.count,
                         .budget = {.seconds = program->settings.budget_seconds, .began_ns = program->began},
                         .max_message_bytes = (uint64_t)s->max_message_bytes,
                         .memory_bytes = program->memory_bytes,
                         .sizes_given = s->sizes != NULL,
                         .cold = s->cache == CACHE_COLD,
                         .quiet = program->settings.quiet,
                         .seed = (uint64_t)s->seed,
                         .threads = program->threads,
                         .given_up_cores = placement_given_up_cores(program->place),
                         .computation = (enum compute_kind)s->computation,
                         .test_interval_ns = s->test_interval_ns};
}

/* Collective: measures what was asked for. Returns the exit code. */
static int run(struct program *program) {
    struct settings *s = &settings;
    char impossible[PROGRAM_MOST_REASON] = "";
    struct sampler_axis axes[SAMPLER_MOST_AXES];
    program->computation = (enum compute_kind)s->computation;
    options_fill_list(&s->comm_times, &times[s->grid]);
    options_fill_list(&s->comp_times, &times[s->grid]);
    options_fill_range(&s->collectives, 0, COLLECTIVE_DEFAULTS);
    program_configure(program, impossible, sizeof impossible);
    check_ranks(program, impossible, sizeof impossible);
    const struct plan plan = plan_of(program, s);
    struct overlap overlap = {.plan = &plan, .sizes_file = s->sizes, .save_sizes = s->save_sizes};
    const struct program_measurement measurement = {.context = &overlap,
                                                    .plan = program_plan(program, axis_names, axes),
                                                    .seed = s->seed,
                                                    .sizes_given = s->sizes != NULL,
                                                    .impossible = impossible};
    overlap.rule = measurement.plan.rule;
    overlap.sizes = calibration_sizes_create(&plan, program->ranks);
    const int code = program_measure(program, &measurement);
    calibration_sizes_free(&overlap.sizes);
    return code;
}

int main(int argc, char **argv) {
    const struct program_kind kind = {
        .name = "nbc_overlap",
        .family = "nbc_overlap",
        .method = 4,
        .configurations = true,
        .repeats = true,
        .help =
            "usage: mpiexec -n RANKS nbc_overlap [OPTION]...\n\n"
            "Measures how much of a nonblocking collective is hidden behind computation, and at what price\n"
            "(Denis et al. 2022). Message and work sizes are calibrated to target times; each point of the grid\n"
            "communication time x computation time is then measured with its references beside it. Paper placement:\n"
            "one rank per node, one computing thread per physical core.\n\n"
            "  r_overhead  0: overlap is perfect, 1: serialised, above 1: worse than serialised\n"
            "  r_comm      time inside MPI, relative to the communication alone\n"
            "  r_comp      time of the computation, relative to the computation alone\n",
        .describe = describe_options,
        .check_options = check_settings,
        .run = run,
        .list = collective_print_list,
        .points = &overlap_points,
        .check = overlap_check,
        .begin = overlap_begin,
        .end = overlap_end,
    };
    return program_main(&kind, argc, argv);
}
