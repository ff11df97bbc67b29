/*
 * loggp - what does a message cost? The parameters of the LogGP model (loggp.h).
 */
#include "json.h"
#include "loggp.h"
#include "options.h"
#include "program.h"

#include <inttypes.h>
#include <stdio.h>

enum { LARGEST_BYTES = 1 << 28 };
/* Sizes of messages, bytes. The smallest grid has three long ones, which the libraries of today send by one protocol: G
 * is of these where o hides the gaps (postprocess/statistics/loggp.py). */
static const struct program_values grids[] = {
    [GRID_SMOKE] = {{8, 64, 512, 4096, 32768, 262144, 524288, 1048576}, 8},
    [GRID_NIGHTLY] = {{8, 32, 128, 512, 2048, 8192, 32768, 131072, 524288}, 9},
    [GRID_FULL] = {{8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 32768, 131072, 524288, 1048576, 4194304}, 16},
};

static struct settings {
    struct option_list message_bytes;
    int grid;
} settings;

static void describe_options(struct option_entry *entries) {
    struct settings *s = &settings;
    const struct option_entry table[] = {
        option_one_of("grid", &s->grid, program_grid_names,
                      "the sizes of messages; --message-bytes replaces them; default: smoke"),
        option_integers(
            "message-bytes", &s->message_bytes, sizeof(double), LARGEST_BYTES,
            "sizes of messages, bytes, multiples of 8, at least two of them: a line is fitted to their times"),
    };
    program_add_options(entries, table, sizeof table);
}

/* One line in error. */
static void check_sizes(const struct program *program, char *error, size_t error_size) {
    (void)program;
    const struct option_list *sizes = &settings.message_bytes;
    for (size_t i = 0; i < sizes->count && error[0] == '\0'; i++) {
        if (sizes->values[i] % (int64_t)sizeof(double) != 0) {
            snprintf(error, error_size, "--message-bytes: %" PRId64 " bytes are no whole numbers of %zu bytes",
                     sizes->values[i], sizeof(double));
        } else if (sizes->count < 2) {
            snprintf(error, error_size,
                     "--message-bytes: one size is too few: G is the slope of a line through at least two");
        }
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
static int measure(struct program *program, const struct option_list *sizes) {
    char impossible[PROGRAM_MOST_REASON] = "";
    const char *pairs[LOGGP_PAIRS];
    struct loggp loggp = {.program = program, .message_bytes = sizes->values, .message_count = sizes->count};
    loggp_find_pairs(&loggp);
    for (size_t i = 0; i < loggp.pair_count; i++) {
        pairs[i] = loggp_pair_names[loggp.pairs[i]];
    }
    const struct sampler_axis axes[] = {
        [LOGGP_PAIR] = {.name = "pair", .texts = pairs, .count = loggp.pair_count},
        [LOGGP_MESSAGE] = sampler_numbers("message_bytes", sizes->values, sizes->count),
    };
    program_configure(program, impossible, sizeof impossible);
    if (impossible[0] == '\0') {
        program_check_crowd(program, impossible, sizeof impossible);
    }
    check_memory(program, sizes, impossible, sizeof impossible);
    if (program->ranks < 2) {
        snprintf(impossible, sizeof impossible, "1 rank: a message needs 2; start with mpiexec -n 2 or more");
    }
    return program_measure(program, &(struct program_measurement){.context = &loggp,
                                                                  .plan = program_plan(program, axes, LOGGP_AXES),
                                                                  .seed = RECORD_UNKNOWN,
                                                                  .sizes_given = RECORD_UNKNOWN,
                                                                  .impossible = impossible});
}

static int run(struct program *program) {
    struct option_list *sizes = &settings.message_bytes;
    const struct program_values *grid = &grids[settings.grid];
    options_fill_list(sizes, grid->items, grid->count);
    return measure(program, sizes);
}

int main(int argc, char **argv) {
    const struct program_kind kind = {
        .name = "loggp",
        .family = "cpu_overhead",
        .method = 4,
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
