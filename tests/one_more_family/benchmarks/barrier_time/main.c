/* barrier_time - how long do barriers take, so many in a row? */
#include "fail_mpi.h"
#include "program.h"
#include "timer.h"

enum term { BEGIN, END, TERMS };

static struct option_list counts;

struct barriers {
    MPI_Comm comm;
    int64_t count;
};

static const char *const axis_names[] = {"barriers", NULL};

static void describe_options(struct option_entry *entries) {
    const struct option_entry barriers = {.name = "barriers",
                                          .kind = OPTION_INTEGERS,
                                          .target = &counts,
                                          .minimum = 1,
                                          .maximum = 1000000,
                                          .parameter = "barriers",
                                          .help = "how many in a row; each is a point"};
    program_add_options(entries, &barriers, sizeof barriers);
}

static bool begin(void *context, struct sampler_point *point) {
    struct barriers *barriers = context;
    barriers->comm = point->comm;
    barriers->count = counts.values[point->at[0]];
    return true;
}

static void time_barriers(void *context, start_line *line, struct repetition *r) {
    const struct barriers *barriers = context;
    r->terms[BEGIN] = start_spin(line);
    for (int64_t i = 0; i < barriers->count; i++) {
        MPI_CHECK(MPI_Barrier(barriers->comm));
    }
    r->terms[END] = timer_now_ns();
}

static const struct repetition_part barriers_in_a_row = {.time = time_barriers};
static const struct repetition_part *const parts[] = {&barriers_in_a_row};
static const struct repetition_series series[] = {
    {.name = "t_barriers_ns",
     .over = OVER_SPAN,
     .term = BEGIN,
     .end = END,
     .stops = true,
     .help = "from the first rank's start to the last rank's end"},
};
static const struct sampler_kind points = {
    .samples.repeated = {.parts = parts, .part_count = 1, .terms = TERMS, .series = series, .series_count = 1},
    .begin = begin,
};

static int run(struct program *program) {
    char impossible[PROGRAM_MOST_REASON] = "";
    struct barriers barriers = {.count = 0};
    struct sampler_axis axes[SAMPLER_MOST_AXES];
    program_configure(program, impossible, sizeof impossible);
    const int code =
        program_measure(program, &(struct program_measurement){.context = &barriers,
                                                               .plan = program_plan(program, axis_names, axes),
                                                               .seed = RECORD_UNKNOWN,
                                                               .sizes_given = RECORD_UNKNOWN,
                                                               .impossible = impossible});
    options_free_list(&counts);
    return code;
}

int main(int argc, char **argv) {
    const struct program_kind kind = {
        .name = "barrier_time",
        .family = "barrier_time",
        .method = 1,
        .configurations = true,
        .repeats = true,
        .help = "usage: mpiexec -n RANKS barrier_time --barriers LIST [OPTION]...\n",
        .exits = "0 good; 1 a full disk or an MPI error; 2 wrong use",
        .describe = describe_options,
        .run = run,
        .points = &points,
    };
    return program_main(&kind, argc, argv);
}
