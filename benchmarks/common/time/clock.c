#include "clock.h"

#include "clock_fit.h"
#include "echo.h"
#include "fail.h"
#include "fail_mpi.h"
#include "group.h"
#include "phase.h"
#include "record.h"
#include "timer.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Round trips of one measurement: as many as fit the time, between these bounds. On a quiet node 100 take 50 us; where
 * ranks share a core, each can take a time slice. */
enum { FEWEST_TRIPS = 5, MOST_TRIPS = 100, MOST_TRIPS_OF_SOCKETS = 40 };
#define TRIPS_NS INT64_C(20000000)

/* The shortest tenth of the trips is averaged: a short trip had no delay that could be asymmetric. */
enum { SHORTEST_OF = 10 };

/* Two ranks share a clock when what the exchange sees is within its own error (half the shortest trip) and this. */
#define SHARED_NS 1000.0

/* An offset of a shared clock that exceeds the error by more than this is no measurement error. */
#define NOT_SHARED_NS 10e3

/* A measurement that does not fit is made so many times in all. */
enum { LOOKS = 3 };

/* The error that an extrapolated deadline may have. */
#define RESIDUAL_BUDGET_NS 1000.0
#define LEAST_INTERVAL_NS INT64_C(500000000)
#define MOST_INTERVAL_NS INT64_C(30000000000)

#define FIRST_BASELINE_SECONDS 1.0
enum { STEPS_OF_BASELINE = 8 };

/* No oscillator drifts by more than this: where the line says so, its measurements are wrong. A baseline is measured so
 * many times in all. */
#define MOST_DRIFT_PPM 500.0
enum { BASELINES = 3 };

/* Readings of each rank's clock that must ascend before it is used: a millisecond or so. */
enum { MONOTONIC_READINGS = 20000 };

enum { TAG = 71, MOST_REFUSAL = 256 };

/* What the one that asks wants: an answer; the card of the other; answers through its socket until it wants anything
 * else; nothing any more. */
enum { QUESTION, CARD, SOCKET, DONE };

/* So often the one that answers through its socket looks for another message. */
enum { LOOK_MS = 1 };

/* So many questions through sockets may be without an answer in one measurement. */
enum { MOST_LOST = 3 };

struct clock_model {
    MPI_Comm world;
    MPI_Comm group;   /* ranks that share one clock; its rank 0 leads it */
    MPI_Comm leaders; /* rank 0 first; MPI_COMM_NULL for the others */
    echo *echo;       /* of a leader, where there are several: another way than MPI to its parent and children */
    int rank;
    int ranks;
    struct clock_fit fit;           /* offsets of this group's clock; the same on all its ranks */
    char refusal[MOST_REFUSAL];     /* agreed by all */
    char own_refusal[MOST_REFUSAL]; /* of this rank, not told yet */
    struct clock_quality quality;
    int64_t interval_ns;
};

const char *clock_method_name(enum clock_method method) {
    return record_clock_methods[method];
}

__attribute__((format(printf, 2, 3))) static void refuse(clock_model *model, const char *format, ...) {
    if (model->own_refusal[0] == '\0') {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(model->own_refusal, sizeof model->own_refusal, format, arguments);
        va_end(arguments);
        char host[256] = "";
        const size_t used = strlen(model->own_refusal);
        if (gethostname(host, sizeof host - 1) == 0) {
            snprintf(model->own_refusal + used, sizeof model->own_refusal - used, "; rank %d is on %.64s", model->rank,
                     host);
        }
    }
}

/* ---- two ranks ---- */

static int64_t length_of(const struct echo_trip *trip) {
    return trip->received - trip->sent - (trip->answered - trip->reached);
}

static int compare_trips(const void *left, const void *right) {
    const int64_t first = length_of(left);
    const int64_t second = length_of(right);
    return (first > second) - (first < second);
}

static void tell(MPI_Comm comm, int partner, int what) {
    MPI_CHECK(MPI_Send(&what, 1, MPI_INT, partner, TAG, comm));
}

