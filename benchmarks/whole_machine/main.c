/*
 * whole_machine - is a node, a link or a switch of this machine slower than the others?
 *
 * All nodes are measured at once: first each alone, which computes; then in pairs, which exchange messages. In a round
 * each node is in one pair at most; a few rounds give every node several partners. No pair waits for another one inside
 * a timed part.
 */
#include "calls.h"
#include "compute.h"
#include "fail.h"
#include "fail_mpi.h"
#include "fixed_work.h"
#include "group.h"
#include "pairs.h"
#include "pattern.h"
#include "phase.h"
#include "program.h"
#include "timer.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

enum part { PART_ALONE, PART_PAIR };
enum axis { AXIS_PART, AXIS_ROUND, AXIS_MESSAGE, AXES };
enum term { START, OWN, TERMS };

/* A repetition takes about TARGET_NS on the slowest pair. */
enum { USUAL_ROUNDS = 5, TARGET_NS = 5000000, UNIT_NS = 1000000 };

static const struct option_choice part_choices[] = {
    [PART_ALONE] = {"alone", "each rank computes, and nobody communicates"},
    [PART_PAIR] = {"pair", "the ranks of two nodes exchange messages, those with the same number on their nodes"},
    {NULL, NULL}};
static const struct option_values grids[] = {
    [GRID_SMOKE] = {{262144}, 1}, [GRID_NIGHTLY] = {{8, 262144}, 2}, [GRID_FULL] = {{8, 65536, 4194304}, 3}};

static struct settings {
    struct option_list parts;
    struct option_list rounds;
    struct option_list message_bytes;
    int computation;
    int grid;
    int64_t seed;
} settings = {.seed = 1};

static const char *const axis_names[AXES + 1] = {
    [AXIS_PART] = "part", [AXIS_ROUND] = "round", [AXIS_MESSAGE] = "message_bytes"};

static void describe_options(struct option_entry *entries) {
    struct settings *s = &settings;
    const struct option_entry table[] = {
        {.name = "part",
         .kind = OPTION_CHOICES,
         .target = &s->parts,
         .choices = part_choices,
         .parameter = "part",
         .of_plan = true,
         .help = "what is measured, comma-separated; default: all"},
        {.name = "round",
         .kind = OPTION_INTEGERS,
         .target = &s->rounds,
         .maximum = INT_MAX,
         .ascending = true,
         .parameter = "round",
         .of_plan = true,
         .help = "which rounds of pairs, from 0; nodes alone are measured once per round; default: five, spread over "
                 "all"},
        {.name = "message-bytes",
         .kind = OPTION_INTEGERS,
         .target = &s->message_bytes,
         .minimum = sizeof(uint64_t),
         .maximum = INT_MAX,
         .multiple_of = sizeof(uint64_t),
         .parameter = "message_bytes",
         .of_plan = true,
         .grids = grids,
         .help = "sizes of the messages of pairs, bytes, multiples of 8"},
        option_constant("computation", &s->computation, compute_choices(), "what a rank computes; default: dgemm"),
        option_one_of("grid", &s->grid, program_grid_choices,
                      "the sizes of messages; --message-bytes replaces them; default: smoke"),
        option_seed(&s->seed, "seed of the contents of messages; default: 1"),
    };
    program_add_options(entries, table, sizeof table);
}

/* ---- a repetition ---- */

struct machine {
    struct program *program;
    struct nodes nodes;
    struct fixed_work work;
    size_t at[AXES];
    uint64_t *send;
    uint64_t *receive;
    int64_t *partners; /* by node, of the point: the node that it meets; itself: none */
    int partner;       /* the rank that this one exchanges messages with; MPI_PROC_NULL: none */
    int64_t words;
    int64_t units;
    int64_t calls;
    uint64_t number; /* of the repetition */
    int64_t faults;
    char fault[128];
};

static bool is_pair(const struct machine *o) {
    return settings.parts.values[o->at[AXIS_PART]] == PART_PAIR;
}

