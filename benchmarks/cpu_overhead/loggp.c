#include "loggp.h"

#include "budget.h"
#include "fail.h"
#include "fail_mpi.h"
#include "group.h"
#include "phase.h"
#include "timer.h"
#include "topology.h"
#include "work.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What rank 0 times in a repetition, of a whole part; 0 on other ranks. SENDS is what the rank of the pair times that
 * answers. */
enum term { ROUND_TRIPS, TRAINS, DELAYED_TRAINS, DELAYS, RECEIVES, SENDS, HOT, COLD, TERMS };

const struct option_choice loggp_pair_choices[] = {
    [LOGGP_WITHIN] = {"within_node", "two ranks of a node"},
    [LOGGP_BETWEEN] = {"between_nodes", "ranks of two nodes"},
    {NULL, NULL},
};

/* A part takes about so long, unless one exchange takes longer. */
enum { PART_NS = 1000000, MOST_ROUND_TRIPS = 100000 };

/* ---- pairs ---- */

/* Ranks with equal names are on one node. */
enum { MOST_NAME = 512 };
static void name_node(const struct program *program, char name[MOST_NAME]) {
    char boot[128] = "";
    topology_boot_id(boot, sizeof boot);
    snprintf(name, MOST_NAME, "%s %s", placement_host(program->place), boot);
}

static bool is_asked(const struct option_list *asked, int pair) {
    bool found = asked->count == 0;
    for (size_t i = 0; i < asked->count; i++) {
        found = found || asked->values[i] == pair;
    }
    return found;
}

void loggp_find_pairs(struct loggp *o, const struct option_list *asked) {
    const struct program *program = o->program;
    char own[MOST_NAME] = "";
    char first[MOST_NAME] = "";
    name_node(program, own);
    memcpy(first, own, sizeof first);
    MPI_CHECK(MPI_Bcast(first, MOST_NAME, MPI_CHAR, 0, MPI_COMM_WORLD));
    const bool alike = strcmp(own, first) == 0;
    /* The lowest rank above 0 on rank 0's node, and the lowest on another one. */
    int lowest[LOGGP_PAIRS] = {program->ranks, program->ranks};
    if (program->rank > 0) {
        lowest[alike ? LOGGP_WITHIN : LOGGP_BETWEEN] = program->rank;
    }
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, lowest, LOGGP_PAIRS, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    for (int i = 0; i < LOGGP_PAIRS; i++) {
        if (lowest[i] < program->ranks && is_asked(asked, i)) {
            o->pairs[o->pair_count] = i;
            o->partners[o->pair_count++] = lowest[i];
        }
    }
}

/* ---- the parts of a repetition ---- */

enum { TAG = 1 };

static void send(struct loggp *o) {
    MPI_CHECK(MPI_Send(o->sent, o->point.message_bytes, MPI_BYTE, 1 - o->point.rank, TAG, o->point.comm));
}

static void receive(struct loggp *o) {
    MPI_CHECK(MPI_Recv(o->received, o->point.message_bytes, MPI_BYTE, 1 - o->point.rank, TAG, o->point.comm,
                       MPI_STATUS_IGNORE));
}

static void prepare(void *context) {
    struct loggp *o = context;
    const size_t last = (size_t)o->point.message_bytes - 1;
    o->point.mark++;
    o->sent[0] = o->point.mark;
    o->sent[last] = o->point.mark;
    o->received[0] = (unsigned char)~o->point.mark;
    o->received[last] = (unsigned char)~o->point.mark;
}

/* The last message of a part must have come whole. */
static void check(void *context) {
    struct loggp *o = context;
    phase_enter(PHASE_CHECK);
    const size_t last = (size_t)o->point.message_bytes - 1;
    o->wrong += o->received[0] != o->point.mark || o->received[last] != o->point.mark;
}

static void make_round_trips(struct loggp *o, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        if (o->point.rank == 0) {
            send(o);
            receive(o);
        } else {
            receive(o);
            send(o);
        }
    }
}

