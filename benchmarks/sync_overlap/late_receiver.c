#include "late_receiver.h"

#include "fail.h"
#include "fail_mpi.h"
#include "group.h"
#include "pattern.h"
#include "phase.h"
#include "placement.h"
#include "stats.h"
#include "timer.h"

#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What each rank notes in a repetition. Names with _START, _RECV, _WAIT and _SEND are moments, local times: when the
 * part began, when the receiver had the message, when the sender called MPI_Wait or MPI_Isend. A rank that has no such
 * moment gives its start. */
enum term {
    START, /* the rank's own, of the first part */
    LATE_START,
    LATE_RECV,
    LATE_WAIT,
    WHOLE_START,
    WHOLE_RECV,
    WHOLE_SEND,
    ALONE_START,
    ALONE_RECV,
    ALONE_WAIT,
    ROUND_TRIP,      /* sender */
    ARRIVED_NEITHER, /* bytes; receiver */
    ARRIVED_SENDER,  /* bytes; receiver */
    ISEND,           /* sender: the time in MPI_Isend of the part `late` */
    DELAY,           /* the rank's own computation in the part `late` */
    TERMS
};

/* Indices of the first series. */
enum { T_RECV, T_WAIT, T_WHOLE_RECV, T_WHOLE_SEND };

enum { SENDER, RECEIVER };                 /* ranks of the pair */
enum { TAG_DATA = 1, TAG_TRIP, TAG_DONE }; /* TAG_DONE: the receiver has looked into its buffer */

/* A delay is at least so many times the shortest transfer, so that it is ten times the usual one. The sender waits an
 * eighth of it where the receive must be posted first. */
enum { DELAY_PER_TRANSFER = 12, LEAD_PER_DELAY = 8 };

/* About how many delays a repetition takes, and how many repetitions with the longest delay a budget has time for. */
enum { DELAYS_PER_REPETITION = 8, LEAST_REPETITIONS = STATS_FEWEST_WITHOUT_EXTREMES };

enum { TRANSFER_READINGS = 10, DELAY_UNIT_NS = 200000 };

/* Delays are made longer after so many parts out of order, to this many times at most. */
enum { DISORDERED_UNTIL_LONGER = 10, MOST_LENGTHENED = 8 };

/* ---- messages ---- */

static int words(const struct late_receiver *o) {
    return (int)(o->point.message_bytes / (int64_t)sizeof *o->contents);
}

/* Returns the moment, local time. */
static int64_t note(struct late_receiver *o, enum step step) {
    const int64_t now = timer_now_ns();
    o->steps[step] = now - o->agreed;
    return now;
}

/* Returns when MPI_Isend was called, local time. */
static int64_t isend(struct late_receiver *o, MPI_Request *request) {
    phase_enter(PHASE_CALL);
    const int64_t called = note(o, STEP_SENT);
    MPI_CHECK(MPI_Isend(o->contents + pattern_first(o->transfer), words(o), MPI_UINT64_T, RECEIVER, TAG_DATA, o->pair,
                        request));
    return called;
}

static void irecv(struct late_receiver *o, MPI_Request *request) {
    phase_enter(PHASE_CALL);
    MPI_CHECK(MPI_Irecv(o->received, words(o), MPI_UINT64_T, SENDER, TAG_DATA, o->pair, request));
    note(o, STEP_POSTED);
}

static void recv(struct late_receiver *o) {
    phase_enter(PHASE_WAIT);
    note(o, STEP_POSTED);
    MPI_CHECK(MPI_Recv(o->received, words(o), MPI_UINT64_T, SENDER, TAG_DATA, o->pair, MPI_STATUS_IGNORE));
}

static void wait_for(MPI_Request *request) {
    phase_enter(PHASE_WAIT);
    MPI_CHECK(MPI_Wait(request, MPI_STATUS_IGNORE));
}

static void send_nothing(const struct late_receiver *o, int to, int tag) {
    MPI_CHECK(MPI_Send(NULL, 0, MPI_BYTE, to, tag, o->pair));
}

static void recv_nothing(const struct late_receiver *o, int from, int tag) {
    MPI_CHECK(MPI_Recv(NULL, 0, MPI_BYTE, from, tag, o->pair, MPI_STATUS_IGNORE));
}

static void compute(const struct late_receiver *o, int64_t units) {
    phase_enter(PHASE_COMPUTATION);
    fixed_work_do(&o->delay, units);
}

