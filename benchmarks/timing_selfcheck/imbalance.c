#include "imbalance.h"

#include "barrier.h"
#include "fail.h"
#include "fail_mpi.h"
#include "stamps.h"
#include "start.h"
#include "timer.h"

#include <stdio.h>
#include <stdlib.h>

enum method { DEADLINE, MPI_BARRIER, DISSEMINATION, METHODS };
static const char *const method_names[METHODS + 1] = {
    [DEADLINE] = "deadline", [MPI_BARRIER] = "mpi_barrier", [DISSEMINATION] = "dissemination"};

/* Rounds that do not count: connections are made, the slack of the deadline is learnt. */
enum { WARMUPS = 32 };

/* A start is late when it is later than this after the deadline: some hundred readings of the timer. */
#define TOLERANCE_NS 2000

/* The section ends after this time with the starts that it has: where ranks share cores, every start may take time
 * slices. */
#define MOST_SECONDS 60

struct comparison {
    struct session *session;
    start_line *line;
    MPI_Comm comm;
    struct stamps moments; /* [round][method]: when this rank's start ended */
    bool *late;            /* [round]: some rank missed the deadline */
    size_t rounds;
    bool timed_out;
};

static bool has_clock(const struct comparison *c) {
    return clock_quality_of(c->session->program->clock).method != CLOCK_NONE;
}

/* Collective: makes one start. Returns the moment when it ended on this rank. */
static int64_t pass(struct comparison *c, enum method method) {
    switch (method) {
    case DEADLINE:
        if (!has_clock(c)) {
            return 0;
        }
        start_agree(c->line);
        return start_spin(c->line);
    case MPI_BARRIER:
        MPI_CHECK(MPI_Barrier(c->comm));
        break;
    default:
        barrier_disseminate(c->comm);
        break;
    }
    return timer_now_ns();
}

/* Collective: makes one start of each method. Another method is first every time, so that no method always follows the
 * same one. */
static void run_round(struct comparison *c, size_t number, bool counts) {
    int64_t moments[METHODS];
    int late = 0;
    for (size_t i = 0; i < METHODS; i++) {
        enum method method = (enum method)((number + i) % METHODS);
        moments[method] = pass(c, method);
        if (method == DEADLINE && has_clock(c)) {
            late = start_fate_of(c->line) != START_PUNCTUAL;
            start_forget(c->line);
            MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &late, 1, MPI_INT, MPI_LOR, c->comm));
        }
    }
    if (counts) {
        for (size_t i = 0; i < METHODS; i++) {
            stamps_add(&c->moments, moments[i]);
        }
        c->late[c->rounds++] = late != 0;
    }
}

/* Collective: all moments so far become global; without a clock they stay local and are not used. */
static void synchronise(struct comparison *c) {
    if (clock_synchronise(c->session->program->clock)) {
        stamps_close(&c->moments, c->session->program->clock);
    }
}

static void run_rounds(struct comparison *c) {
    enum { GO_ON, SYNCHRONISE, STOP };
    const int64_t begin = timer_now_ns();
    const int64_t wanted = c->session->settings->starts;
    synchronise(c);
    start_begin(c->line, TOLERANCE_NS);
    for (size_t i = 0; i < WARMUPS + (size_t)wanted; i++) {
        int next = GO_ON;
        if (c->session->program->rank == 0) {
            bool timed_out = timer_now_ns() - begin > MOST_SECONDS * INT64_C(1000000000);
            next = timed_out ? STOP : clock_due(c->session->program->clock) ? SYNCHRONISE : GO_ON;
        }
        MPI_CHECK(MPI_Bcast(&next, 1, MPI_INT, 0, c->comm));
        if (next == STOP) {
            c->timed_out = true;
            break;
        }
        if (next == SYNCHRONISE) {
            synchronise(c);
        }
        run_round(c, i, i >= WARMUPS);
    }
    synchronise(c);
}

/* Collective: returns max - min over ranks of every moment, [round][method]; valid on rank 0 only. Free it. */
static int64_t *spread_of(struct comparison *c) {
    const size_t count = c->moments.count;
    int64_t *latest = fail_alloc(count, sizeof *latest);
    int64_t *negated = fail_alloc(count, sizeof *negated);
    for (size_t i = 0; i < count; i++) {
        latest[i] = c->moments.values[i];
        negated[i] = -latest[i];
    }
    session_reduce_largest(c->session, latest, count);
    session_reduce_largest(c->session, negated, count);
    for (size_t i = 0; i < count; i++) {
        latest[i] += negated[i];
    }
    free(negated);
    return latest;
}

/* Of one method, in the order of time. */
struct outcome {
    bool is_known; /* how far apart the starts were: there is a clock to tell it by */
    size_t starts;
    size_t late_starts;
    size_t known; /* of starts: those with an imbalance. All or none */
    size_t late_known;
    int64_t *imbalance;
    int64_t *late;
};