/* units: the work between two messages; 0: none. */
static void make_trains(struct loggp *o, int64_t count, int64_t units) {
    for (int64_t i = 0; i < count; i++) {
        for (int64_t j = 0; j < LOGGP_TRAIN; j++) {
            if (o->point.rank != 0) {
                receive(o);
                continue;
            }
            if (j > 0 && units > 0) {
                work_do(units);
            }
            send(o);
        }
        if (o->point.rank == 0) {
            receive(o);
        } else {
            send(o);
        }
    }
}

/* On a network that was idle before a start and is faster for a while (start_settle): keeps sending until it is not,
 * and returns when all has arrived. What follows at once finds the network in its lasting state, however many exchanges
 * a part has. */
static void end_fast_beginning(struct loggp *o) {
    enum { LONG_ENOUGH = 2 }; /* times the settling time, in which a network at its lasting rate recovers wholly */
    const int64_t least_ns = LONG_ENOUGH * o->program->settings.settle_ns;
    const int64_t began = timer_now_ns();
    for (bool goes_on = least_ns > 0; goes_on;) {
        unsigned char answer = 0;
        if (o->point.rank == 0) {
            goes_on = timer_now_ns() - began < least_ns;
            o->filler[0] = goes_on;
            MPI_CHECK(MPI_Send(o->filler, LOGGP_FILLER_BYTES, MPI_BYTE, 1, TAG, o->point.comm));
            MPI_CHECK(MPI_Recv(&answer, 1, MPI_BYTE, 1, TAG, o->point.comm, MPI_STATUS_IGNORE));
        } else {
            MPI_CHECK(MPI_Recv(o->filler, LOGGP_FILLER_BYTES, MPI_BYTE, 0, TAG, o->point.comm, MPI_STATUS_IGNORE));
            goes_on = o->filler[0] != 0;
            MPI_CHECK(MPI_Send(&answer, 1, MPI_BYTE, 0, TAG, o->point.comm));
        }
    }
}

static void time_round_trips(void *context, start_line *line, struct repetition *r) {
    struct loggp *o = context;
    start_spin(line);
    phase_enter(PHASE_CALL);
    end_fast_beginning(o);
    const int64_t began = timer_now_ns();
    make_round_trips(o, o->point.round_trips);
    r->terms[ROUND_TRIPS] = o->point.rank == 0 ? timer_now_ns() - began : 0;
}

static void time_trains(void *context, start_line *line, struct repetition *r) {
    struct loggp *o = context;
    start_spin(line);
    phase_enter(PHASE_CALL);
    end_fast_beginning(o);
    const int64_t began = timer_now_ns();
    make_trains(o, o->point.trains, 0);
    r->terms[TRAINS] = o->point.rank == 0 ? timer_now_ns() - began : 0;
}

static void time_delayed_trains(void *context, start_line *line, struct repetition *r) {
    struct loggp *o = context;
    start_spin(line);
    phase_enter(PHASE_CALL);
    end_fast_beginning(o);
    const int64_t began = timer_now_ns();
    make_trains(o, o->point.trains, o->point.units);
    r->terms[DELAYED_TRAINS] = o->point.rank == 0 ? timer_now_ns() - began : 0;
}

/* What rank 0 can time alone: the delays of the trains; and receives. The other rank sends to a receiver that is late
 * by a delay. */
static void time_receives(void *context, start_line *line, struct repetition *r) {
    struct loggp *o = context;
    start_spin(line);
    phase_enter(PHASE_COMPUTATION_ALONE);
    const int64_t began = timer_now_ns();
    for (int64_t i = 0; i < o->point.trains * (LOGGP_TRAIN - 1) && o->point.rank == 0; i++) {
        work_do(o->point.units);
    }
    r->terms[DELAYS] = o->point.rank == 0 ? timer_now_ns() - began : 0;
    phase_enter(PHASE_CALL);
    int64_t receiving = 0;
    int64_t sending = 0;
    for (int64_t i = 0; i < o->point.round_trips; i++) {
        char asked = 0;
        if (o->point.rank == 0) {
            MPI_CHECK(MPI_Send(&asked, 1, MPI_BYTE, 1, TAG, o->point.comm));
            work_do(o->point.units);
            const int64_t called = timer_now_ns();
            receive(o);
            receiving += timer_now_ns() - called;
        } else {
            MPI_CHECK(MPI_Recv(&asked, 1, MPI_BYTE, 0, TAG, o->point.comm, MPI_STATUS_IGNORE));
            const int64_t called = timer_now_ns();
            send(o);
            sending += timer_now_ns() - called;
        }
    }
    r->terms[RECEIVES] = receiving;
    r->terms[SENDS] = sending;
}

