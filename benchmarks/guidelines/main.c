/*
 * guidelines - is a call of this MPI library slower than others that do the same?
 *
 * Each statement of the table has two sides (statements.h). Both make as many calls, in turn, in batches.
 */
#include "barrier.h"
#include "calls.h"
#include "fail.h"
#include "fail_mpi.h"
#include "group.h"
#include "pattern.h"
#include "phase.h"
#include "program.h"
#include "statements.h"
#include "timer.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum axis { AXIS_STATEMENT, AXIS_MESSAGE, AXES };
enum which { LEFT, RIGHT, SIDES };
enum term { START, LEFT_BEGIN, LEFT_END, RIGHT_BEGIN, RIGHT_END, TERMS };

/* A batch takes about TARGET_NS, and at least SETTLES settling times of the network, so that what a pause made faster
 * is a small part of it. SETTLING_CALLS of its own kind are made before it, untimed. */
enum { TARGET_NS = 500000, SETTLES = 16, SETTLING_CALLS = 2 };

static const struct option_values grids[] = {
    [GRID_SMOKE] = {{1024, 131072}, 2},
    [GRID_NIGHTLY] = {{64, 4096, 262144}, 3},
    [GRID_FULL] = {{8, 64, 512, 4096, 32768, 262144, 2097152}, 7},
};

static struct settings {
    struct option_list statements;
    struct option_list message_bytes;
    int grid;
} settings;

static const char *const axis_names[AXES + 1] = {[AXIS_STATEMENT] = "guideline", [AXIS_MESSAGE] = "message_bytes"};

static void describe_options(struct option_entry *entries) {
    struct settings *s = &settings;
    const struct option_entry table[] = {
        {.name = "guideline",
         .kind = OPTION_CHOICES,
         .target = &s->statements,
         .choices = statement_choices(),
         .parameter = "guideline",
         .of_plan = true,
         .help = "statements to measure, comma-separated, may be repeated, see --list; default: all"},
        {.name = "message-bytes",
         .kind = OPTION_INTEGERS,
         .target = &s->message_bytes,
         .minimum = sizeof(double),
         .maximum = INT_MAX / ROOM_VECTORS,
         .multiple_of = sizeof(double),
         .parameter = "message_bytes",
         .of_plan = true,
         .grids = grids,
         .help =
             "lengths of the vector, bytes, multiples of 8; where each rank has a block of it, at least a number for "
             "each"},
        option_one_of("grid", &s->grid, program_grid_choices,
                      "the lengths of vectors; --message-bytes replaces them; default: smoke"),
    };
    program_add_options(entries, table, sizeof table);
}

/* ---- both sides of a point ---- */

/* A step with its arguments and its requests. */
struct made {
    const struct step *step;
    struct room room;
    MPI_Request request[STEP_REQUESTS];
};

struct guidelines {
    const struct program *program;
    const char *lacking; /* the statements that the library cannot be asked about */
    MPI_Comm comm, copy, half;
    int *counts, *displacements, *displacements_bytes;
    MPI_Datatype *types;
    MPI_Datatype whole;
    double *send, *middle, *result[SIDES];
    /* the point */
    size_t at[AXES];
    const struct statement *statement;
    int64_t vector_bytes;
    int64_t calls;
    struct made made[SIDES][SIDE_MOST_STEPS];
    int steps[SIDES];
    bool has_requests;
    uint64_t number;     /* of the repetition, which decides where what it sends begins */
    bool is_made[SIDES]; /* since the results were compared */
    int last_root;
    int64_t faults;
    char fault[256];
};

static void make_calls(struct guidelines *o, enum which side, int64_t calls) {
    int root = 0;
    for (int64_t i = 0; i < calls; i++) {
        for (int j = 0; j < o->steps[side]; j++) {
            struct made *made = &o->made[side][j];
            made->room.root = root;
            step_make(made->step, &made->room, made->request);
        }
        o->last_root = root;
        root = root + 1 < o->program->ranks ? root + 1 : 0;
    }
}

/* How many numbers the calls of a point may send. */
static size_t sent_count(const struct guidelines *o) {
    return ROOM_VECTORS * (size_t)o->vector_bytes / sizeof(double);
}