static struct outcome sort_out(const struct comparison *c, const int64_t *spread, enum method method) {
    struct outcome o = {.is_known = has_clock(c),
                        .imbalance = fail_alloc(c->rounds, sizeof(int64_t)),
                        .late = fail_alloc(c->rounds, sizeof(int64_t))};
    if (method == DEADLINE && !has_clock(c)) {
        return o;
    }
    for (size_t i = 0; i < c->rounds; i++) {
        if (method == DEADLINE && c->late[i]) {
            o.late[o.late_starts++] = spread[i * METHODS + method];
        } else {
            o.imbalance[o.starts++] = spread[i * METHODS + method];
        }
    }
    if (o.is_known) {
        o.known = o.starts;
        o.late_known = o.late_starts;
    }
    return o;
}

struct row {
    const char *section;
    const char *method;
    const char *reason;
    const int64_t *late_imbalance_ns;
    size_t late_count;
};

static const struct field parameter_fields[] = {
    SESSION_SECTION(struct row, "start"),
    FIELD_ONE_OF(struct row, method, method_names,
                 "deadline: ranks spin to an agreed time of the common clock. mpi_barrier: they leave MPI_Barrier. "
                 "dissemination: they leave a dissemination barrier"),
    FIELDS_END,
};

static const struct field own_fields[] = {
    FIELD(struct row, reason, SESSION_REASON),
    FIELD_LIST_OF(struct row, late_imbalance_ns, late_count,
                  "max - min over ranks of the moment at which each was let go, of the late starts; as many as "
                  "late_repetitions, unless there is no clock to tell it by"),
    FIELDS_END,
};

static const struct repetition_series series[] = {
    {.name = "start_imbalance_ns",
     .over = OVER_IMBALANCE,
     .help = "max - min over ranks of the moment at which each was let go, of the starts that were not late, in the "
             "order of measuring; left out where it is not known"}};

const struct sampler_kind imbalance_points = {
    .samples = {.repeated = {.series = series, .series_count = 1}}, .parameters = parameter_fields, .own = own_fields};

static bool write_point(struct session *session, enum method method, const struct outcome *o, const char *reason) {
    const struct record_values imbalance = {series[0].name, o->imbalance};
    const struct row row = {"start", method_names[method], reason, o->late, o->late_known};
    const struct record_point record = {.repetitions = o->starts,
                                        .late_repetitions = (int64_t)o->late_starts,
                                        .series = {&imbalance, o->is_known ? 1 : 0}};
    return session_write_point(session, &imbalance_points, &row, record);
}

static int compare_numbers(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* Nearest rank, in us. */
static double percentile(const int64_t *sorted, size_t count, size_t percent) {
    return (double)sorted[(count * percent + 99) / 100 - 1] / 1e3;
}

/* The imbalances are sorted by this. */
static void print_row(enum method method, struct outcome *o, const char *reason) {
    printf("start          %-14s", method_names[method]);
    if (o->known > 0) {
        qsort(o->imbalance, o->known, sizeof *o->imbalance, compare_numbers);
        printf(" %6zu %5zu %9.3f %9.3f %9.3f %9.3f", o->starts, o->late_starts, percentile(o->imbalance, o->known, 50),
               percentile(o->imbalance, o->known, 95), percentile(o->imbalance, o->known, 99),
               percentile(o->imbalance, o->known, 100));
    } else {
        printf(" %6zu %5zu %9s %9s %9s %9s", o->starts, o->late_starts, "-", "-", "-", "-");
    }
    printf("%s%s\n", reason[0] != '\0' ? "  " : "", reason);
    fflush(stdout);
}

static bool report(struct session *session, const struct comparison *c, const int64_t *spread, const char *reason) {
    bool good = true;
    if (session_prints(session)) {
        printf("start          %-14s %6s %5s %9s %9s %9s %9s  imbalance of the starts that were not late, us\n",
               "method", "starts", "late", "p50", "p95", "p99", "largest");
    }
    for (enum method method = DEADLINE; method < METHODS && good; method++) {
        struct outcome o = {0};
        if (c != NULL) {
            o = sort_out(c, spread, method);
        }
        good = write_point(session, method, &o, reason);
        if (session_prints(session)) {
            print_row(method, &o, method == DEADLINE ? reason : ""); /* it is the same for all */
        }
        free(o.imbalance);
        free(o.late);
    }
    return good;
}

bool imbalance_measure(struct session *session) {
    if (session->program->ranks == 1) {
        return report(session, NULL, NULL, SESSION_ONE_RANK);
    }
    struct comparison c = {.session = session, .late = fail_alloc((size_t)session->settings->starts, sizeof(bool))};
    char reason[512] = "";
    MPI_CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &c.comm));
    c.line = start_create(MPI_COMM_WORLD, session->program->clock, START_DEADLINE);
    run_rounds(&c);
    int64_t *spread = spread_of(&c);
    if (!has_clock(&c)) {
        snprintf(reason, sizeof reason,
                 "no clock, so barriers only, and when they let each rank go cannot be compared: %s",
                 clock_quality_of(session->program->clock).refusal);
    } else if (c.timed_out) {
        snprintf(reason, sizeof reason, "%zu starts of each, not %lld: they took %d s", c.rounds,
                 (long long)session->settings->starts, MOST_SECONDS);
    }
    bool good = report(session, &c, spread, reason);
    free(spread);
    free(c.late);
    stamps_free(&c.moments);
    start_destroy(c.line);
    MPI_CHECK(MPI_Comm_free(&c.comm));
    return good;
}