/* Returns the operands of the next reduction: those of the last one, or others, which have left the caches. */
static double *operands(struct loggp *o, size_t count, bool cold) {
    if (!cold || o->next_operand + 2 * count > o->operand_count) {
        o->next_operand = 0;
    }
    double *first = o->operands + o->next_operand;
    o->next_operand += cold ? 2 * count : 0;
    return first;
}

static int64_t time_reductions(struct loggp *o, bool cold) {
    const int count = o->point.message_bytes / (int)sizeof(double);
    const int64_t began = timer_now_ns();
    for (int64_t i = 0; i < o->point.reductions; i++) {
        double *first = operands(o, (size_t)count, cold);
        MPI_CHECK(MPI_Reduce_local(first, first + count, count, MPI_DOUBLE, MPI_SUM));
    }
    return timer_now_ns() - began;
}

static void time_both_reductions(void *context, start_line *line, struct repetition *r) {
    struct loggp *o = context;
    start_spin(line);
    phase_enter(PHASE_COMPUTATION_ALONE);
    r->terms[HOT] = o->point.rank == 0 ? time_reductions(o, false) : 0;
    r->terms[COLD] = o->point.rank == 0 ? time_reductions(o, true) : 0;
}

static const struct repetition_part round_trips_part = {.prepare = prepare, .time = time_round_trips, .finish = check};
static const struct repetition_part trains_part = {.prepare = prepare, .time = time_trains, .finish = check};
static const struct repetition_part delayed_part = {.prepare = prepare, .time = time_delayed_trains, .finish = check};
static const struct repetition_part receives_part = {.time = time_receives};
static const struct repetition_part reductions_part = {.time = time_both_reductions};
static const struct repetition_part *const parts[] = {&round_trips_part, &trains_part, &delayed_part, &receives_part,
                                                      &reductions_part};

static bool wrong(void *context) {
    const struct loggp *o = context;
    return o->wrong > 0;
}

/* ---- points ---- */

static int64_t between(int64_t least, int64_t value, int64_t most) {
    return value < least ? least : value > most ? most : value;
}

static int64_t time_of_round_trips(struct loggp *o, int64_t count) {
    const int64_t began = timer_now_ns();
    make_round_trips(o, count);
    return timer_now_ns() - began;
}

/* Collective over the pair. Returns on rank 0 about the time of a round trip, ns, the shortest of a few readings. */
static int64_t shortest_round_trip(struct loggp *o) {
    enum { READINGS = 5, MOST_OF_READING = 20 };
    int64_t shortest = INT64_MAX;
    make_round_trips(o, 1); /* connections are made */
    end_fast_beginning(o);
    int64_t count = between(1, PART_NS / (time_of_round_trips(o, 1) + 1), MOST_OF_READING);
    MPI_CHECK(MPI_Bcast(&count, 1, MPI_INT64_T, 0, o->point.comm));
    for (int i = 0; i < READINGS; i++) {
        const int64_t taken = time_of_round_trips(o, count) / count;
        shortest = taken < shortest ? taken : shortest;
    }
    return shortest > 0 ? shortest : 1;
}