/* The sender computes for a moment, in which the receiver posts its receive. */
static void lead(const struct late_receiver *o) {
    compute(o, o->point.units / LEAD_PER_DELAY + 1);
}

/* Returns the number of words of the receive buffer that are not those of the last message. */
static uint64_t count_missing(const struct late_receiver *o, struct pattern_fault *fault) {
    return pattern_check_words(o->received, (size_t)words(o), o->plan->seed, SENDER, pattern_first(o->transfer), fault);
}

/* Returns how many bytes of the message are in the receive buffer, while the request is open. */
static int64_t arrived_bytes(struct late_receiver *o) {
    struct pattern_fault fault;
    note(o, STEP_LOOKS);
    atomic_thread_fence(memory_order_seq_cst);
    const int64_t missing = (int64_t)count_missing(o, &fault);
    note(o, STEP_HAS_LOOKED);
    return o->point.message_bytes - missing * (int64_t)sizeof *o->received;
}

static void check(struct late_receiver *o) {
    struct pattern_fault fault = {.count = 0};
    if (!o->receives) {
        return;
    }
    phase_enter(PHASE_CHECK);
    const uint64_t wrong = count_missing(o, &fault);
    if (wrong > 0 && o->faults.count == 0) {
        snprintf(o->faults.text, sizeof o->faults.text,
                 "rank %d: wrong data in word %zu of %d (message %" PRIu64 "): received 0x%016" PRIx64
                 ", expected 0x%016" PRIx64,
                 o->program->rank, fault.position, words(o), o->transfer, fault.got_word, fault.expected_word);
    }
    o->faults.count += (int64_t)wrong;
}

/* ---- parts of a repetition ---- */

static void prepare(void *context) {
    struct late_receiver *o = context;
    o->transfer++;
}

/* Starts with the other ranks. Returns when, local time. */
static int64_t start(struct late_receiver *o, start_line *line) {
    memset(o->steps, 0, sizeof o->steps);
    o->line = line;
    const int64_t began = start_spin(line);
    o->agreed = start_moment(line);
    if (o->program->helper != NULL) {
        helper_progress(o->program->helper, o->probed);
    }
    return began;
}

static void stop_helper(const struct late_receiver *o) {
    if (o->program->helper != NULL) {
        phase_enter(PHASE_HELPER);
        helper_rest(o->program->helper);
    }
}

static bool sends_early(const struct late_receiver *o) {
    return o->plan->send == SEND_EARLY;
}

/* Both ranks of the pair: each learns the other's steps. */
static void share_steps(struct late_receiver *o) {
    phase_enter(PHASE_GATHER);
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, o->steps, STEPS, MPI_INT64_T, MPI_SUM, o->pair));
}

/* kept: the steps of the part came in the order of the plan. */
static void count_if(struct late_receiver *o, bool kept) {
    if (!kept) {
        o->disordered++;
        start_spoil(o->line);
    }
}

static bool posted_before_sent(const struct late_receiver *o) {
    return o->steps[STEP_POSTED] < o->steps[STEP_SENT];
}

/* Whether the message had half a delay to arrive before the receiver looked. The control's is sent later. */
static bool had_time(const struct late_receiver *o) {
    return !sends_early(o) || o->steps[STEP_LOOKS] - o->steps[STEP_SENT] >= o->point.delay_ns / 2;
}

/* The receiver must be late, but earlier than the sender's MPI_Wait. */
static void finish_late(void *context) {
    struct late_receiver *o = context;
    check(o);
    share_steps(o);
    count_if(o, o->steps[STEP_POSTED] < o->steps[STEP_COMPUTED] && (!sends_early(o) || !posted_before_sent(o)));
}

static void finish_posted_first(void *context) {
    struct late_receiver *o = context;
    check(o);
    share_steps(o);
    count_if(o, posted_before_sent(o));
}

static void finish_neither(void *context) {
    struct late_receiver *o = context;
    check(o);
    share_steps(o);
    count_if(o, posted_before_sent(o) && had_time(o) && o->steps[STEP_HAS_LOOKED] < o->steps[STEP_COMPUTED]);
}

static void finish_sender(void *context) {
    struct late_receiver *o = context;
    check(o);
    share_steps(o);
    count_if(o, posted_before_sent(o) && had_time(o));
}

