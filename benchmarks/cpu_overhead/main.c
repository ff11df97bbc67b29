/*
 * cpu_overhead - what does a blocking collective cost the CPU?
 *
 * T. Hoefler et al., "A Case for Non-Blocking Collective Operations", 2006, section 3.
 */
#include "batches.h"
#include "calls.h"
#include "cpu_time.h"
#include "fail_mpi.h"
#include "json.h"
#include "node_time.h"
#include "options.h"
#include "program.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

struct sizes {
    struct program_values blocking;    /* sizes of messages, bytes, for the blocking call */
    struct program_values detailed;    /* those of them for which the other ways are measured too */
    struct program_values lateness_ms; /* of the last rank in points of `late` */
    int64_t bisections;                /* steps of the search for the work that fits beside a collective */
};
static const struct sizes grids[] = {
    [GRID_SMOKE] = {.blocking = {{8, 1024, 16384, 262144}, 4},
                    .detailed = {{262144}, 1},
                    .lateness_ms = {{10}, 1},
                    .bisections = 4},
    [GRID_NIGHTLY] = {.blocking = {{8, 64, 512, 4096, 32768, 262144, 1048576}, 7},
                      .detailed = {{512, 32768, 1048576}, 3},
                      .lateness_ms = {{10}, 1},
                      .bisections = 5},
    [GRID_FULL] = {.blocking = {{8,    16,    32,    64,    128,    256,    512,    1024,    2048,    4096,
                                 8192, 16384, 32768, 65536, 131072, 262144, 524288, 1048576, 2097152, 4194304},
                                20},
                   .detailed = {{8, 1024, 16384, 131072, 1048576, 4194304}, 6},
                   .lateness_ms = {{10, 100, 1000}, 3},
                   .bisections = 6},
};

enum { PAPERS_CALLS = 10000 };
enum { MOST_LATENESS_MS = 10000 };

static const char *const setting_names[] = {"usual", "yielding", "blocking", "modelled", NULL};

static struct settings {
    struct option_list operations;
    struct option_list communicators;
    struct option_list message_bytes;
    struct option_list ways;
    struct option_list lateness_ms;
    int64_t calls; /* 0: not given */
    int method;
    int setting;
    int grid;
    int64_t seed;
} settings = {.seed = 1};

static void describe_options(struct option_entry *entries) {
    struct settings *s = &settings;
    const struct option_entry table[] = {
        option_some_of("collective", &s->operations, operation_names(),
                       "collectives to measure, comma-separated, may be repeated, see --list; default: all"),
        option_integers("communicators", &s->communicators, 2, INT_MAX,
                        "ranks of the communicators; default: powers of two from 2 on, and all ranks"),
        option_some_of(
            "ways", &s->ways, way_names(),
            "how the ranks spend the time: `blocking` as the library waits in the blocking call; the nonblocking call, "
            "waited for at once (`nonblocking`), tested for all the time (`testing`), or tested for between sleeps "
            "that grow (`sleeping`); the blocking call beside a thread of the lowest priority (`soaking`); work beside "
            "the nonblocking call (`working`); the blocking call, to which the last rank comes late (`late`). They are "
            "measured on all ranks, for some sizes of a grid, or all of --message-bytes. `once`: one blocking call "
            "from a common start, which an equation describes. Default: all"),
        option_integers("lateness-ms", &s->lateness_ms, 1, MOST_LATENESS_MS,
                        "by how many ms the last rank of `late` comes late, and at least by the time of a batch. The "
                        "first is measured with all sizes, the others with the smallest; default: those of the grid"),
        option_integer("calls", &s->calls, 1, CALLS_MOST, "N",
                       "calls of every batch; default: as many as the CPU clocks need"),
        option_one_of("method", &s->method, program_method_names,
                      "`paper`: a batch has 10000 calls, and only blocking calls are measured; `campaign`: as many "
                      "calls as the CPU clocks need; default: campaign"),
        option_one_of("library-setting", &s->setting, setting_names,
                      "how the environment has set the library, for the record: to give the CPU up while it waits "
                      "(`yielding`), to wait without polling (`blocking`), or to use the algorithms that a model "
                      "describes (`modelled`); default: usual"),
        option_one_of("grid", &s->grid, program_grid_names,
                      "the sizes of messages, as far as the ranks have memory for them; --message-bytes replaces them; "
                      "default: smoke"),
        option_integers(
            "message-bytes", &s->message_bytes, COLLECTIVE_ELEMENT, INT_MAX,
            "sizes of messages, bytes, multiples of 8: the buffer, or the block of one rank; a barrier has none"),
        option_seed(&s->seed, "seed of the contents of messages; default: 1"),
    };
    program_add_options(entries, table, sizeof table);
}