/* A round trip by messages of MPI. */
static void ask(MPI_Comm comm, int partner, struct echo_trip *trip) {
    trip->sent = timer_now_ns();
    tell(comm, partner, QUESTION);
    MPI_CHECK(MPI_Recv(&trip->answered, 1, MPI_INT64_T, partner, TAG, comm, MPI_STATUS_IGNORE));
    trip->received = timer_now_ns();
    trip->reached = trip->answered;
}

static void refuse_backwards(clock_model *model, const struct echo_trip *trip, const struct echo_trip *before) {
    if (trip->received < trip->sent) {
        refuse(model, "the clock of rank %d goes backwards, by %" PRId64 " ns", model->rank,
               trip->sent - trip->received);
    } else if (before != NULL && trip->answered < before->answered) {
        refuse(model,
               "the clock of rank %d, or of the one that it was asked against, goes backwards, by %" PRId64 " ns",
               model->rank, before->answered - trip->answered);
    }
}

/* Round trips to a partner, through sockets or by messages; fewer than FEWEST_TRIPS where sockets do not answer.
 * Returns their number. */
static int make_trips(clock_model *model, MPI_Comm comm, int partner, bool sockets, struct echo_trip *trips) {
    const int most = sockets ? MOST_TRIPS_OF_SOCKETS : MOST_TRIPS;
    const int64_t begin = timer_now_ns();
    int count = 0;
    int lost = 0;
    if (sockets) {
        tell(comm, partner, SOCKET);
    }
    while (count < most && lost < MOST_LOST && (count < FEWEST_TRIPS || timer_now_ns() - begin < TRIPS_NS)) {
        struct echo_trip *trip = &trips[count];
        if (!sockets) {
            ask(comm, partner, trip);
        } else if (!echo_ask(model->echo, trip)) {
            lost++;
            continue;
        }
        refuse_backwards(model, trip, count > 0 ? trip - 1 : NULL);
        count++;
    }
    return count;
}

/* The side that asks: the offset of the partner's clock to this rank's. Both the time and the offset are means over the
 * shortest trips, so that they lie on one line whatever the drift. */
static struct clock_point measure_offset(clock_model *model, MPI_Comm comm, int partner) {
    struct echo_trip trips[MOST_TRIPS];
    const bool sockets = model->echo != NULL && comm == model->leaders && echo_found(model->echo);
    const int64_t begin = timer_now_ns();
    int count = make_trips(model, comm, partner, sockets, trips);
    if (count < FEWEST_TRIPS) {
        count = make_trips(model, comm, partner, false, trips);
    }
    qsort(trips, (size_t)count, sizeof *trips, compare_trips);
    int shortest = (count + SHORTEST_OF - 1) / SHORTEST_OF;
    double local = 0;
    double offset = 0;
    double length = 0; /* the offset is known to within half of it, for sure */
    for (int i = 0; i < shortest; i++) {
        const struct echo_trip *trip = &trips[i];
        local += ((double)(trip->sent - begin) + (double)(trip->received - begin)) / 2 / shortest;
        offset += ((double)(trip->reached - trip->sent) + (double)(trip->answered - trip->received)) / 2 / shortest;
        length += (double)length_of(trip) / shortest;
    }
    return (struct clock_point){begin + (int64_t)llround(local), offset, length};
}

static int64_t corrected(const struct clock_fit *fit, int64_t local) {
    return fit != NULL ? local + (int64_t)llround(clock_fit_predict(fit, local)) : local;
}

/* Answers through the socket until the partner sends a message. */
static void answer_through_socket(clock_model *model, MPI_Comm comm, int partner, const struct clock_fit *fit) {
    for (int told = 0; !told;) {
        struct echo_question question;
        if (echo_wait(model->echo, LOOK_MS, &question)) {
            int64_t answered = echo_answer(model->echo, &question);
            echo_follow_up(model->echo, &question, corrected(fit, question.reached), corrected(fit, answered));
        } else {
            MPI_CHECK(MPI_Iprobe(partner, TAG, comm, &told, MPI_STATUS_IGNORE));
        }
    }
}

