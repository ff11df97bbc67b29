/*
 * cpu_overhead - what does a blocking collective cost the CPU?
 *
 * T. Hoefler et al., "A Case for Non-Blocking Collective Operations", 2006, section 3.
 */
#include "batches.h"
#include "calls.h"
#include "clocks.h"
#include "options.h"
#include "program.h"

#include <limits.h>
#include <stdio.h>

/* Steps of the search for the work that fits beside a collective. */
static const int64_t bisections[] = {[GRID_SMOKE] = 4, [GRID_NIGHTLY] = 5, [GRID_FULL] = 6};

enum { PAPERS_CALLS = 10000, MOST_LATENESS_MS = 10000 };

static const struct option_choice setting_choices[] = {{"usual", "as it is"},
                                                       {"yielding", "to give the CPU up while it waits"},
                                                       {"blocking", "to wait without polling"},
                                                       {"modelled", "to use the algorithms that a model describes"},
                                                       {NULL, NULL}};

static struct settings {
    struct cells_asked asked;
    int64_t calls; /* 0: not given */
    int method;
    int setting;
    int grid;
    int64_t seed;
} settings = {.seed = 1};

static const char *const axis_names[AXES + 1] = {[AXIS_OPERATION] = "operation",
                                                 [AXIS_COMMUNICATOR] = "communicator_ranks",
                                                 [AXIS_MESSAGE] = "message_bytes",
                                                 [AXIS_WAY] = "way",
                                                 [AXIS_LATENESS] = "lateness_ns"};

static void describe_options(struct option_entry *entries) {
    struct settings *s = &settings;
    const struct option_entry table[] = {
        {.name = "collective",
         .kind = OPTION_CHOICES,
         .target = &s->asked.operations,
         .choices = operation_choices(),
         .parameter = "operation",
         .of_plan = true,
         .help = "collectives to measure, comma-separated, may be repeated, see --list; default: all"},
        {.name = "communicators",
         .kind = OPTION_INTEGERS,
         .target = &s->asked.communicators,
         .minimum = 2,
         .maximum = INT_MAX,
         .ascending = true,
         .most = CELLS_MOST_COMMUNICATORS,
         .parameter = "communicator_ranks",
         .of_plan = true,
         .help = "ranks of the communicators; default: powers of two from 2 on, and all ranks"},
        {.name = "message-bytes",
         .kind = OPTION_INTEGERS,
         .target = &s->asked.message_bytes,
         .minimum = COLLECTIVE_ELEMENT,
         .maximum = INT_MAX,
         .multiple_of = COLLECTIVE_ELEMENT,
         .parameter = "message_bytes",
         .of_plan = true,
         .grids = cells_message_bytes,
         .help = "sizes of messages, bytes, multiples of 8: the buffer, or the block of one rank; a barrier has none"},
        {.name = "ways",
         .kind = OPTION_CHOICES,
         .target = &s->asked.ways,
         .choices = way_choices(),
         .parameter = "way",
         .of_plan = true,
         .help = "how the ranks spend the time. Ways but `blocking` and `once` are measured on all ranks, for some "
                 "sizes of a grid, or all of --message-bytes. Default: all; those with even or skewed with "
                 "--grid full alone"},
        {.name = "lateness-ms",
         .kind = OPTION_INTEGERS,
         .target = &s->asked.lateness_ms,
         .minimum = 1,
         .maximum = MOST_LATENESS_MS,
         .ascending = true,
         .most = CELLS_MOST_LATENESS,
         .parameter = "lateness_ns",
         .of_plan = true,
         .grids = cells_lateness_ms,
         .help = "by how many ms the last rank of `late` comes late, or each rank of `skewed` works in a batch: at "
                 "least the time of a batch. The first is "
                 "measured with all sizes, the others with the smallest; default: those of the grid"},
        option_constant("method", &s->method, program_method_choices,
                        "`paper`: a batch has 10000 calls, and only blocking calls are measured; default: campaign"),
        {.name = "library-setting",
         .kind = OPTION_CHOICE,
         .target = &s->setting,
         .choices = setting_choices,
         .parameter = "library_setting",
         .of_plan = true,
         .help = "how the environment has set the library, for the record; default: usual"},
        option_integer("calls", &s->calls, 1, CALLS_MOST, "N",
                       "calls of every batch, but of ways that have a number of their own; default: as many as the CPU "
                       "clocks need"),
        option_one_of("grid", &s->grid, program_grid_choices,
                      "the sizes of messages, as far as the ranks have memory for them; --message-bytes replaces them; "
                      "default: smoke"),
        option_seed(&s->seed, "seed of the contents of messages; default: 1"),
    };
    program_add_options(entries, table, sizeof table);
}