/* Lists that were not given get all collectives, all ways and the grid's sizes. Returns whether the sizes are the
 * grid's. */
static bool fill_lists(struct settings *s) {
    const struct program_values *sizes = &grids[s->grid].blocking;
    const struct program_values *lateness_ms = &grids[s->grid].lateness_ms;
    options_fill_range(&s->operations, 0, OPERATION_COUNT);
    options_fill_range(&s->ways, 0, s->method == METHOD_PAPER ? 1 : WAY_COUNT);
    options_fill_list(&s->lateness_ms, lateness_ms->items, lateness_ms->count);
    return options_fill_list(&s->message_bytes, sizes->items, sizes->count);
}

/* Powers of two below the number of ranks, and that number, where no sizes of communicators were asked for. */
static void fill_communicators(struct batches *o, const struct settings *s, int ranks) {
    const struct option_list *asked = &s->communicators;
    for (size_t i = 0; i < asked->count && o->communicator_count < BATCHES_MOST_COMMUNICATORS; i++) {
        o->communicators[o->communicator_count++] = asked->values[i];
    }
    for (int64_t size = 2; asked->count == 0 && size < ranks; size *= 2) {
        o->communicators[o->communicator_count++] = size;
    }
    if (asked->count == 0) {
        o->communicators[o->communicator_count++] = ranks;
    }
}

/* One line in error. */
static void check_options(const struct program *program, char *error, size_t error_size) {
    (void)program;
    const struct settings *s = &settings;
    for (size_t i = 1; i < s->communicators.count && error[0] == '\0'; i++) {
        if (s->communicators.values[i] <= s->communicators.values[i - 1]) {
            snprintf(error, error_size, "--communicators: the sizes must ascend, %" PRId64 " follows %" PRId64,
                     s->communicators.values[i], s->communicators.values[i - 1]);
        }
    }
    for (size_t i = 1; i < s->lateness_ms.count && error[0] == '\0'; i++) {
        if (s->lateness_ms.values[i] <= s->lateness_ms.values[i - 1]) {
            snprintf(error, error_size, "--lateness-ms: the times must ascend, %" PRId64 " follows %" PRId64,
                     s->lateness_ms.values[i], s->lateness_ms.values[i - 1]);
        }
    }
    if (s->lateness_ms.count > BATCHES_MOST_LATENESS && error[0] == '\0') {
        snprintf(error, error_size, "--lateness-ms: %zu times are too many: at most %d", s->lateness_ms.count,
                 BATCHES_MOST_LATENESS);
    }
    if (s->communicators.count > BATCHES_MOST_COMMUNICATORS && error[0] == '\0') {
        snprintf(error, error_size, "--communicators: %zu sizes are too many: at most %d", s->communicators.count,
                 BATCHES_MOST_COMMUNICATORS);
    }
    if (s->calls > 0 && s->method == METHOD_PAPER && error[0] == '\0') {
        snprintf(error, error_size, "--calls: --method paper has its own number, %d; leave one of the two out",
                 PAPERS_CALLS);
    }
    for (size_t i = 0; i < s->ways.count && s->method == METHOD_PAPER && error[0] == '\0'; i++) {
        if (s->ways.values[i] != WAY_BLOCKING) {
            snprintf(error, error_size, "--ways: with --method paper only blocking calls are measured, no `%s`",
                     way_table[s->ways.values[i]].name);
        }
    }
    for (size_t i = 0; i < s->message_bytes.count && error[0] == '\0'; i++) {
        if (s->message_bytes.values[i] % COLLECTIVE_ELEMENT != 0) {
            snprintf(error, error_size, "--message-bytes: %" PRId64 " bytes are no whole words of %d bytes",
                     s->message_bytes.values[i], COLLECTIVE_ELEMENT);
        }
    }
}

