/*
 * loggp - what does a message cost? The parameters of the LogGP model (loggp.h).
 */
#include "loggp.h"
#include "options.h"
#include "program.h"

#include <inttypes.h>
#include <stdio.h>

enum { LARGEST_BYTES = 1 << 28 };
/* Sizes of messages, bytes. The smallest grid has three long ones, which the libraries of today send by one protocol: G
 * is of these where o hides the gaps (postprocess/statistics/loggp.py). */
static const struct option_values grids[] = {
    [GRID_SMOKE] = {{8, 64, 512, 4096, 32768, 262144, 524288, 1048576}, 8},
    [GRID_NIGHTLY] = {{8, 32, 128, 512, 2048, 8192, 32768, 131072, 524288}, 9},
    [GRID_FULL] = {{8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 32768, 131072, 524288, 1048576, 4194304}, 16},
};

static struct settings {
    struct option_list pairs;
    struct option_list message_bytes;
    int grid;
} settings;

static const char *const axis_names[LOGGP_AXES + 1] = {[LOGGP_PAIR] = "pair", [LOGGP_MESSAGE] = "message_bytes"};

static void describe_options(struct option_entry *entries) {
    struct settings *s = &settings;
    const struct option_entry table[] = {
        {.name = "pairs",
         .kind = OPTION_CHOICES,
         .target = &s->pairs,
         .choices = loggp_pair_choices,
         .parameter = "pair",
         .of_plan = true,
         .help = "the ranks that exchange messages, comma-separated; default: those that there are"},
        {.name = "message-bytes",
         .kind = OPTION_INTEGERS,
         .target = &s->message_bytes,
         .minimum = sizeof(double),
         .maximum = LARGEST_BYTES,
         .multiple_of = sizeof(double),
         .parameter = "message_bytes",
         .of_plan = true,
         .grids = grids,
         .help = "sizes of messages, bytes, multiples of 8, at least two of them: a line is fitted to their times. "
                 "Between those where messages begin to wait for their receiver more are measured"},
        option_one_of("grid", &s->grid, program_grid_choices,
                      "the sizes of messages; --message-bytes replaces them; default: smoke"),
    };
    program_add_options(entries, table, sizeof table);
}

/* One line in error. */
static void check_sizes(const struct program *program, char *error, size_t error_size) {
    if (settings.message_bytes.count == 1) {
        snprintf(error, error_size,
                 "--message-bytes: one size is too few: G is the slope of a line through at least two");
    }
}

/* One line in error, the same on all ranks, where the ranks have too little memory. Rank 0 has two messages, and the
 * operands of reductions, which are as large as two more (loggp.c). */
static void check_memory(const struct program *program, const struct option_list *sizes, char *error,
                         size_t error_size) {
    const uint64_t most = program->memory_bytes / 2 / 4;
    for (size_t i = 0; i < sizes->count && program->memory_bytes > 0 && error[0] == '\0'; i++) {
        if ((uint64_t)sizes->values[i] > most) {
            snprintf(error, error_size,
                     "--message-bytes: %" PRId64 " bytes are too many: at most %" PRIu64
                     " fit into half of a rank's share of memory",
                     sizes->values[i], most / sizeof(double) * sizeof(double));
        }
    }
}

/* Collective: measures what was asked for. Returns the exit code. */
static int run(struct program *program) {
    struct settings *s = &settings;
    char impossible[PROGRAM_MOST_REASON] = "";
    struct sampler_axis axes[SAMPLER_MOST_AXES];
    options_fill_list(&s->message_bytes, &grids[s->grid]);
    struct loggp loggp = {
        .program = program, .message_bytes = s->message_bytes.values, .message_count = s->message_bytes.count};
    loggp_find_pairs(&loggp, &s->pairs);
    const struct sampler_plan plan = program_plan(program, axis_names, axes);
    axes[LOGGP_PAIR].numbers = loggp.pairs;
    axes[LOGGP_PAIR].count = loggp.pair_count;
    program_configure(program, impossible, sizeof impossible);
    if (impossible[0] == '\0') {
        program_check_crowd(program, impossible, sizeof impossible);
    }
    check_memory(program, &s->message_bytes, impossible, sizeof impossible);
    if (program->ranks < 2) {
        snprintf(impossible, sizeof impossible, "1 rank: a message needs 2; start with mpiexec -n 2 or more");
    } else if (loggp.pair_count < s->pairs.count) {
        snprintf(impossible, sizeof impossible, "--pairs: these ranks have no such pair; leave it out");
    }
    return program_measure(program, &(struct program_measurement){.context = &loggp,
                                                                  .plan = plan,
                                                                  .seed = RECORD_UNKNOWN,
                                                                  .sizes_given = RECORD_UNKNOWN,
                                                                  .impossible = impossible});
}

int main(int argc, char **argv) {
    const struct program_kind kind = {
        .name = "loggp",
        .family = "cpu_overhead",
        .method = 5,
        .configurations = true,
        .repeats = true,
        .usual_budget_seconds = 60, /* repetitions of messages of 256 MiB take seconds each */
        .help =
            "usage: mpiexec -n RANKS loggp [OPTION]...\n\n"
            "Measures what the parameters of the LogGP model are computed from: messages between rank 0 and a rank\n"
            "of its node, and a rank of another node, as far as there are such (Hoefler, Lichei, Rehm 2007;\n"
            "Kielmann, Bal, Verstoep 2000). `campaign show` has the parameters. The table and the record have the\n"
            "times of whole parts of many exchanges. Without --budget-seconds its budget is 60 s.\n",
        .describe = describe_options,
        .check_options = check_sizes,
        .run = run,
        .points = &loggp_points,
        .begin = loggp_begin,
        .end = loggp_end,
    };
    return program_main(&kind, argc, argv);
}