static void time_late(void *context, start_line *line, struct repetition *r) {
    struct late_receiver *o = context;
    MPI_Request request = MPI_REQUEST_NULL;
    const int64_t began = start(o, line);
    r->terms[START] = began;
    r->terms[LATE_START] = r->terms[LATE_RECV] = r->terms[LATE_WAIT] = o->agreed;
    if (o->sends) {
        if (sends_early(o)) {
            isend(o, &request);
        }
        const int64_t sent = timer_now_ns();
        compute(o, 2 * o->point.units);
        r->terms[LATE_WAIT] = note(o, STEP_COMPUTED);
        if (!sends_early(o)) {
            isend(o, &request);
        }
        wait_for(&request);
        r->terms[ISEND] = sent - began;
        r->terms[DELAY] = r->terms[LATE_WAIT] - sent;
    } else {
        compute(o, o->point.units);
        r->terms[DELAY] = timer_now_ns() - began;
        recv(o);
        r->terms[LATE_RECV] = timer_now_ns();
    }
    stop_helper(o);
}

static void time_whole(void *context, start_line *line, struct repetition *r) {
    struct late_receiver *o = context;
    MPI_Request request = MPI_REQUEST_NULL;
    start(o, line);
    r->terms[WHOLE_START] = r->terms[WHOLE_RECV] = r->terms[WHOLE_SEND] = o->agreed;
    if (o->sends) {
        compute(o, o->point.units);
        r->terms[WHOLE_SEND] = isend(o, &request);
        wait_for(&request);
    } else {
        recv(o);
        r->terms[WHOLE_RECV] = timer_now_ns();
    }
    stop_helper(o);
}

static void time_trip(void *context, start_line *line, struct repetition *r) {
    struct late_receiver *o = context;
    start(o, line);
    phase_enter(PHASE_CALL);
    if (o->sends) {
        send_nothing(o, RECEIVER, TAG_TRIP);
        recv_nothing(o, RECEIVER, TAG_TRIP);
        r->terms[ROUND_TRIP] = timer_now_ns() - o->agreed;
    } else {
        recv_nothing(o, SENDER, TAG_TRIP);
        send_nothing(o, SENDER, TAG_TRIP);
    }
    stop_helper(o);
}

/* The sender computes twice as long as the receiver, so that it is not inside MPI when the receiver looks. */
static void time_neither(void *context, start_line *line, struct repetition *r) {
    struct late_receiver *o = context;
    MPI_Request request = MPI_REQUEST_NULL;
    start(o, line);
    if (o->sends) {
        lead(o);
        if (sends_early(o)) {
            isend(o, &request);
        }
        compute(o, 2 * o->point.units);
        note(o, STEP_COMPUTED);
        if (!sends_early(o)) {
            isend(o, &request);
        }
    } else {
        irecv(o, &request);
        compute(o, o->point.units);
        r->terms[ARRIVED_NEITHER] = arrived_bytes(o);
    }
    wait_for(&request);
    stop_helper(o);
}

static void time_sender(void *context, start_line *line, struct repetition *r) {
    struct late_receiver *o = context;
    MPI_Request request = MPI_REQUEST_NULL;
    start(o, line);
    if (o->sends) {
        lead(o);
        if (sends_early(o)) {
            isend(o, &request);
            wait_for(&request);
        }
        recv_nothing(o, RECEIVER, TAG_DONE);
        if (!sends_early(o)) {
            isend(o, &request);
            wait_for(&request);
        }
    } else {
        irecv(o, &request);
        compute(o, o->point.units);
        r->terms[ARRIVED_SENDER] = arrived_bytes(o);
        send_nothing(o, SENDER, TAG_DONE);
        wait_for(&request);
    }
    stop_helper(o);
}

static void time_receiver(void *context, start_line *line, struct repetition *r) {
    struct late_receiver *o = context;
    MPI_Request request = MPI_REQUEST_NULL;
    start(o, line);
    r->terms[ALONE_START] = r->terms[ALONE_RECV] = r->terms[ALONE_WAIT] = o->agreed;
    if (o->sends) {
        lead(o);
        if (sends_early(o)) {
            isend(o, &request);
        }
        compute(o, o->point.units);
        r->terms[ALONE_WAIT] = timer_now_ns();
        if (!sends_early(o)) {
            isend(o, &request);
        }
        wait_for(&request);
    } else {
        irecv(o, &request);
        wait_for(&request);
        r->terms[ALONE_RECV] = timer_now_ns();
    }
    stop_helper(o);
}