static void call_left(void *context, int64_t calls) {
    make_calls(context, LEFT, calls);
}

static void call_right(void *context, int64_t calls) {
    make_calls(context, RIGHT, calls);
}

/* Both sides of a repetition send the same numbers, and each repetition others: where a persistent request tells from
 * which place, these are written there. */
static void settle(struct guidelines *o, enum which side) {
    const size_t first = pattern_first(o->number);
    if (o->has_requests) {
        pattern_fill_summands(o->send, sent_count(o), 1, o->program->rank, first);
    }
    phase_enter(PHASE_CALL);
    for (int j = 0; j < o->steps[side]; j++) {
        o->made[side][j].room.send = o->send + (o->has_requests ? 0 : first);
    }
    make_calls(o, side, SETTLING_CALLS);
}

static void time_side(struct guidelines *o, enum which side, start_line *line, struct repetition *r) {
    const int64_t start = start_spin(line);
    r->terms[START] = r->turn == 0 ? start : r->terms[START];
    phase_enter(PHASE_CALL);
    r->terms[side == LEFT ? LEFT_BEGIN : RIGHT_BEGIN] = start_moment(line);
    make_calls(o, side, o->calls);
    r->terms[side == LEFT ? LEFT_END : RIGHT_END] = timer_now_ns();
}

/* Compares what both sides left on this rank. */
static void compare(struct guidelines *o) {
    const struct room *room = &o->made[LEFT][0].room;
    const bool on_root = room->rank == o->last_root;
    const enum same_result same = o->statement->same;
    const bool here = same == RESULT_EVERYWHERE || same == RESULT_OWN_BLOCK || (same == RESULT_ON_ROOT && on_root) ||
                      (same == RESULT_OFF_ROOT && !on_root);
    const size_t count = (size_t)(same == RESULT_OWN_BLOCK ? room->block : room->count);
    const size_t first = same == RESULT_OWN_BLOCK ? (size_t)room->rank * count : 0;
    for (size_t i = first; here && i < first + count; i++) {
        if (o->result[LEFT][i] != o->result[RIGHT][i] && o->faults++ == 0) {
            snprintf(o->fault, sizeof o->fault, "rank %d: %s and %s of %" PRId64 " bytes differ in element %zu: %g, %g",
                     room->rank, o->statement->left.words, o->statement->right.words, o->vector_bytes, i,
                     o->result[LEFT][i], o->result[RIGHT][i]);
        }
    }
}

static void finish(struct guidelines *o, enum which side) {
    phase_enter(PHASE_CHECK);
    o->is_made[side] = true;
    if (o->is_made[LEFT] && o->is_made[RIGHT]) {
        barrier_disseminate(o->comm); /* no rank loads the memory of one that is not done */
        compare(o);
        o->is_made[LEFT] = o->is_made[RIGHT] = false;
        o->number++;
    }
}

#define PART(name, side)                                                                                               \
    static void settle_##name(void *context) {                                                                         \
        settle(context, side);                                                                                         \
    }                                                                                                                  \
    static void time_##name(void *context, start_line *line, struct repetition *r) {                                   \
        time_side(context, side, line, r);                                                                             \
    }                                                                                                                  \
    static void finish_##name(void *context) {                                                                         \
        finish(context, side);                                                                                         \
    }                                                                                                                  \
    static const struct repetition_part name##_part = {                                                                \
        .prepare = settle_##name, .time = time_##name, .finish = finish_##name};
PART(left, LEFT)
PART(right, RIGHT)
static const struct repetition_part *const parts[SIDES] = {&left_part, &right_part};

static bool wrong(void *context) {
    const struct guidelines *o = context;
    return o->faults > 0;
}

static int64_t count_faults(void *context, char *text, size_t text_size) {
    const struct guidelines *o = context;
    const int64_t faults = o->faults;
    snprintf(text, text_size, "%s", o->fault);
    return group_share_faults(faults, text, text_size);
}

/* ---- points ---- */

static const struct statement *statement_at(size_t index) {
    return &statement_table[settings.statements.values[index]];
}