/* One line in error, the same on all ranks, where these ranks cannot measure it. */
static void check_ranks(const struct program *program, const struct batches *o, char *error, size_t error_size) {
    program_check_crowd(program, error, error_size);
    if (program->ranks < 2) {
        snprintf(error, error_size, "%d rank: a collective needs at least 2; start with mpiexec -n 2 or more",
                 program->ranks);
    } else if (program->ranks > PATTERN_MAX_SUM_RANKS) {
        snprintf(error, error_size, "%d ranks: the sums of more than %d are not exact, so that they cannot be checked",
                 program->ranks, PATTERN_MAX_SUM_RANKS);
    } else if (program->configuration->source == PROGRESS_APPLICATION) {
        snprintf(error, error_size,
                 "configuration %s: a blocking collective has no request for the helper; use basic, async or dedicated",
                 program->configuration->name);
    }
    for (size_t i = 0; i < o->communicator_count && error[0] == '\0'; i++) {
        if (o->communicators[i] > program->ranks) {
            snprintf(error, error_size, "--communicators: %" PRId64 " ranks are more than the %d that there are",
                     o->communicators[i], program->ranks);
        }
    }
    for (size_t i = 0; i < o->operation_count && !o->preset && error[0] == '\0'; i++) {
        const struct collective *collective = &o->blocking[i];
        const uint64_t most = batches_most_bytes(program, collective);
        for (size_t j = 0; j < o->message_count && collective_has_message(collective); j++) {
            if ((uint64_t)o->message_bytes[j] > most) {
                snprintf(error, error_size,
                         "--message-bytes: %" PRId64 " bytes are too many for %s on %d ranks: at most %" PRIu64
                         " fit into half of a rank's share of memory and into MPI's counts",
                         o->message_bytes[j], collective->name, program->ranks, most / 8 * 8);
            }
        }
    }
}

/* Collective: returns the largest step of the CPU clocks over ranks, ns. */
static int64_t cpu_clock_step_ns(void) {
    int64_t step = cpu_time_step_ns();
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &step, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD));
    return step;
}

/* Returns the header's own object. Free with free(). */
static char *own_text(int64_t step_ns, const struct batches *o) {
    json_line *line = json_line_create();
    json_open_object(line, NULL);
    json_put_integer(line, "cpu_clock_step_ns", step_ns);
    json_put_integer(line, "kernel_tick_ns", cpu_time_tick_ns());
    json_put_integer(line, "batch_target_ns", o->target_ns);
    json_put_integer(line, "node_tick_ns", node_time_tick_ns());
    json_put_integer(line, "node_cpus", node_time_cpus());
    json_close_object(line);
    return json_line_take(line);
}

/* The times by which ranks come late: those asked for, but no shorter than a batch; each once. */
static size_t fill_lateness(int64_t *lateness_ns, const struct settings *s, int64_t target_ns) {
    size_t count = 0;
    for (size_t i = 0; i < s->lateness_ms.count; i++) {
        const int64_t asked_ns = s->lateness_ms.values[i] * 1000000;
        const int64_t time_ns = asked_ns > target_ns ? asked_ns : target_ns;
        if (count == 0 || time_ns > lateness_ns[count - 1]) {
            lateness_ns[count++] = time_ns;
        }
    }
    return count;
}