/* The side that answers, until the other is done: this rank's clock, corrected by fit unless that is NULL. */
static void answer_offset(clock_model *model, MPI_Comm comm, int partner, const struct clock_fit *fit) {
    for (int wanted = QUESTION; wanted != DONE;) {
        MPI_CHECK(MPI_Recv(&wanted, 1, MPI_INT, partner, TAG, comm, MPI_STATUS_IGNORE));
        if (wanted == QUESTION) {
            int64_t now = corrected(fit, timer_now_ns());
            MPI_CHECK(MPI_Send(&now, 1, MPI_INT64_T, partner, TAG, comm));
        } else if (wanted == CARD) {
            struct echo_card card = echo_card_of(model->echo);
            MPI_CHECK(MPI_Send(&card, sizeof card, MPI_BYTE, partner, TAG, comm));
        } else if (wanted == SOCKET) {
            answer_through_socket(model, comm, partner, fit);
        }
    }
}

/* ---- a tree of ranks ---- */

static int rounds_of(int size) {
    int rounds = 0;
    while (INT64_C(1) << rounds < size) {
        rounds++;
    }
    return rounds;
}

/*
 * Binomial tree from rank 0 of comm: in round k the ranks below 2^k, which know, answer those 2^k above them.
 * ask(model, comm, parent, context) runs on the one that asks; answers are corrected by fit, which the asking may have
 * changed.
 */
typedef void tree_ask(clock_model *model, MPI_Comm comm, int parent, void *context);

static void walk_tree(clock_model *model, MPI_Comm comm, tree_ask *ask, void *context, const struct clock_fit *fit) {
    int own = 0;
    int size = 0;
    MPI_CHECK(MPI_Comm_rank(comm, &own));
    MPI_CHECK(MPI_Comm_size(comm, &size));
    for (int round = 0; round < rounds_of(size); round++) {
        int64_t distance = INT64_C(1) << round;
        if (own < distance && own + distance < size) {
            answer_offset(model, comm, (int)(own + distance), fit);
        } else if (own >= distance && own < 2 * distance) {
            ask(model, comm, (int)(own - distance), context);
            tell(comm, (int)(own - distance), DONE);
        }
    }
}

/* Between groups. The line so far says what to expect; what is far from it is measured again, in case it was only
 * disturbed. */
struct between {
    struct clock_fit fit; /* a copy: with the new measurement, when there is one */
    struct clock_point point;
};

static void ask_between(clock_model *model, MPI_Comm comm, int parent, void *context) {
    struct between *between = context;
    double excess = 0;
    for (int look = 0; look < LOOKS; look++) {
        between->point = measure_offset(model, comm, parent);
        excess = clock_fit_excess(&between->fit, between->point);
        if (excess <= 0) {
            break;
        }
    }
    if (excess > 0) {
        refuse(model,
               "the clock of rank %d is %.3f ms from where its drift could have brought it: it, or that of rank 0, was "
               "set",
               model->rank, (between->point.offset - clock_fit_predict(&between->fit, between->point.local)) / 1e6);
    }
    clock_fit_add(&between->fit, between->point);
}

/* Within a group: the smallest offset of a few measurements, and by how much it exceeds the error of that measurement.
 */
struct within {
    double offset;
    double contradiction;
    double trip;
};

static void ask_within(clock_model *model, MPI_Comm comm, int parent, void *context) {
    struct within *within = context;
    for (int look = 0; look < LOOKS; look++) {
        struct clock_point point = measure_offset(model, comm, parent);
        double offset = fabs(point.offset);
        double contradiction = fmax(offset - point.trip / 2, 0);
        if (look == 0 || offset < within->offset) {
            *within = (struct within){offset, contradiction, point.trip};
        }
        if (within->contradiction <= SHARED_NS) {
            break;
        }
    }
}

/* Looks for the parent's socket. */
static void ask_for_socket(clock_model *model, MPI_Comm comm, int parent, void *context) {
    struct echo_card card;
    tell(comm, parent, CARD);
    MPI_CHECK(MPI_Recv(&card, sizeof card, MPI_BYTE, parent, TAG, comm, MPI_STATUS_IGNORE));
    if (card.count > 0) {
        tell(comm, parent, SOCKET);
        echo_find(model->echo, &card);
    }
}