/* A statement without a message is one point. */
static bool is_point(const struct guidelines *o, const size_t at[AXES]) {
    const struct statement *statement = statement_at(at[AXIS_STATEMENT]);
    return !statement->lacking && o->program->ranks >= statement->least_ranks &&
           (at[AXIS_MESSAGE] == 0 || !statement->no_message);
}

/* Goes on to the next point. Returns false where there is none. */
static bool next(const struct guidelines *o, size_t at[AXES], bool first) {
    const size_t sizes = settings.message_bytes.count;
    for (size_t i = first ? 0 : at[AXIS_STATEMENT] * sizes + at[AXIS_MESSAGE] + 1;
         i < settings.statements.count * sizes; i++) {
        at[AXIS_STATEMENT] = i / sizes;
        at[AXIS_MESSAGE] = i % sizes;
        if (is_point(o, at)) {
            return true;
        }
    }
    return false;
}

static bool next_point(void *context, const sampler *s, struct sampler_point *p) {
    struct guidelines *o = context;
    const bool found = next(o, o->at, p->index == 0);
    for (size_t i = 0; i < AXES && found; i++) {
        p->at[i] = o->at[i];
    }
    return found;
}

static double points_left(void *context) {
    const struct guidelines *o = context;
    size_t at[AXES] = {o->at[AXIS_STATEMENT], o->at[AXIS_MESSAGE]};
    double left = 1;
    while (next(o, at, false)) {
        left++;
    }
    return left;
}

static void free_point(struct guidelines *o) {
    for (int side = 0; side < SIDES && o->statement != NULL; side++) {
        for (int j = 0; j < o->steps[side]; j++) {
            step_free(o->made[side][j].request);
        }
    }
    if (o->whole != MPI_DATATYPE_NULL) {
        MPI_CHECK(MPI_Type_free(&o->whole));
    }
    o->statement = NULL;
}

/* A vector of `block` elements of each rank, and its type. */
static void lay_out(struct guidelines *o, int block) {
    const int ranks = o->program->ranks;
    for (int rank = 0; rank < ranks; rank++) {
        o->counts[rank] = block;
        o->displacements[rank] = rank * block;
        o->displacements_bytes[rank] = rank * block * (int)sizeof(double);
        o->types[rank] = MPI_DOUBLE;
    }
    MPI_CHECK(MPI_Type_contiguous(block * ranks, MPI_DOUBLE, &o->whole));
    MPI_CHECK(MPI_Type_commit(&o->whole));
}

static int partner_of(int rank, int ranks) {
    const int partner = rank % 2 == 0 ? rank + 1 : rank - 1;
    return partner < ranks ? partner : MPI_PROC_NULL;
}

/* Collective: the steps of a side, with their arguments and persistent requests. */
static void prepare_side(struct guidelines *o, enum which which, const struct side *side, int block) {
    o->steps[which] = 0;
    for (const struct step *step = side->steps; step->call != NULL; step++) {
        struct made *made = &o->made[which][o->steps[which]++];
        const int own = block * (step->times > 0 ? step->times : 1) / (step->parts > 0 ? step->parts : 1);
        *made = (struct made){.step = step,
                              .room = {.comm = o->comm,
                                       .copy = o->copy,
                                       .half = o->half,
                                       .rank = o->program->rank,
                                       .ranks = o->program->ranks,
                                       .partner = partner_of(o->program->rank, o->program->ranks),
                                       .count = own * o->program->ranks,
                                       .block = own,
                                       .send = o->send,
                                       .middle = o->middle,
                                       .result = o->result[which],
                                       .counts = o->counts,
                                       .displacements = o->displacements,
                                       .displacements_bytes = o->displacements_bytes,
                                       .types = o->types,
                                       .whole = o->whole}};
        step_prepare(step, &made->room, made->request);
        o->has_requests = o->has_requests || step->how >= STEP_STARTED;
    }
}

/* Elements of a rank's block: the halves of a vector are whole blocks, too. */
static int block_of(const struct guidelines *o, int64_t message_bytes) {
    const int64_t block = message_bytes / (int64_t)sizeof(double) / o->program->ranks / 2 * 2;
    return (int)(block > 2 ? block : 2);
}