static const struct repetition_part late_part = {.prepare = prepare, .time = time_late, .finish = finish_late};
static const struct repetition_part whole_part = {
    .prepare = prepare, .time = time_whole, .finish = finish_posted_first};
static const struct repetition_part trip_part = {.time = time_trip};
static const struct repetition_part neither_part = {.prepare = prepare, .time = time_neither, .finish = finish_neither};
static const struct repetition_part sender_part = {.prepare = prepare, .time = time_sender, .finish = finish_sender};
static const struct repetition_part receiver_part = {
    .prepare = prepare, .time = time_receiver, .finish = finish_posted_first};
static const struct repetition_part *const parts[] = {&late_part,    &whole_part,  &trip_part,
                                                      &neither_part, &sender_part, &receiver_part};

static bool wrong(void *context) {
    const struct late_receiver *o = context;
    return o->faults.count > 0;
}

static int64_t count_faults(void *context, char *text, size_t text_size) {
    const struct late_receiver *o = context;
    const int64_t faults = o->faults.count;
    snprintf(text, text_size, "%s", o->faults.text);
    return group_share_faults(faults, text, text_size);
}

/* ---- points ---- */

/* Rank 0: the outcome of the last point, by which the search finds where outcomes change. The medians alone decide;
 * what is reported is judged by their intervals, later, from the record. A quarter of the transfer is what a change
 * must be worth to be searched. */
static int guess_outcome(const samples *all) {
    enum { FULL, INCOMPLETE, NONE };
    const int64_t after_wait = samples_median(all, T_RECV) - samples_median(all, T_WAIT);
    const int64_t whole = samples_median(all, T_WHOLE_RECV) - samples_median(all, T_WHOLE_SEND);
    return after_wait < 0 ? FULL : after_wait < whole - whole / 4 ? INCOMPLETE : NONE;
}

/* Whether there is no time for sizes that nobody asked for. */
static bool is_spent(const struct budget *budget) {
    return budget->seconds > 0 && budget_elapsed_seconds(budget) >= budget->seconds;
}

static bool next_point(void *context, const sampler *s, struct sampler_point *p) {
    struct late_receiver *o = context;
    int64_t next[2] = {0, 0}; /* whether there is one, and its size */
    if (o->program->rank == 0) {
        if (p->index > 0) {
            const bool measured = samples_count(sampler_samples(s)) > 0;
            changes_note(o->changes, o->point.message_bytes,
                         measured ? guess_outcome(sampler_samples(s)) : CHANGES_UNKNOWN);
        }
        next[0] = changes_next(o->changes, &next[1]) && !(changes_has_asked(o->changes) && is_spent(&o->plan->budget));
    }
    MPI_CHECK(MPI_Bcast(next, 2, MPI_INT64_T, 0, MPI_COMM_WORLD));
    o->point.message_bytes = next[1];
    return next[0] != 0;
}

/* On rank 0, whose answer counts. */
static double points_left(void *context) {
    const struct late_receiver *o = context;
    return o->changes != NULL ? (double)changes_left(o->changes) : 1;
}

/* Both ranks of the pair: the shortest time of a message and an empty answer, where both wait for it, ns: one in which
 * a rank was preempted does not count. The first message makes connections and buffers, and does not count either. */
static int64_t time_transfer(struct late_receiver *o) {
    int64_t shortest = INT64_MAX;
    for (int i = 0; i <= TRANSFER_READINGS; i++) {
        MPI_Request request = MPI_REQUEST_NULL;
        prepare(o);
        MPI_CHECK(MPI_Barrier(o->pair));
        const int64_t began = timer_now_ns();
        if (o->sends) {
            isend(o, &request);
            wait_for(&request);
            recv_nothing(o, RECEIVER, TAG_DONE);
        } else {
            recv(o);
            send_nothing(o, SENDER, TAG_DONE);
        }
        const int64_t taken = timer_now_ns() - began;
        shortest = i > 0 && taken < shortest ? taken : shortest;
        check(o);
    }
    return shortest;
}