/* ---- groups ---- */

static void ask_parent(clock_model *model, MPI_Comm comm, int parent, void *context) {
    int *agrees_with = context;
    struct within within = {0};
    ask_within(model, comm, parent, &within);
    if (within.contradiction <= SHARED_NS) {
        *agrees_with = parent;
    }
}

/*
 * Ranks whose clock differs all the same (virtual machines that are copies of one) get groups of their own. One walk
 * finds those that agree with the first, by way of their parents; the others walk again among themselves. After
 * MOST_WALKS the rest are taken apart as they are, which may make more groups than there are clocks, never fewer.
 */
static void split_by_clock(clock_model *model, MPI_Comm same, MPI_Comm *out) {
    enum { MOST_WALKS = 4 };
    MPI_Comm left = MPI_COMM_NULL;
    int size = 0;
    MPI_CHECK(MPI_Comm_dup(same, &left));
    for (int walk = 1;; walk++) {
        int own = 0;
        MPI_CHECK(MPI_Comm_rank(left, &own));
        MPI_CHECK(MPI_Comm_size(left, &size));
        int root = own;
        walk_tree(model, left, ask_parent, &root, NULL);
        int *parents = fail_alloc((size_t)size, sizeof *parents);
        MPI_CHECK(MPI_Allgather(&root, 1, MPI_INT, parents, 1, MPI_INT, left));
        while (parents[root] != root) {
            root = parents[root];
        }
        free(parents);
        MPI_Comm next = MPI_COMM_NULL;
        int colour = walk < MOST_WALKS ? root > 0 : root;
        MPI_CHECK(MPI_Comm_split(left, colour, own, &next));
        MPI_CHECK(MPI_Comm_set_errhandler(next, MPI_ERRORS_RETURN));
        MPI_CHECK(MPI_Comm_free(&left));
        if (root == 0 || walk == MOST_WALKS) {
            *out = next;
            return;
        }
        left = next;
    }
}

/* ---- the model ---- */

/* Collective: all ranks get the refusal of the lowest rank that has one. */
static bool agree_on_refusal(clock_model *model) {
    int first = model->own_refusal[0] != '\0' ? model->rank : model->ranks;
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, model->world));
    if (first == model->ranks) {
        return true;
    }
    memcpy(model->refusal, model->own_refusal, sizeof model->refusal);
    MPI_CHECK(MPI_Bcast(model->refusal, sizeof model->refusal, MPI_CHAR, first, model->world));
    model->quality.method = CLOCK_NONE;
    return false;
}

clock_model *clock_create(MPI_Comm world, const char *identity) {
    clock_model *model = fail_alloc(1, sizeof *model);
    model->quality.refusal = model->refusal;
    model->quality.clocks = 1;
    model->leaders = MPI_COMM_NULL;
    MPI_CHECK(MPI_Comm_dup(world, &model->world));
    MPI_CHECK(MPI_Comm_rank(world, &model->rank));
    MPI_CHECK(MPI_Comm_size(world, &model->ranks));
    int64_t backwards_ns = 0;
    if (timer_runs_backwards(MONOTONIC_READINGS, &backwards_ns)) {
        refuse(model, "the clock of rank %d goes backwards, by %" PRId64 " ns", model->rank, backwards_ns);
    }
    MPI_Comm same = MPI_COMM_NULL;
    group_split(world, identity, &same);
    split_by_clock(model, same, &model->group);
    MPI_CHECK(MPI_Comm_free(&same));

    int group_rank = 0;
    int group_size = 0;
    MPI_CHECK(MPI_Comm_rank(model->group, &group_rank));
    MPI_CHECK(MPI_Comm_size(model->group, &group_size));
    MPI_CHECK(MPI_Comm_split(world, group_rank == 0 ? 0 : MPI_UNDEFINED, model->rank, &model->leaders));
    if (model->leaders != MPI_COMM_NULL) {
        MPI_CHECK(MPI_Comm_set_errhandler(model->leaders, MPI_ERRORS_RETURN));
        MPI_CHECK(MPI_Comm_size(model->leaders, &model->quality.clocks));
    }
    MPI_CHECK(MPI_Bcast(&model->quality.clocks, 1, MPI_INT, 0, world));
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &group_size, 1, MPI_INT, MPI_MAX, world));
    model->quality.rounds = rounds_of(model->quality.clocks) + rounds_of(group_size);
    model->quality.method = model->quality.clocks > 1 ? CLOCK_INTERPOLATED : CLOCK_SHARED;
    if (model->leaders != MPI_COMM_NULL && model->quality.clocks > 1) {
        model->echo = echo_create();
        walk_tree(model, model->leaders, ask_for_socket, NULL, NULL);
    }
    if (agree_on_refusal(model) && clock_synchronise(model)) {
        clock_establish(model, FIRST_BASELINE_SECONDS);
    }
    return model;
}