/* What was asked for; 0 where the calls have no message. */
static int64_t message_of(const struct guidelines *o) {
    return statement_at(o->at[AXIS_STATEMENT])->no_message ? 0 : settings.message_bytes.values[o->at[AXIS_MESSAGE]];
}

static int64_t target_of_batch_ns(const struct guidelines *o) {
    const int64_t settled_ns = SETTLES * o->program->settings.settle_ns;
    return settled_ns > TARGET_NS ? settled_ns : TARGET_NS;
}

static bool begin(void *context, struct sampler_point *p) {
    struct guidelines *o = context;
    free_point(o); /* where it begins again */
    o->calls = 0;
    const struct statement *statement = statement_at(o->at[AXIS_STATEMENT]);
    const int block = block_of(o, message_of(o));
    o->vector_bytes = statement->no_message ? 0 : (int64_t)block * o->program->ranks * (int64_t)sizeof(double);
    if (program_is_spent(o->program)) {
        return false;
    }
    o->statement = statement;
    o->has_requests = false;
    o->is_made[LEFT] = o->is_made[RIGHT] = false;
    lay_out(o, block);
    /* A rank without a partner gets nothing. */
    memset(o->result[LEFT], 0, ROOM_VECTORS * (size_t)o->vector_bytes);
    memset(o->result[RIGHT], 0, ROOM_VECTORS * (size_t)o->vector_bytes);
    prepare_side(o, LEFT, &o->statement->left, block);
    prepare_side(o, RIGHT, &o->statement->right, block);
    phase_collective(o->statement->left.words);
    phase_enter(PHASE_CALL);
    int64_t left_ns = 0;
    const int64_t target_ns = target_of_batch_ns(o);
    int64_t right_ns = 0;
    const int64_t left_calls = calls_search(o->comm, call_left, o, target_ns, &left_ns);
    const int64_t right_calls = calls_search(o->comm, call_right, o, target_ns, &right_ns);
    o->calls = left_calls > right_calls ? left_calls : right_calls;
    p->shortest_ns = left_ns < right_ns ? left_ns : right_ns;
    return true;
}

static void end_point(void *context, const struct sampler_point *p) {
    free_point(context);
}

static void name_point(void *context, const struct sampler_point *p, char *text, size_t text_size) {
    const struct guidelines *o = context;
    snprintf(text, text_size, "%s, %" PRId64 " bytes", statement_at(o->at[AXIS_STATEMENT])->name, message_of(o));
}

struct row {
    const char *guideline;
    int64_t message_bytes;
    const char *kind;
    const char *left;
    const char *right;
    int64_t allowed_percent;
    int64_t vector_bytes;
    int64_t calls;
};

static const struct field parameter_fields[] = {
    FIELD(struct row, guideline, "the statement"),
    FIELD(struct row, message_bytes, "the length of the vector that was asked for; 0 where the calls have none"),
    FIELDS_END,
};

static const struct field own_fields[] = {
    FIELD_ONE_OF(struct row, kind, statement_kinds, "what is compared"),
    FIELD(struct row, left, "the calls that must not be slower"),
    FIELD(struct row, right, "the calls that do the same, or more"),
    FIELD(struct row, allowed_percent, "the share of the right side's time that the left side may take"),
    FIELD(struct row, vector_bytes, "the length of the vector: blocks of all ranks, of an even number of elements"),
    FIELD(struct row, calls, "calls of a batch, of both sides"),
    FIELDS_END,
};

static void fill(void *context, const struct sampler_point *p, const sampler *s, void *row) {
    const struct guidelines *o = context;
    const struct statement *statement = statement_at(o->at[AXIS_STATEMENT]);
    *(struct row *)row = (struct row){.guideline = statement->name,
                                      .message_bytes = message_of(o),
                                      .kind = statement->kind,
                                      .left = statement->left.words,
                                      .right = statement->right.words,
                                      .allowed_percent = statement->allowed_percent,
                                      .vector_bytes = o->vector_bytes,
                                      .calls = o->calls};
}