/* Returns how late the receiver is to be, ns. Where all readings of the transfer were slow, as on a crowded machine,
 * the delay that they ask for could take longer than the whole run may. It is limited by the budget, which is the same
 * on all ranks; a point whose delay is too short for its transfer is not reliable. */
static int64_t choose_delay(const struct late_receiver_plan *plan, int64_t transfer_ns, int64_t lengthened) {
    const double per_run = DELAYS_PER_REPETITION * LEAST_REPETITIONS;
    const double wanted =
        (double)lengthened * fmax((double)DELAY_PER_TRANSFER * (double)transfer_ns, (double)plan->least_delay_ns);
    const double longest = plan->budget.seconds > 0 ? plan->budget.seconds * 1e9 / per_run : wanted;
    const int64_t longer = (int64_t)(wanted < longest ? wanted : longest);
    return longer > plan->least_delay_ns ? longer : plan->least_delay_ns;
}

static bool sends_never(const struct late_receiver *o) {
    return o->plan->send == SEND_NEVER;
}

/* A progress thread on the core of its rank may let no repetition be in order: that is what was found. */
static bool may_be_empty(void *context) {
    const struct late_receiver *o = context;
    return sends_never(o) || o->shares_core;
}

static bool begin(void *context, struct sampler_point *p) {
    struct late_receiver *o = context;
    o->disordered = 0;
    if (sends_never(o)) {
        o->point.delay_ns = o->plan->least_delay_ns;
        o->point.units = fixed_work_units(&o->delay, o->point.delay_ns);
        return false;
    }
    const bool takes_part = o->pair != MPI_COMM_NULL;
    o->point.transfer_ns = takes_part ? time_transfer(o) : 0;
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &o->point.transfer_ns, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD));
    o->point.delay_ns = choose_delay(o->plan, o->point.transfer_ns, o->lengthened);
    o->point.units = fixed_work_units(&o->delay, o->point.delay_ns);
    p->shortest_ns = o->point.transfer_ns;
    p->comm = takes_part ? MPI_COMM_WORLD : MPI_COMM_NULL;
    return true;
}

/* Whether longer delays would help: most parts were out of order, and the budget has time for delays twice as long. */
static bool doubts(void *context, const struct sampler_point *p, const sampler *s) {
    const struct late_receiver *o = context;
    const bool mostly =
        o->disordered >= DISORDERED_UNTIL_LONGER && o->disordered > (int64_t)samples_count(sampler_samples(s));
    return mostly && o->lengthened < MOST_LENGTHENED &&
           choose_delay(o->plan, o->point.transfer_ns, 2 * o->lengthened) > o->point.delay_ns;
}

static enum sampler_review review(void *context, struct sampler_point *p, const sampler *s) {
    struct late_receiver *o = context;
    int again = o->program->rank == 0 && doubts(o, p, s);
    MPI_CHECK(MPI_Bcast(&again, 1, MPI_INT, 0, MPI_COMM_WORLD));
    o->lengthened *= again != 0 ? 2 : 1;
    return again != 0 ? SAMPLER_BEGIN_AGAIN : SAMPLER_ACCEPT;
}

struct row {
    int64_t message_bytes;
    int64_t delay_ns;
    int64_t delay_units;
    int64_t transfer_ns;
    int64_t idle_pss_total_bytes;
    int64_t idle_pss_largest_bytes;
    int64_t idle_pss_anonymous_bytes;
    int64_t idle_pss_shared_bytes;
};

static const struct field parameter_fields[] = {
    FIELD(struct row, message_bytes, "the size of the message"),
    FIELDS_END,
};

static const struct field own_fields[] = {
    FIELD(struct row, delay_ns, "the delay that was aimed at: the least one, or ten times transfer_ns"),
    FIELD(struct row, delay_units, "the units of work of a delay"),
    FIELD(struct row, transfer_ns,
          "the shortest of ten times of the message and an empty answer, before the repetitions"),
    FIELD_OR_NULL(struct row, idle_pss_total_bytes,
                  "memory (PSS) of all ranks after every pair exchanged a word, before the points and the message "
                  "buffers; null where the kernel does not tell"),
    FIELD_OR_NULL(struct row, idle_pss_largest_bytes, "that of the rank with the most"),
    FIELD_OR_NULL(struct row, idle_pss_anonymous_bytes,
                  "of idle_pss_total_bytes, the memory of one process each: the heap; left out by older records"),
    FIELD_OR_NULL(struct row, idle_pss_shared_bytes,
                  "of idle_pss_total_bytes, shared memory; the rest is of files; left out by older records"),
    FIELDS_END,
};

