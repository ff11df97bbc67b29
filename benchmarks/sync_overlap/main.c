/*
 * sync_overlap - can a process send a message without waiting for its receiver, and who must be inside MPI for it?
 *
 * J. B. White III and S. W. Bova, "Where's the Overlap? An Analysis of Popular MPI Implementations", 1999, sections II
 * and III.
 */
#include "late_receiver.h"
#include "options.h"
#include "program.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

/* Sizes of messages, bytes. */
static const struct option_values grids[] = {
    [GRID_SMOKE] = {{0, 64, 4096, 65536, 1048576}, 5},
    [GRID_NIGHTLY] = {{64, 4096, 65536, 1048576}, 4},
    [GRID_FULL] = {{0,    8,     16,    32,    64,     128,    256,    512,     1024,    2048,    4096,
                    8192, 16384, 32768, 65536, 131072, 262144, 524288, 1048576, 2097152, 4194304, 16777216},
                   22},
};
static const struct option_values no_message = {{0}, 1};

static const struct option_choice send_choices[] = {
    [SEND_EARLY] = {"early", "MPI_Isend, then computation"},
    [SEND_LATE] = {"late", "the negative control: MPI_Isend after the computation, so that nothing can overlap"},
    [SEND_NEVER] = {"never", "no message, only the memory of idle ranks: one point without a repetition"},
    {NULL, NULL}};

/* How the library was told to transfer messages, by settings that the caller made. */
static const struct option_choice protocol_choices[] = {
    {"default", "no such setting"},
    {"copied", "no single copy by the kernel"},
    {"eager", "a larger limit of messages that do not wait for the receiver"},
    {"rendezvous", "a smaller one"},
    {NULL, NULL}};

enum { LEAST_DELAY_NS = 10000000, SHORTEST_DELAY_NS = 1000000 };

static struct settings {
    int grid;
    struct option_list message_bytes;
    bool only_these;
    int64_t delay_ns;
    int send;
    int protocol;
    int64_t seed;
} settings = {.delay_ns = LEAST_DELAY_NS, .seed = 1};

static void describe_options(struct option_entry *entries) {
    struct settings *s = &settings;
    const struct option_entry table[] = {
        {.name = "message-bytes",
         .kind = OPTION_INTEGERS,
         .target = &s->message_bytes,
         .maximum = INT_MAX,
         .multiple_of = sizeof(uint64_t),
         .parameter = "message_bytes",
         .of_plan = true,
         .grids = grids,
         .help = "sizes of messages to begin with, bytes, multiples of 8; sizes between them may be measured, too"},
        option_constant("send", &s->send, send_choices, "when the sender calls MPI_Isend; default: early"),
        option_constant(
            "protocol", &s->protocol, protocol_choices,
            "how the library was told to transfer messages, by settings that the caller makes: a note for the "
            "record; default: default"),
        option_one_of("grid", &s->grid, program_grid_choices,
                      "the sizes of messages to begin with, as far as the ranks have memory for them; --message-bytes "
                      "replaces them; default: smoke"),
        option_flag("only-these", &s->only_these,
                    "measure no sizes between them; default: where the outcome changes, sizes between are measured "
                    "until the change is known to 8 bytes"),
        option_time(
            "delay", &s->delay_ns, "TIME",
            "how late the receiver is, at least 1 ms: a fixed amount of work, and ten times the transfer as far "
            "as the budget has time for that; the sender computes twice as long; default: 10ms"),
        option_seed(&s->seed, "seed of the contents of messages; default: 1"),
    };
    program_add_options(entries, table, sizeof table);
}

/* One line in error. */
static void check_settings(const struct program *program, char *error, size_t error_size) {
    const struct settings *s = &settings;
    if (s->delay_ns < SHORTEST_DELAY_NS) {
        snprintf(error, error_size, "--delay: %" PRId64 " ns are too short; 1ms or more", s->delay_ns);
    }
    if (s->send == SEND_NEVER && s->message_bytes.count > 0) {
        snprintf(error, error_size, "--send never sends no message: leave out --message-bytes");
    }
}

/* The sizes that the ranks have memory for: of a grid, the others are left out; of those that were asked for, one line
 * in error. */