/* Of a whole batch. */
enum { SERIES_LEFT, SERIES_RIGHT };
static const struct repetition_series series[] = {
    [SERIES_LEFT] = {.name = "t_left_ns",
                     .over = OVER_SPAN,
                     .term = LEFT_BEGIN,
                     .end = LEFT_END,
                     .stops = true,
                     .help = "of a batch of the calls that must not be slower, from the agreed start to the last end"},
    [SERIES_RIGHT] = {.name = "t_right_ns",
                      .over = OVER_SPAN,
                      .term = RIGHT_BEGIN,
                      .end = RIGHT_END,
                      .stops = true,
                      .help = "of as many of the calls that they are held against"},
    {.name = "start_imbalance_ns", .over = OVER_IMBALANCE, .term = START},
    {.name = "order", .over = OVER_ORDER},
    {.name = "late_starts", .over = OVER_LATE},
};
static const struct samples_ratio ratio = {.numerator = SERIES_LEFT, .denominator = SERIES_RIGHT, .width = 1};

static const struct sampler_kind points = {
    .samples = {.repeated = {.parts = parts,
                             .part_count = SIDES,
                             .group = SIDES,
                             .terms = TERMS,
                             .series = series,
                             .series_count = sizeof series / sizeof *series,
                             .wrong = wrong},
                .ratio = &ratio},
    .next_point = next_point,
    .points_left = points_left,
    .begin = begin,
    .end = end_point,
    .faults = count_faults,
    .parameters = parameter_fields,
    .own = own_fields,
    .row_bytes = sizeof(struct row),
    .fill = fill,
    .name = name_point,
    .nothing = "no batch of calls could be measured: give more --budget-seconds",
};

/* ---- the run ---- */

static const struct field header_fields[] = {
    FIELD(struct guidelines, lacking,
          "the statements that were asked for and are no points, because the library lacks a call or there are too few "
          "ranks, comma-separated"),
    FIELDS_END,
};

/* Which statements cannot be measured. */
static void note_lacking(struct guidelines *o, char *text, size_t text_size) {
    size_t length = 0;
    for (size_t i = 0; i < settings.statements.count; i++) {
        const size_t at[AXES] = {i, 0};
        if (!is_point(o, at) && length < text_size) {
            length += (size_t)snprintf(text + length, text_size - length, "%s%s", length > 0 ? "," : "",
                                       statement_at(i)->name);
        }
    }
    o->lacking = text;
}

/* One line in error. */
static void check(struct program *program, void *context, char *error, size_t error_size) {
    enum { VECTORS = 4 * ROOM_VECTORS };
    for (size_t i = 0; i < settings.message_bytes.count && program->memory_bytes > 0 && error[0] == '\0'; i++) {
        const int64_t bytes = settings.message_bytes.values[i];
        if ((uint64_t)bytes > program->memory_bytes / 2 / VECTORS) {
            snprintf(error, error_size,
                     "--message-bytes: the buffers of %" PRId64 " bytes do not fit into half of a rank's share of "
                     "memory: at most %" PRIu64,
                     bytes, program->memory_bytes / 2 / VECTORS / sizeof(double) * sizeof(double));
        }
    }
}

static bool begin_run(struct program *program, void *context, sampler *s, char *reason, size_t reason_size) {
    struct guidelines *o = context;
    const size_t ranks = (size_t)program->ranks;
    int64_t longest = 0;
    for (size_t i = 0; i < settings.message_bytes.count; i++) {
        longest = settings.message_bytes.values[i] > longest ? settings.message_bytes.values[i] : longest;
    }
    const size_t vectors = ROOM_VECTORS * (size_t)block_of(o, longest) * ranks;
    o->send = fail_alloc(vectors + PATTERN_PADDING, sizeof *o->send);
    pattern_fill_summands(o->send, vectors + PATTERN_PADDING, 1, program->rank, 0);
    o->middle = fail_alloc(vectors, sizeof *o->middle);
    o->result[LEFT] = fail_alloc(vectors, sizeof *o->result[LEFT]);
    o->result[RIGHT] = fail_alloc(vectors, sizeof *o->result[RIGHT]);
    o->counts = fail_alloc(ranks, sizeof *o->counts);
    o->displacements = fail_alloc(ranks, sizeof *o->displacements);
    o->displacements_bytes = fail_alloc(ranks, sizeof *o->displacements_bytes);
    o->types = fail_alloc(ranks, sizeof *o->types);
    MPI_CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &o->comm));
    MPI_CHECK(MPI_Comm_dup(o->comm, &o->copy));
    const int half = program->rank < (program->ranks + 1) / 2 ? 0 : MPI_UNDEFINED;
    MPI_CHECK(MPI_Comm_split(o->comm, half, program->rank, &o->half));
    return true;
}