static void fill(void *context, const struct sampler_point *p, const sampler *s, void *row) {
    const struct late_receiver *o = context;
    *(struct row *)row = (struct row){.message_bytes = o->point.message_bytes,
                                      .delay_ns = o->point.delay_ns,
                                      .delay_units = o->point.units,
                                      .transfer_ns = o->point.transfer_ns,
                                      .idle_pss_total_bytes = o->memory.total_bytes,
                                      .idle_pss_largest_bytes = o->memory.largest_bytes,
                                      .idle_pss_anonymous_bytes = o->memory.anonymous_bytes,
                                      .idle_pss_shared_bytes = o->memory.shared_bytes};
}

static void name_point(void *context, const struct sampler_point *p, char *text, size_t text_size) {
    const struct late_receiver *o = context;
    snprintf(text, text_size, "%" PRId64 " bytes", o->point.message_bytes);
}

/* ---- the table for people ---- */

static void print_head(void *context) {
    printf(
        "# medians, us from the common start; arrived: bytes that were there with nobody, and with the sender alone, "
        "inside MPI\n"
        "%12s %10s %10s %10s %10s %12s %12s  reps  stop\n",
        "bytes", "recv", "wait", "whole", "trip", "arrived", "arrived_s");
    fflush(stdout);
}

enum { SHOWN_TRIP = 4, SHOWN_NEITHER = 7, SHOWN_SENDER = 8 };

static void print_row(void *context, const struct sampler_point *p, const sampler *s,
                      const struct record_point *record) {
    const struct late_receiver *o = context;
    const samples *all = sampler_samples(s);
    printf("%12" PRId64 " ", o->point.message_bytes);
    if (record->repetitions > 0) {
        const int64_t whole = samples_median(all, T_WHOLE_RECV) - samples_median(all, T_WHOLE_SEND);
        printf("%10.1f %10.1f %10.1f %10.1f %12" PRId64 " %12" PRId64, (double)samples_median(all, T_RECV) / 1e3,
               (double)samples_median(all, T_WAIT) / 1e3, (double)whole / 1e3,
               (double)samples_median(all, SHOWN_TRIP) / 1e3, samples_median(all, SHOWN_NEITHER),
               samples_median(all, SHOWN_SENDER));
    }
    printf(" %5zu  %s%s\n", record->repetitions, p->stop_reason, record->data_errors > 0 ? " WRONG-DATA" : "");
    fflush(stdout);
}

static const struct repetition_series series[] = {
    [T_RECV] = {.name = "t_recv_ns",
                .over = OVER_SPAN,
                .term = LATE_START,
                .end = LATE_RECV,
                .stops = true,
                .help = "when MPI_Recv completed, which was called after a delay; this and the other moments are since "
                        "the start of the part, that of the first of both ranks"},
    [T_WAIT] = {.name = "t_wait_ns",
                .over = OVER_SPAN,
                .term = LATE_START,
                .end = LATE_WAIT,
                .help = "when the sender called MPI_Wait, after MPI_Isend and two delays"},
    [T_WHOLE_RECV] = {.name = "t_whole_recv_ns",
                      .over = OVER_SPAN,
                      .term = WHOLE_START,
                      .end = WHOLE_RECV,
                      .help = "reference: when MPI_Recv completed, which was called at once"},
    [T_WHOLE_SEND] = {.name = "t_whole_send_ns",
                      .over = OVER_SPAN,
                      .term = WHOLE_START,
                      .end = WHOLE_SEND,
                      .help = "reference: when the sender called MPI_Isend, after a delay"},
    [SHOWN_TRIP] = {.name = "t_round_trip_ns",
                    .over = OVER_LARGEST,
                    .term = ROUND_TRIP,
                    .help = "a message of nothing, there and back"},
    {.name = "t_receiver_recv_ns",
     .over = OVER_SPAN,
     .term = ALONE_START,
     .end = ALONE_RECV,
     .help = "when the receive completed, where the receiver was inside MPI from the beginning and the sender "
             "computed"},
    {.name = "t_receiver_wait_ns",
     .over = OVER_SPAN,
     .term = ALONE_START,
     .end = ALONE_WAIT,
     .help = "when the sender called MPI_Wait in that part"},
    [SHOWN_NEITHER] = {.name = "arrived_neither_bytes",
                       .over = OVER_LARGEST,
                       .term = ARRIVED_NEITHER,
                       .help = "bytes of the message in the receive buffer after a delay in which neither rank was "
                               "inside MPI"},
    [SHOWN_SENDER] = {.name = "arrived_sender_bytes",
                      .over = OVER_LARGEST,
                      .term = ARRIVED_SENDER,
                      .help = "the same, where the sender was inside MPI"},
    {.name = "start_imbalance_ns", .over = OVER_IMBALANCE, .term = START},
    {.name = "order", .over = OVER_ORDER},
    {.name = "late_starts", .over = OVER_LATE},
};