/* Sends the window of a repetition so many times. */
static void exchange(struct machine *o, int64_t calls, uint64_t number) {
    const uint64_t *send = o->send + pattern_first(number);
    for (int64_t i = 0; i < calls && o->partner != MPI_PROC_NULL; i++) {
        MPI_CHECK(MPI_Sendrecv(send, (int)o->words, MPI_UINT64_T, o->partner, 0, o->receive, (int)o->words,
                               MPI_UINT64_T, o->partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
}

static void make_exchanges(void *context, int64_t calls) {
    struct machine *o = context;
    exchange(o, calls, o->number);
}

static void settle(void *context) {
    struct machine *o = context;
    if (is_pair(o)) {
        phase_enter(PHASE_CALL);
        exchange(o, 1, o->number + PATTERN_PERIOD / 2); /* other contents than those that are checked */
    } else {
        compute_warm(o->program->team, o->work.work_size);
    }
}

static void time_own(void *context, start_line *line, struct repetition *r) {
    struct machine *o = context;
    r->terms[START] = start_spin(line);
    phase_enter(is_pair(o) ? PHASE_CALL : PHASE_COMPUTATION_ALONE);
    if (is_pair(o)) {
        exchange(o, o->calls, o->number);
    } else {
        fixed_work_do(&o->work, o->units);
    }
    r->terms[OWN] = timer_now_ns() - start_moment(line);
}

static void check_data(void *context) {
    struct machine *o = context;
    struct pattern_fault fault;
    phase_enter(PHASE_CHECK);
    if (is_pair(o) && o->partner != MPI_PROC_NULL) {
        const uint64_t wrong = pattern_check_words(o->receive, (size_t)o->words, (uint64_t)settings.seed, o->partner,
                                                   pattern_first(o->number), &fault);
        if (wrong > 0 && o->faults == 0) {
            snprintf(o->fault, sizeof o->fault, "rank %d received wrong data from rank %d, the first in word %zu",
                     o->program->rank, o->partner, fault.position);
        }
        o->faults += (int64_t)wrong;
    }
    o->number++;
}

static bool wrong(void *context) {
    const struct machine *o = context;
    return o->faults > 0;
}

static int64_t count_faults(void *context, char *text, size_t text_size) {
    const struct machine *o = context;
    const int64_t faults = o->faults;
    snprintf(text, text_size, "%s", o->fault);
    return group_share_faults(faults, text, text_size);
}

/* ---- points ---- */

static int round_at(size_t index) {
    return (int)settings.rounds.values[index];
}

/* Notes who meets whom. */
static void choose_partners(struct machine *o) {
    for (int node = 0; node < o->nodes.count; node++) {
        o->partners[node] = is_pair(o) ? pairs_partner(o->nodes.count, node, round_at(o->at[AXIS_ROUND])) : node;
    }
}

static void go_to(struct machine *o, const size_t at[SAMPLER_MOST_AXES]) {
    for (size_t i = 0; i < AXES; i++) {
        o->at[i] = at[i];
    }
}

/* A node alone sends no messages. */
static bool has_point(void *context, const size_t at[SAMPLER_MOST_AXES]) {
    struct machine *o = context;
    go_to(o, at);
    return is_pair(o) || at[AXIS_MESSAGE] == 0;
}

static bool begin(void *context, struct sampler_point *p) {
    struct machine *o = context;
    const int node = o->nodes.own;
    const int ranks = o->program->ranks;
    int64_t taken_ns = 0;
    go_to(o, p->at);
    choose_partners(o);
    o->words = is_pair(o) ? settings.message_bytes.values[o->at[AXIS_MESSAGE]] / (int64_t)sizeof(uint64_t) : 0;
    o->calls = 0;
    if (program_is_spent(o->program)) {
        return false;
    }
    o->partner = MPI_PROC_NULL;
    if (o->partners[node] != node) {
        o->partner = nodes_rank(&o->nodes, ranks, (int)o->partners[node], o->nodes.own_number);
    }
    o->units = !is_pair(o) ? fixed_work_units(&o->work, TARGET_NS) : 0;
    phase_enter(PHASE_CALL);
    o->calls = is_pair(o) ? calls_search(MPI_COMM_WORLD, make_exchanges, o, TARGET_NS, &taken_ns) : 0;
    p->shortest_ns = TARGET_NS;
    return true;
}

struct row {
    const char *part;
    int64_t round;
    int64_t message_bytes;
    const int64_t *partners;
    size_t nodes;
    int64_t calls;
};

static const struct field parameter_fields[] = {
    FIELD(struct row, part, "what was measured"),
    FIELD(struct row, round, "which round of pairs; nodes alone are measured once per round"),
    FIELD(struct row, message_bytes, "of pairs: the size of a message; else 0"),
    FIELDS_END,
};

static const struct field own_fields[] = {
    FIELD_LIST_OF(struct row, partners, nodes, "by node: the node that it met; itself: none"),
    FIELD(struct row, calls, "messages of a repetition in each direction; 0: none"),
    FIELDS_END,
};

static void fill(void *context, const struct sampler_point *p, const sampler *s, void *row) {
    const struct machine *o = context;
    *(struct row *)row = (struct row){.part = part_choices[settings.parts.values[o->at[AXIS_PART]]].name,
                                      .round = round_at(o->at[AXIS_ROUND]),
                                      .message_bytes = o->words * (int64_t)sizeof(uint64_t),
                                      .partners = o->partners,
                                      .nodes = (size_t)o->nodes.count,
                                      .calls = o->calls};
}

static void name_point(void *context, const struct sampler_point *p, char *text, size_t text_size) {
    const struct machine *o = context;
    if (is_pair(o)) {
        snprintf(text, text_size, "pairs, round %d, %" PRId64 " bytes", round_at(o->at[AXIS_ROUND]),
                 settings.message_bytes.values[o->at[AXIS_MESSAGE]]);
    } else {
        snprintf(text, text_size, "alone");
    }
}

static const struct repetition_part own_part = {.prepare = settle, .time = time_own, .finish = check_data};
static const struct repetition_part *const parts[] = {&own_part};
static const struct repetition_series series[] = {
    {.name = "t_slowest_ns",
     .over = OVER_LARGEST,
     .term = OWN,
     .stops = true,
     .help = "of the slowest node or pair, from the agreed start"},
    {.name = "start_imbalance_ns", .over = OVER_IMBALANCE, .term = START},
    {.name = "late_starts", .over = OVER_LATE},
};
static const struct samples_sum rank_medians[] = {
    {"t_own_ns", 1, {OWN}, "of the rank's own node or pair, from the agreed start to its own end"}};

static const struct sampler_kind points = {
    .samples = {.repeated = {.parts = parts,
                             .part_count = 1,
                             .terms = TERMS,
                             .series = series,
                             .series_count = sizeof series / sizeof *series,
                             .wrong = wrong},
                .rank_medians = rank_medians,
                .rank_median_count = 1},
    .has_point = has_point,
    .begin = begin,
    .faults = count_faults,
    .parameters = parameter_fields,
    .own = own_fields,
    .row_bytes = sizeof(struct row),
    .fill = fill,
    .name = name_point,
};

/* ---- the run ---- */

/* One line in error. */
static void check(struct program *program, void *context, char *error, size_t error_size) {
    enum { BUFFERS = 2 };
    for (size_t i = 0; i < settings.message_bytes.count && program->memory_bytes > 0 && error[0] == '\0'; i++) {
        const int64_t bytes = settings.message_bytes.values[i];
        if ((uint64_t)bytes > program->memory_bytes / 2 / BUFFERS) {
            snprintf(error, error_size,
                     "--message-bytes: the buffers of %" PRId64 " bytes do not fit into half of a rank's share of "
                     "memory: at most %" PRIu64,
                     bytes, program->memory_bytes / 2 / BUFFERS / sizeof(uint64_t) * sizeof(uint64_t));
        }
    }
}

static bool begin_run(struct program *program, void *context, sampler *s, char *reason, size_t reason_size) {
    struct machine *o = context;
    int64_t longest = 0;
    for (size_t i = 0; i < settings.message_bytes.count; i++) {
        longest = settings.message_bytes.values[i] > longest ? settings.message_bytes.values[i] : longest;
    }
    const size_t words = (size_t)longest / sizeof(uint64_t);
    o->send = fail_alloc(words + PATTERN_PADDING, sizeof *o->send);
    o->receive = fail_alloc(words, sizeof *o->receive);
    pattern_fill_words(o->send, words + PATTERN_PADDING, (uint64_t)settings.seed, program->rank, 0);
    o->work = fixed_work_create(program->team, program->computation, UNIT_NS);
    return true;
}

static bool end_run(struct program *program, void *context, char *reason, size_t reason_size) {
    struct machine *o = context;
    free(o->send);
    free(o->receive);
    return true;
}

static int run(struct program *program) {
    char impossible[PROGRAM_MOST_REASON] = "";
    program->computation = (enum compute_kind)settings.computation;
    struct machine machine = {.program = program,
                              .nodes = nodes_find(placement_node(program->place), program->rank, program->ranks)};
    machine.partners = fail_alloc((size_t)machine.nodes.count, sizeof *machine.partners);
    options_fill_range(&settings.parts, 0, 2);
    options_fill_list(&settings.message_bytes, &grids[settings.grid]);
    const int most = pairs_rounds(machine.nodes.count);
    struct option_values usual = {.count = most < 1 ? 1 : most < USUAL_ROUNDS ? (size_t)most : USUAL_ROUNDS};
    for (size_t i = 0; i < usual.count; i++) {
        usual.items[i] = pairs_spread(machine.nodes.count, (int)usual.count, (int)i);
    }
    options_fill_list(&settings.rounds, &usual);
    struct sampler_axis axes[SAMPLER_MOST_AXES];
    program_check_crowd(program, impossible, sizeof impossible);
    if (machine.nodes.count < 2) {
        snprintf(impossible, sizeof impossible, "all ranks are on one node: nodes are compared with each other");
    } else if (machine.nodes.uneven) {
        snprintf(impossible, sizeof impossible, "nodes have different numbers of ranks: start as many on each");
    }
    if (impossible[0] == '\0') {
        program_configure(program, impossible, sizeof impossible);
    }
    const int code =
        program_measure(program, &(struct program_measurement){.context = &machine,
                                                               .plan = program_plan(program, axis_names, axes),
                                                               .seed = settings.seed,
                                                               .sizes_given = RECORD_UNKNOWN,
                                                               .impossible = impossible});
    free(machine.partners);
    nodes_free(&machine.nodes);
    return code;
}

int main(int argc, char **argv) {
    const struct program_kind kind = {
        .name = "whole_machine",
        .family = "whole_machine",
        .method = 1,
        .configurations = true,
        .repeats = true,
        .help =
            "usage: mpiexec -n RANKS whole_machine [OPTION]...\n\n"
            "Is a node, a link or a switch slower than the others? All nodes are measured at once: each alone, then\n"
            "in pairs, in a few rounds.\n",
        .describe = describe_options,
        .run = run,
        .points = &points,
        .check = check,
        .begin = begin_run,
        .end = end_run,
    };
    return program_main(&kind, argc, argv);
}