/* Collective: measures what was asked for. Returns the exit code. */
static int measure(struct program *program, const struct settings *s, bool preset) {
    char impossible[PROGRAM_MOST_REASON] = "";
    const char *operations[OPERATION_COUNT];
    const char *ways[WAY_COUNT];
    const bool paper = s->method == METHOD_PAPER;
    struct batches batches = {.program = program,
                              .operation_count = s->operations.count,
                              .message_bytes = s->message_bytes.values,
                              .message_count = s->message_bytes.count,
                              .ways = s->ways.values,
                              .way_count = s->ways.count,
                              .detailed = preset ? grids[s->grid].detailed.items : s->message_bytes.values,
                              .detailed_count = preset ? grids[s->grid].detailed.count : s->message_bytes.count,
                              .bisections = grids[s->grid].bisections,
                              .preset = preset,
                              .calls = s->calls > 0 ? s->calls
                                       : paper      ? PAPERS_CALLS
                                                    : 0,
                              .seed = (uint64_t)s->seed};
    fill_communicators(&batches, s, program->ranks);
    for (size_t i = 0; i < s->operations.count; i++) {
        const struct operation *operation = &operation_table[s->operations.values[i]];
        operations[i] = operation->name;
        batches.operations[i] = operation;
        batches.blocking[i] = operation_collective(operation);
        batches.nonblocking[i] = operation_nonblocking(operation);
    }
    for (size_t i = 0; i < s->ways.count; i++) {
        ways[i] = way_table[s->ways.values[i]].name;
    }
    const int64_t step_ns = cpu_clock_step_ns();
    batches.target_ns = batches_target_ns(step_ns);
    int64_t lateness_ns[BATCHES_MOST_LATENESS];
    batches.lateness_ns = lateness_ns;
    batches.lateness_count = fill_lateness(lateness_ns, s, batches.target_ns);
    const struct sampler_axis axes[] = {
        [AXIS_OPERATION] = {.name = "operation", .texts = operations, .count = s->operations.count},
        [AXIS_COMMUNICATOR] = sampler_numbers("communicator_ranks", batches.communicators, batches.communicator_count),
        [AXIS_MESSAGE] = sampler_numbers("message_bytes", s->message_bytes.values, s->message_bytes.count),
        [AXIS_WAY] = {.name = "way", .texts = ways, .count = s->ways.count},
        [AXIS_LATENESS] = sampler_numbers("lateness_ns", batches.lateness_ns, batches.lateness_count),
        [AXES] = sampler_constant("method", &program_method_names[s->method]),
        [AXES + 1] = sampler_constant("library_setting", &setting_names[s->setting])};
    program_configure(program, impossible, sizeof impossible);
    if (impossible[0] == '\0') {
        check_ranks(program, &batches, impossible, sizeof impossible);
    }
    char *own = own_text(step_ns, &batches);
    const int code = program_measure(
        program, &(struct program_measurement){.context = &batches,
                                               .plan = program_plan(program, axes, sizeof axes / sizeof *axes),
                                               .seed = s->seed,
                                               .sizes_given = RECORD_UNKNOWN,
                                               .own = own,
                                               .impossible = impossible});
    free(own);
    return code;
}

static void print_list(void) {
    for (int i = 0; i < OPERATION_COUNT; i++) {
        printf("%s\n", operation_table[i].name);
    }
}

static int run(struct program *program) {
    const bool preset = fill_lists(&settings);
    return measure(program, &settings, preset);
}

int main(int argc, char **argv) {
    const struct program_kind kind = {
        .name = "cpu_overhead",
        .family = "cpu_overhead",
        .method = 5,
        .configurations = true,
        .repeats = true,
        .help =
            "usage: mpiexec -n RANKS cpu_overhead [OPTION]...\n\n"
            "Measures what a collective costs the CPU (Hoefler et al. 2006, section 3): batches of calls are timed by\n"
            "the clock and by the CPU time of the process, beside batches of a reference. The table and the record\n"
            "have whole batches.\n\n"
            "  t_wall_ns            from the first rank's start to the last rank's end\n"
            "  t_reference_wall_ns  the same of the blocking call; beside `working`, of the nonblocking call alone\n"
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