static const struct samples_sum rank_medians[] = {
    {"t_isend_ns", 1, {ISEND}, "the sender's time in MPI_Isend; 0 of the other ranks"},
    {"t_delay_ns", 1, {DELAY}, "the rank's own computation: two delays of the sender, one of the receiver"},
};

const struct sampler_kind late_receiver_points = {
    .samples = {.repeated = {.parts = parts,
                             .part_count = COUNT(parts),
                             .group = COUNT(parts),
                             .terms = TERMS,
                             .series = series,
                             .series_count = COUNT(series),
                             .wrong = wrong,
                             .spoils = true},
                .rank_medians = rank_medians,
                .rank_median_count = COUNT(rank_medians)},
    .next_point = next_point,
    .points_left = points_left,
    .begin = begin,
    .doubts = doubts,
    .review = review,
    .faults = count_faults,
    .parameters = parameter_fields,
    .own = own_fields,
    .row_bytes = sizeof(struct row),
    .fill = fill,
    .name = name_point,
    .print_head = print_head,
    .print_row = print_row,
    .may_be_empty = may_be_empty,
};

/* ---- before and after the points ---- */

static size_t largest_words(const struct late_receiver_plan *plan) {
    int64_t most = 0;
    for (size_t i = 0; i < plan->message_count; i++) {
        most = plan->message_bytes[i] > most ? plan->message_bytes[i] : most;
    }
    return (size_t)most / sizeof(uint64_t);
}

/* Starts with the word of no message, so that what has not arrived is seen as that. */
static uint64_t *make_words(size_t count) {
    uint64_t *made = fail_alloc(count > 0 ? count : 1, sizeof *made);
    memset(made, 0, count * sizeof *made);
    return made;
}

bool late_receiver_begin(struct program *program, void *context, sampler *s, char *reason, size_t reason_size) {
    struct late_receiver *o = context;
    const size_t most = largest_words(o->plan);
    o->program = program;
    o->lengthened = 1;
    o->shares_core = placement_summarise(program->place).shared_core;
    o->sends = program->rank == o->plan->sender;
    o->receives = program->rank == o->plan->receiver;
    o->changes = program->rank == 0 ? changes_create(o->plan->message_bytes, o->plan->message_count,
                                                     (int64_t)sizeof(uint64_t), o->plan->bisects)
                                    : NULL;
    MPI_CHECK(MPI_Comm_split(MPI_COMM_WORLD, o->sends || o->receives ? 0 : MPI_UNDEFINED, program->rank, &o->pair));
    o->memory = idle_memory_measure();
    o->probed = MPI_COMM_NULL;
    if (program->helper != NULL) {
        MPI_CHECK(MPI_Comm_dup(MPI_COMM_SELF, &o->probed));
    }
    if (o->sends) {
        o->contents = make_words(most + PATTERN_PADDING);
        pattern_fill_words(o->contents, most + PATTERN_PADDING, o->plan->seed, SENDER, 0);
    }
    if (o->receives) {
        o->received = make_words(most);
    }
    o->delay = fixed_work_create(program->team, program->computation, DELAY_UNIT_NS);
    return true;
}

bool late_receiver_end(struct program *program, void *context, char *reason, size_t reason_size) {
    struct late_receiver *o = context;
    changes_destroy(o->changes);
    free(o->contents);
    free(o->received);
    if (o->probed != MPI_COMM_NULL) {
        MPI_CHECK(MPI_Comm_free(&o->probed));
    }
    if (o->pair != MPI_COMM_NULL) {
        MPI_CHECK(MPI_Comm_free(&o->pair));
    }
    return true;
}