static bool end_run(struct program *program, void *context, char *reason, size_t reason_size) {
    struct guidelines *o = context;
    free_point(o);
    for (MPI_Comm *const *comm = (MPI_Comm *const[]){&o->half, &o->copy, &o->comm, NULL}; *comm != NULL; comm++) {
        if (**comm != MPI_COMM_NULL) {
            MPI_CHECK(MPI_Comm_free(*comm));
        }
    }
    for (void *const *memory = (void *const[]){o->send, o->middle, o->result[LEFT], o->result[RIGHT], o->counts,
                                               o->displacements, o->displacements_bytes, o->types, NULL};
         *memory != NULL; memory++) {
        free(*memory);
    }
    return true;
}

/* Collective: measures what was asked for. Returns the exit code. */
static int run(struct program *program) {
    char impossible[PROGRAM_MOST_REASON] = "";
    char lacking[PROGRAM_MOST_REASON] = "";
    options_fill_range(&settings.statements, 0, STATEMENT_COUNT);
    options_fill_list(&settings.message_bytes, &grids[settings.grid]);
    struct guidelines guidelines = {.program = program,
                                    .comm = MPI_COMM_NULL,
                                    .copy = MPI_COMM_NULL,
                                    .half = MPI_COMM_NULL,
                                    .whole = MPI_DATATYPE_NULL};
    size_t at[AXES];
    struct sampler_axis axes[SAMPLER_MOST_AXES];
    note_lacking(&guidelines, lacking, sizeof lacking);
    program_check_nodes(program, 0, impossible, sizeof impossible);
    if (impossible[0] == '\0') {
        program_configure(program, impossible, sizeof impossible);
    }
    if (impossible[0] == '\0' && !next(&guidelines, at, true)) {
        snprintf(impossible, sizeof impossible,
                 "--guideline: the MPI library lacks a call of each of them, or %d ranks are too few", program->ranks);
    }
    return program_measure(program, &(struct program_measurement){.context = &guidelines,
                                                                  .plan = program_plan(program, axis_names, axes),
                                                                  .seed = RECORD_UNKNOWN,
                                                                  .sizes_given = RECORD_UNKNOWN,
                                                                  .own = &guidelines,
                                                                  .impossible = impossible});
}

static void print_list(void) {
    for (size_t i = 0; i < STATEMENT_COUNT; i++) {
        const struct statement *statement = &statement_table[i];
        printf("%s: %s <= %.2f x %s%s\n", statement->name, statement->left.words,
               (double)statement->allowed_percent / 100, statement->right.words,
               statement->lacking ? " (this library lacks a call)" : "");
    }
}

int main(int argc, char **argv) {
    const struct program_kind kind = {
        .name = "guidelines",
        .family = "guidelines",
        .method = 2,
        .configurations = true,
        .repeats = true,
        .header = header_fields,
        .help = "usage: mpiexec -n RANKS guidelines [OPTION]...\n\n"
                "Is a call of this MPI library slower than others that do the same? Batches of both take turns.\n\n"
                "  t_left_ns   of a batch of the calls that must not be slower\n"
                "  t_right_ns  of as many of the others\n",
        .describe = describe_options,
        .run = run,
        .list = print_list,
        .points = &points,
        .check = check,
        .begin = begin_run,
        .end = end_run,
    };
    return program_main(&kind, argc, argv);
}