/* One line in error. */
static void check_options(const struct program *program, char *error, size_t error_size) {
    const struct settings *s = &settings;
    if (s->calls > 0 && s->method == METHOD_PAPER) {
        snprintf(error, error_size, "--calls: --method paper has its own number, %d; leave one of the two out",
                 PAPERS_CALLS);
    }
    for (size_t i = 0; i < s->asked.ways.count && s->method == METHOD_PAPER && error[0] == '\0'; i++) {
        if (s->asked.ways.values[i] != WAY_BLOCKING) {
            snprintf(error, error_size, "--ways: with --method paper only blocking calls are measured, no `%s`",
                     way_table[s->asked.ways.values[i]].name);
        }
    }
}

/* Collective: measures what was asked for. Returns the exit code. */
static int run(struct program *program) {
    struct settings *s = &settings;
    char impossible[PROGRAM_MOST_REASON] = "";
    options_fill_range(&s->asked.ways, 0,
                       s->method == METHOD_PAPER ? 1
                       : s->grid == GRID_FULL    ? WAY_COUNT
                                                 : WAY_FIRST_OF_FULL);
    cells_fill(&s->asked, s->grid);
    const struct clocks clocks = clocks_look();
    struct batches batches = {.program = program,
                              .cells = cells_of(program, &s->asked, clocks.batch_target_ns),
                              .bisections = bisections[s->grid],
                              .calls = s->method == METHOD_PAPER ? PAPERS_CALLS : s->calls,
                              .target_ns = clocks.batch_target_ns,
                              .seed = (uint64_t)s->seed};
    struct sampler_axis axes[SAMPLER_MOST_AXES];
    const struct sampler_plan plan = program_plan(program, axis_names, axes);
    axes[AXIS_COMMUNICATOR].numbers = batches.cells.communicators;
    axes[AXIS_COMMUNICATOR].count = batches.cells.communicator_count;
    axes[AXIS_LATENESS].numbers = batches.cells.lateness_ns;
    axes[AXIS_LATENESS].count = batches.cells.lateness_count;
    program_configure(program, impossible, sizeof impossible);
    if (impossible[0] == '\0') {
        cells_check(&batches.cells, impossible, sizeof impossible);
    }
    return program_measure(program, &(struct program_measurement){.context = &batches,
                                                                  .plan = plan,
                                                                  .seed = s->seed,
                                                                  .sizes_given = RECORD_UNKNOWN,
                                                                  .own = &clocks,
                                                                  .impossible = impossible});
}

static void print_list(void) {
    for (int i = 0; i < OPERATION_COUNT; i++) {
        printf("%s\n", operation_table[i].name);
    }
}

int main(int argc, char **argv) {
    const struct program_kind kind = {
        .name = "cpu_overhead",
        .family = "cpu_overhead",
        .method = 6,
        .configurations = true,
        .repeats = true,
        .header = clocks_fields,
        .help =
            "usage: mpiexec -n RANKS cpu_overhead [OPTION]...\n\n"
            "Measures what a collective costs the CPU (Hoefler et al. 2006, section 3): batches of calls are timed by\n"
            "the clock and by the CPU time of the process, beside batches of a reference. The table and the record\n"
            "have whole batches.\n\n"
            "  t_wall_ns            from the first rank's start to the last rank's end\n"
            "  t_reference_wall_ns  the same of the reference of the way, most often the blocking call\n"
            "  t_cpu_ns             CPU time of the process, on the rank where it is largest\n"
            "  cpu_share            t_cpu / t_wall: 1 where the library polls; the rest is idle\n",
        .describe = describe_options,
        .check_options = check_options,
        .run = run,
        .list = print_list,
        .points = &batches_points,
        .begin = batches_begin,
        .end = batches_end,
    };
    return program_main(&kind, argc, argv);
}