/* A delay is longer than a round trip, so that every message and every answer has arrived when it ends. */
static void find_counts(struct loggp *o) {
    static const double longer = 1.5;
    enum { LEAST_DELAY_NS = 2000, LEAST_REDUCTION_NS_PER_KIB = 100 };
    int64_t counts[3] = {0};
    const int64_t round_trip_ns = shortest_round_trip(o);
    const int64_t delay_ns = (int64_t)(longer * (double)round_trip_ns) + LEAST_DELAY_NS;
    counts[0] = between(1, PART_NS / (round_trip_ns + delay_ns), MOST_ROUND_TRIPS);
    counts[1] = between(1, PART_NS / (LOGGP_TRAIN * (round_trip_ns + delay_ns)), MOST_ROUND_TRIPS);
    counts[2] = work_units(delay_ns);
    MPI_CHECK(MPI_Bcast(counts, 3, MPI_INT64_T, 0, o->point.comm));
    o->point.round_trips = counts[0];
    o->point.trains = counts[1];
    o->point.units = counts[2];
    const int64_t reduction_ns = (int64_t)o->point.message_bytes * LEAST_REDUCTION_NS_PER_KIB / 1024 + 20;
    o->point.reductions = between(1, PART_NS / 2 / reduction_ns, MOST_ROUND_TRIPS);
}

static bool begin(void *context, struct sampler_point *p) {
    struct loggp *o = context;
    const size_t pair = p->at[LOGGP_PAIR];
    p->comm = o->comms[pair];
    o->point.comm = p->comm;
    phase_enter(PHASE_CALL);
    if (p->comm != MPI_COMM_NULL) {
        MPI_CHECK(MPI_Comm_rank(p->comm, &o->point.rank));
        o->point.mark = 0; /* rank 0 has counted the repetitions with other partners, too */
        find_counts(o);
    }
    p->shortest_ns = PART_NS;
    return true;
}

static int64_t count_faults(void *context, char *text, size_t text_size) {
    const struct loggp *o = context;
    const int64_t faults = o->wrong;
    text[0] = '\0';
    if (faults > 0) {
        snprintf(text, text_size, "rank %d received %" PRId64 " messages with wrong contents", o->program->rank,
                 faults);
    }
    return group_share_faults(faults, text, text_size);
}

static const char *pair_name(const struct loggp *o, const struct sampler_point *p) {
    return loggp_pair_choices[o->pairs[p->at[LOGGP_PAIR]]].name;
}

struct row {
    const char *pair;
    int64_t message_bytes;
    int partner_rank;
    int64_t round_trips;
    int64_t trains;
    int64_t messages_of_train;
    int64_t reductions;
};

static const struct field parameter_fields[] = {
    FIELD(struct row, pair, "two ranks of a node, or of two nodes"),
    FIELD(struct row, message_bytes, "the size of the message"),
    FIELDS_END,
};

static const struct field own_fields[] = {
    FIELD(struct row, partner_rank, "the rank with which rank 0 exchanges messages"),
    FIELD(struct row, round_trips, "messages there and back of a part, and receives"),
    FIELD(struct row, trains, "trains of a part"),
    FIELD(struct row, messages_of_train, "messages of a train, without the one back"),
    FIELD(struct row, reductions, "calls of MPI_Reduce_local of a part"),
    FIELDS_END,
};

static void fill(void *context, const struct sampler_point *p, const sampler *s, void *row) {
    const struct loggp *o = context;
    *(struct row *)row = (struct row){.pair = pair_name(o, p),
                                      .message_bytes = o->point.message_bytes,
                                      .partner_rank = o->partners[p->at[LOGGP_PAIR]],
                                      .round_trips = o->point.round_trips,
                                      .trains = o->point.trains,
                                      .messages_of_train = LOGGP_TRAIN,
                                      .reductions = o->point.reductions};
}

static void name_point(void *context, const struct sampler_point *p, char *text, size_t text_size) {
    const struct loggp *o = context;
    snprintf(text, text_size, "%s, %" PRId64 " bytes", pair_name(o, p), (int64_t)o->point.message_bytes);
}