static void fit_sizes(const struct program *program, struct option_list *sizes, bool preset, char *error,
                      size_t error_size) {
    const int64_t most = program->memory_bytes > 0 ? (int64_t)(program->memory_bytes / 4) : INT_MAX;
    size_t kept = 0;
    for (size_t i = 0; i < sizes->count; i++) {
        const int64_t size = sizes->values[i];
        if (size <= most) {
            sizes->values[kept++] = size;
        } else if (!preset && error[0] == '\0') {
            snprintf(error, error_size,
                     "--message-bytes: %" PRId64 " bytes are more than a quarter of the rank's share of memory, %.0f "
                     "MiB",
                     size, (double)program->memory_bytes / 1048576);
        }
    }
    sizes->count = kept;
}

/* Collective: one line in error, the same on all ranks, where these ranks cannot measure it. */
static void check_ranks(const struct program *program, char *error, size_t error_size) {
    program_check_crowd(program, error, error_size);
    if (program->ranks < 2) {
        snprintf(error, error_size, "1 rank: a message needs a sender and a receiver; start with mpiexec -n 2");
    }
}

static const struct field header_fields[] = {
    FIELD(struct late_receiver_plan, sender, "its rank"),
    FIELD(struct late_receiver_plan, receiver, "its rank"),
    FIELD(struct late_receiver_plan, least_delay_ns, "the shortest delay that was asked for"),
    FIELD(struct late_receiver_plan, bisects, "whether sizes between neighbours with different outcomes are measured"),
    FIELDS_END,
};

/* Collective: measures what was asked for. Returns the exit code. */
static int measure(struct program *program, struct settings *s, bool preset) {
    char impossible[PROGRAM_MOST_REASON] = "";
    program_configure(program, impossible, sizeof impossible);
    if (impossible[0] == '\0') {
        check_ranks(program, impossible, sizeof impossible);
    }
    fit_sizes(program, &s->message_bytes, preset, impossible, sizeof impossible);
    struct sampler_axis axes[SAMPLER_MOST_AXES];
    const struct sampler_plan plan_of_run = program_plan(program, NULL, axes);
    const struct late_receiver_plan plan = {
        .message_bytes = s->message_bytes.values,
        .message_count = s->message_bytes.count,
        .bisects = !s->only_these && s->send == SEND_EARLY, /* the negative control has no changes to look for */
        .least_delay_ns = s->delay_ns,
        .receiver = program->ranks / 2,
        .send = (enum send)s->send,
        .seed = (uint64_t)s->seed,
        .budget = plan_of_run.budget};
    struct late_receiver late_receiver = {.plan = &plan};
    return program_measure(program, &(struct program_measurement){.context = &late_receiver,
                                                                  .plan = plan_of_run,
                                                                  .seed = s->seed,
                                                                  .sizes_given = RECORD_UNKNOWN,
                                                                  .own = &plan,
                                                                  .impossible = impossible});
}

static int run(struct program *program) {
    struct settings *s = &settings;
    const bool preset = options_fill_list(&s->message_bytes, s->send == SEND_NEVER ? &no_message : &grids[s->grid]);
    return measure(program, s, preset);
}

int main(int argc, char **argv) {
    const struct program_kind kind = {
        .name = "sync_overlap",
        .family = "sync_overlap",
        .method = 3,
        .configurations = true,
        .repeats = true,
        .header = header_fields,
        .help =
            "usage: mpiexec -n RANKS sync_overlap [OPTION]...\n\n"
            "Sends a message to a receiver that is late, while the sender computes (White & Bova 1999): does MPI_Recv\n"
            "complete before the sender calls MPI_Wait? Rank 0 sends to the first rank of the second half.\n\n"
            "  recv     when MPI_Recv completed: before `wait` the overlap is full\n"
            "  wait     when the sender called MPI_Wait\n"
            "  whole    the time of a transfer of which nothing can have moved before\n"
            "  arrived  bytes that arrived while neither rank was inside MPI, and while the sender alone was\n",
        .describe = describe_options,
        .check_options = check_settings,
        .run = run,
        .points = &late_receiver_points,
        .begin = late_receiver_begin,
        .end = late_receiver_end,
    };
    return program_main(&kind, argc, argv);
}
