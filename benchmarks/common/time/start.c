#include "start.h"

#include "barrier.h"
#include "fail.h"
#include "fail_mpi.h"
#include "record.h"
#include "timer.h"
#include "tolerance.h"

#include <sched.h>
#include <stdlib.h>

#define FIRST_NEED_NS INT64_C(25000)
#define LEAST_SLACK_NS INT64_C(5000)
#define MOST_SLACK_NS INT64_C(20000000)

/* Further from the deadline than this, other threads on this core may go first. */
#define YIELD_NS INT64_C(200000)

/* Starts that the slack is learnt from, and the one of them, by size, that it must cover twice. The largest few are
 * preemptions: a slack that covered them would make every start wait for what happens to some. */
enum { HISTORY = 32, COVERED = 26 };

struct start_line {
    MPI_Comm comm;
    const clock_model *clock;
    enum start_method method;
    int64_t needs[HISTORY]; /* of the latest starts, largest over ranks: the same on all ranks */
    size_t next;
    int64_t agreed;   /* global: when the last rank had come to the agreement */
    int64_t own_need; /* from then until this rank stood at the line, at the last start */
    int64_t settle;
    struct tolerance tolerance;
    int64_t deadline;     /* local; at a barrier, when it ended */
    enum start_fate fate; /* of the last start, on this rank */
};

const char *start_method_name(enum start_method method) {
    return record_start_methods[method];
}

start_line *start_create(MPI_Comm world, const clock_model *clock, enum start_method method) {
    start_line *line = fail_alloc(1, sizeof *line);
    MPI_CHECK(MPI_Comm_dup(world, &line->comm));
    line->clock = clock;
    line->method = method;
    line->own_need = FIRST_NEED_NS;
    for (size_t i = 0; i < HISTORY; i++) {
        line->needs[i] = FIRST_NEED_NS;
    }
    return line;
}

void start_settle(start_line *line, int64_t settle_ns) {
    line->settle = settle_ns;
}

void start_destroy(start_line *line) {
    if (line != NULL) {
        MPI_CHECK(MPI_Comm_free(&line->comm));
        free(line);
    }
}

enum start_method start_method_of(const start_line *line) {
    return clock_quality_of(line->clock).method == CLOCK_NONE ? START_BARRIER : line->method;
}

void start_begin(start_line *line, int64_t tolerance_ns) {
    tolerance_begin(&line->tolerance, tolerance_ns);
    line->fate = START_PUNCTUAL;
}

/* Returns the slack, ns: the same on all ranks, because their `needs` are the same. */
static int64_t slack_of(const start_line *line) {
    int64_t sorted[HISTORY];
    for (size_t i = 0; i < HISTORY; i++) {
        size_t j = i;
        for (; j > 0 && sorted[j - 1] > line->needs[i]; j--) {
            sorted[j] = sorted[j - 1];
        }
        sorted[j] = line->needs[i];
    }
    const int64_t slack = 2 * sorted[COVERED] < MOST_SLACK_NS ? 2 * sorted[COVERED] : MOST_SLACK_NS;
    const int64_t least = line->settle > LEAST_SLACK_NS ? line->settle : LEAST_SLACK_NS;
    return slack > least ? slack : least;
}

enum start_fate start_agree(start_line *line) {
    const bool timed = start_method_of(line) != START_BARRIER;
    int64_t all[3] = {timed ? clock_to_global(line->clock, timer_now_ns()) : 0, line->fate, line->own_need};
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, all, 3, MPI_INT64_T, MPI_MAX, line->comm));
    start_forget(line);
    if (!timed) {
        return (enum start_fate)all[1];
    }
    line->agreed = all[0];
    line->needs[line->next] = all[2];
    line->next = (line->next + 1) % HISTORY;
    line->deadline = clock_to_local(line->clock, line->agreed + slack_of(line));
    return (enum start_fate)all[1];
}

/* Returns the time when the wait ended. */
static int64_t wait_until(int64_t deadline_ns) {
    int64_t now = timer_now_ns();
    while (deadline_ns - now > YIELD_NS) {
        sched_yield();
        now = timer_now_ns();
    }
    while (now < deadline_ns) {
        now = timer_now_ns();
    }
    return now;
}

void start_untimed(start_line *line) {
    barrier_disseminate(line->comm);
    if (start_method_of(line) != START_BARRIER) {
        wait_until(timer_now_ns() + line->settle);
    }
}

int64_t start_spin(start_line *line) {
    if (start_method_of(line) == START_BARRIER) {
        barrier_disseminate(line->comm);
        line->deadline = timer_now_ns();
        return line->deadline;
    }
    const int64_t ready = timer_now_ns();
    line->own_need = clock_to_global(line->clock, ready) - line->agreed;
    const bool missed = ready > line->deadline;
    const int64_t now = wait_until(line->deadline);
    const bool late = (double)(now - line->deadline) > line->tolerance.now_ns;
    line->fate = late ? START_LATE : START_PUNCTUAL;
    if (!late || !missed) {
        tolerance_learn(&line->tolerance, late);
    }
    return now;
}

int64_t start_moment(const start_line *line) {
    return line->deadline;
}

void start_spoil(start_line *line) {
    line->fate = START_SPOILT;
}

enum start_fate start_fate_of(const start_line *line) {
    return line->fate;
}

void start_forget(start_line *line) {
    line->fate = START_PUNCTUAL;
}