/* Of a whole part, on rank 0; T_SENDS on the rank that answers. */
enum {
    T_ROUND_TRIPS,
    T_TRAINS,
    T_DELAYED_TRAINS,
    T_DELAYS,
    T_RECEIVES,
    T_SENDS,
    T_HOT,
    T_COLD,
    ORDER,
    LATE_STARTS,
    SERIES
};
static const struct repetition_series series[SERIES] = {
    [T_ROUND_TRIPS] = {.name = "t_round_trips_ns",
                       .over = OVER_LARGEST,
                       .term = ROUND_TRIPS,
                       .stops = true,
                       .help = "of all exchanges of a part, on rank 0, as all of these: own.round_trips times a "
                               "message there and one back"},
    [T_TRAINS] = {.name = "t_trains_ns",
                  .over = OVER_LARGEST,
                  .term = TRAINS,
                  .stops = true,
                  .help = "own.trains times own.messages_of_train messages there, one after the other, and one back"},
    [T_DELAYED_TRAINS] = {.name = "t_delayed_trains_ns",
                          .over = OVER_LARGEST,
                          .term = DELAYED_TRAINS,
                          .help = "the same with work between two messages"},
    [T_DELAYS] = {.name = "t_delays_ns",
                  .over = OVER_LARGEST,
                  .term = DELAYS,
                  .help = "that work alone: own.trains times (own.messages_of_train - 1) delays"},
    [T_RECEIVES] = {.name = "t_receives_ns",
                    .over = OVER_LARGEST,
                    .term = RECEIVES,
                    .help =
                        "own.round_trips receives of a message that has arrived, each with one reading of the clock"},
    [T_SENDS] = {.name = "t_sends_ns",
                 .over = OVER_LARGEST,
                 .term = SENDS,
                 .help = "on the rank that answers: the own.round_trips sends of the messages of t_receives_ns, whose "
                         "receiver is late by a delay; left out in older records"},
    [T_HOT] = {.name = "t_reductions_hot_ns",
               .over = OVER_LARGEST,
               .term = HOT,
               .help = "own.reductions calls of MPI_Reduce_local, of 64-bit floating-point numbers, always with the "
                       "same operands"},
    [T_COLD] = {.name = "t_reductions_cold_ns",
                .over = OVER_LARGEST,
                .term = COLD,
                .help = "the same with operands in turn, which together are twice as large as the largest cache"},
    [ORDER] = {.name = "order", .over = OVER_ORDER},
    [LATE_STARTS] = {.name = "late_starts", .over = OVER_LATE},
};

/* ---- which sizes ---- */

/* Rank 0: whether the last point's messages waited for their receiver. A message that does not wait takes less than
 * half of a round trip, and a delay is more than 1.5 of them: so half a delay tells one from the other. The medians
 * alone decide; what is reported is judged by intervals, later, from the record (postprocess). */
static int waits_for_receiver(const struct loggp *o, const samples *all) {
    if (samples_count(all) == 0) {
        return CHANGES_UNKNOWN;
    }
    const double send_ns = (double)samples_median(all, T_SENDS) / (double)o->point.round_trips;
    const double delay_ns = (double)samples_median(all, T_DELAYS) / (double)(o->point.trains * (LOGGP_TRAIN - 1));
    return send_ns > delay_ns / 2;
}

/* Rank 0: whether the pair has one more size, which is set. Sizes that nobody asked for need time that is left. */
static bool next_size(const struct loggp *o, int64_t *bytes) {
    const struct budget budget = {.seconds = o->program->settings.budget_seconds, .began_ns = o->program->began};
    const bool spent = budget.seconds > 0 && budget_elapsed_seconds(&budget) >= budget.seconds;
    return changes_next(o->changes, bytes) && !(changes_has_asked(o->changes) && spent);
}

static changes *changes_of_pair(const struct loggp *o) {
    return changes_create(o->message_bytes, o->message_count, sizeof(double), true);
}