clock_model *clock_create_none(void) {
    clock_model *model = fail_alloc(1, sizeof *model);
    model->quality.refusal = model->refusal;
    model->quality.clocks = 1;
    model->quality.method = CLOCK_NONE;
    model->leaders = MPI_COMM_NULL;
    model->group = MPI_COMM_NULL;
    model->world = MPI_COMM_NULL;
    return model;
}

static void free_comm(MPI_Comm *comm) {
    if (*comm != MPI_COMM_NULL) {
        MPI_CHECK(MPI_Comm_free(comm));
    }
}

void clock_destroy(clock_model *model) {
    if (model != NULL) {
        echo_destroy(model->echo);
        free_comm(&model->leaders);
        free_comm(&model->group);
        free_comm(&model->world);
        free(model);
    }
}

/* What one exchange over all ranks measured, compared with the line before it. */
struct exchanged {
    struct between between;
    struct within within;
};

/* Collective: measures between groups, then within them. Each group's new line is the same on all its ranks. */
static struct exchanged exchange_offsets(clock_model *model) {
    struct exchanged seen = {.between = {.fit = model->fit}};
    if (model->leaders != MPI_COMM_NULL) {
        seen.between.point.local = timer_now_ns(); /* rank 0: it asks nobody, its offset is 0 */
        if (model->rank == 0) {
            clock_fit_add(&seen.between.fit, seen.between.point);
        }
        walk_tree(model, model->leaders, ask_between, &seen.between, &seen.between.fit);
    }
    MPI_CHECK(MPI_Bcast(&seen.between, sizeof seen.between, MPI_BYTE, 0, model->group));
    walk_tree(model, model->group, ask_within, &seen.within, NULL);
    return seen;
}

bool clock_synchronise(clock_model *model) {
    phase_enter(PHASE_CLOCK);
    if (model->quality.method == CLOCK_NONE) {
        return false;
    }
    int64_t begin = timer_now_ns();
    struct exchanged seen = exchange_offsets(model);
    struct clock_point point = seen.between.point;
    double disagreement = seen.within.contradiction;
    if (disagreement > NOT_SHARED_NS) {
        refuse(model, "the clock of rank %d, which it shared with others, is %.3f ms away from theirs", model->rank,
               disagreement / 1e6);
    }
    bool good = agree_on_refusal(model);
    if (clock_fit_baseline_ns(&model->fit) >= CLOCK_FIT_BASELINE_NS) {
        disagreement = fmax(disagreement, fabs(point.offset - clock_fit_predict(&model->fit, point.local)));
    }
    const bool first = model->fit.measurements == 0;
    const int64_t since_ns = point.local - model->fit.last.local;
    if (good) {
        model->fit = seen.between.fit;
    }
    double largest[3] = {disagreement, fmax(point.trip, seen.within.trip), fabs(model->fit.slope) * 1e6};
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, largest, 3, MPI_DOUBLE, MPI_MAX, model->world));

    struct clock_quality *quality = &model->quality;
    quality->residual_ns = largest[0];
    quality->worst_residual_ns = fmax(quality->worst_residual_ns, largest[0]);
    quality->shortest_trip_ns = largest[1];
    quality->longest_trip_ns = fmax(quality->longest_trip_ns, largest[1]);
    quality->drift_ppm = largest[2];
    quality->synchronisations++;
    /* Extrapolation no further than the baseline is long; half as far where the residual was twice the budget, at most
     * twice as far. */
    double trusted = first ? 0 : (double)since_ns * fmin(RESIDUAL_BUDGET_NS / fmax(quality->residual_ns, 1), 2);
    trusted = fmin(trusted, (double)clock_fit_baseline_ns(&model->fit));
    model->interval_ns = (int64_t)fmin(fmax(trusted, (double)LEAST_INTERVAL_NS), (double)MOST_INTERVAL_NS);
    quality->seconds += (double)(timer_now_ns() - begin) / 1e9;
    return good;
}

void clock_forget_residual(clock_model *model) {
    model->quality.worst_residual_ns = 0;
}

double clock_left_seconds(const clock_model *model) {
    return model->quality.method == CLOCK_INTERPOLATED
               ? (double)(model->interval_ns - (timer_now_ns() - model->fit.last.local)) / 1e9
               : INFINITY;
}

bool clock_due(const clock_model *model) {
    return clock_left_seconds(model) < 0;
}

/* Collective: synchronises and sleeps in turn until the baseline is so long. */
static void make_baseline(clock_model *model, double seconds) {
    while (model->quality.method == CLOCK_INTERPOLATED) {
        double left = seconds - (double)clock_fit_baseline_ns(&model->fit) / 1e9;
        MPI_CHECK(MPI_Bcast(&left, 1, MPI_DOUBLE, 0, model->world));
        if (left <= 0) {
            break;
        }
        timer_sleep(fmin(left + 1e-3, seconds / STEPS_OF_BASELINE));
        clock_synchronise(model);
    }
}

bool clock_establish(clock_model *model, double baseline_seconds) {
    make_baseline(model, baseline_seconds);
    for (int made = 1; made < BASELINES && model->quality.drift_ppm > MOST_DRIFT_PPM; made++) {
        model->fit = (struct clock_fit){0};
        clock_synchronise(model);
        make_baseline(model, baseline_seconds);
    }
    if (model->quality.method == CLOCK_INTERPOLATED && fabs(model->fit.slope) * 1e6 > MOST_DRIFT_PPM) {
        refuse(model, "the clock of rank %d seems to drift by %.0f ppm, as no oscillator does: its offset is not known",
               model->rank, fabs(model->fit.slope) * 1e6);
    }
    return model->quality.method != CLOCK_NONE && agree_on_refusal(model);
}

struct clock_residual clock_verify(clock_model *model) {
    if (model->quality.method == CLOCK_NONE) {
        return (struct clock_residual){NAN, NAN};
    }
    struct exchanged seen = exchange_offsets(model);
    struct clock_point point = seen.between.point;
    double largest[2] = {fmax(seen.within.offset, fabs(point.offset - clock_fit_predict(&model->fit, point.local))),
                         fmax(seen.within.offset, fabs(point.offset - model->fit.offset))};
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, largest, 2, MPI_DOUBLE, MPI_MAX, model->world));
    return (struct clock_residual){largest[0], largest[1]};
}

struct clock_quality clock_quality_of(const clock_model *model) {
    struct clock_quality quality = model->quality;
    quality.baseline_seconds =
        quality.method == CLOCK_INTERPOLATED ? (double)clock_fit_baseline_ns(&model->fit) / 1e9 : 0;
    return quality;
}

int64_t clock_to_global(const clock_model *model, int64_t local) {
    return local + (int64_t)llround(clock_fit_predict(&model->fit, local));
}

int64_t clock_interpolate(const clock_model *model, int64_t local) {
    return local + (int64_t)llround(clock_fit_interpolate(&model->fit, local));
}

int64_t clock_to_local(const clock_model *model, int64_t global) {
    /* The line takes a local time; the offset changes by parts per million, so one correction is exact to under a
     * nanosecond. */
    int64_t guess = global - (int64_t)llround(model->fit.offset);
    return global - (int64_t)llround(clock_fit_predict(&model->fit, guess));
}