static bool next_point(void *context, const sampler *s, struct sampler_point *p) {
    struct loggp *o = context;
    int64_t next[2] = {-1, 0}; /* the pair, -1: there is none; the size */
    if (o->program->rank == 0) {
        if (p->index == 0) {
            o->changes = changes_of_pair(o);
        } else {
            changes_note(o->changes, o->point.message_bytes, waits_for_receiver(o, sampler_samples(s)));
        }
        if (!next_size(o, &next[1]) && ++o->pair < o->pair_count) {
            changes_destroy(o->changes);
            o->changes = changes_of_pair(o);
            next_size(o, &next[1]);
        }
        next[0] = o->pair < o->pair_count ? (int64_t)o->pair : -1;
    }
    MPI_CHECK(MPI_Bcast(next, 2, MPI_INT64_T, 0, MPI_COMM_WORLD));
    p->at[LOGGP_PAIR] = next[0] < 0 ? 0 : (size_t)next[0];
    o->point.message_bytes = (int)next[1];
    return next[0] >= 0;
}

/* On rank 0, whose answer counts. */
static double points_left(void *context) {
    const struct loggp *o = context;
    const double other_pairs = (double)(o->pair_count - o->pair) - 1;
    return o->changes != NULL ? (double)changes_left(o->changes) + other_pairs * (double)o->message_count : 1;
}

const struct sampler_kind loggp_points = {
    .samples = {.repeated = {.parts = parts,
                             .part_count = COUNT(parts),
                             .group = COUNT(parts),
                             .terms = TERMS,
                             .series = series,
                             .series_count = SERIES,
                             .wrong = wrong}},
    .next_point = next_point,
    .points_left = points_left,
    .begin = begin,
    .faults = count_faults,
    .parameters = parameter_fields,
    .own = own_fields,
    .row_bytes = sizeof(struct row),
    .fill = fill,
    .name = name_point,
};

/* Memory of operands: twice the largest cache, and at least two messages. */
static void make_operands(struct loggp *o, size_t largest_bytes) {
    const size_t cache = (size_t)topology_cache_bytes();
    const size_t bytes = 2 * cache > 2 * largest_bytes ? 2 * cache : 2 * largest_bytes;
    o->operand_count = bytes / sizeof *o->operands;
    o->operands = fail_alloc(o->operand_count, sizeof *o->operands);
    for (size_t i = 0; i < o->operand_count; i++) {
        o->operands[i] = 1.0;
    }
}

bool loggp_begin(struct program *program, void *context, sampler *s, char *reason, size_t reason_size) {
    struct loggp *o = context;
    size_t largest = 0;
    for (size_t i = 0; i < o->message_count; i++) {
        largest = (size_t)o->message_bytes[i] > largest ? (size_t)o->message_bytes[i] : largest;
    }
    for (size_t i = 0; i < o->pair_count; i++) {
        const bool member = program->rank == 0 || program->rank == o->partners[i];
        MPI_CHECK(MPI_Comm_split(MPI_COMM_WORLD, member ? 0 : MPI_UNDEFINED, program->rank, &o->comms[i]));
        if (member) {
            MPI_CHECK(MPI_Comm_set_errhandler(o->comms[i], MPI_ERRORS_RETURN));
        }
    }
    o->filler = fail_alloc(LOGGP_FILLER_BYTES, 1);
    o->sent = fail_alloc(largest, 1);
    o->received = fail_alloc(largest, 1);
    memset(o->filler, 1, LOGGP_FILLER_BYTES);
    memset(o->sent, 1, largest);
    memset(o->received, 1, largest);
    if (program->rank == 0) {
        make_operands(o, largest);
    }
    work_units(1); /* reads the CPU's speed */
    return true;
}

bool loggp_end(struct program *program, void *context, char *reason, size_t reason_size) {
    struct loggp *o = context;
    for (size_t i = 0; i < o->pair_count; i++) {
        if (o->comms[i] != MPI_COMM_NULL) {
            MPI_CHECK(MPI_Comm_free(&o->comms[i]));
        }
    }
    changes_destroy(o->changes);
    free(o->filler);
    free(o->sent);
    free(o->received);
    free(o->operands);
    return true;
}
