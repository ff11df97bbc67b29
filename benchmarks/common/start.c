#include "start.h"

#include "fail.h"
#include "fail_mpi.h"
#include "timer.h"

#include <sched.h>
#include <stdlib.h>

#define FIRST_SLACK_NS 50e3
#define LEAST_SLACK_NS 5e3
#define MOST_SLACK_NS 100e6
#define MOST_TOLERANCE_NS 50e6

/* Further from the deadline than this, other threads on this core may go first. */
#define YIELD_NS INT64_C(200000)

struct start_line {
    MPI_Comm comm;
    const clock_model *clock;
    double slack;
    double tolerance;
    double least_tolerance;
    int64_t deadline; /* local */
    bool late;
};

start_line *start_create(MPI_Comm world, const clock_model *clock) {
    start_line *line = fail_alloc(1, sizeof *line);
    MPI_CHECK(MPI_Comm_dup(world, &line->comm));
    line->clock = clock;
    line->slack = FIRST_SLACK_NS;
    return line;
}

void start_destroy(start_line *line) {
    if (line != NULL) {
        MPI_CHECK(MPI_Comm_free(&line->comm));
        free(line);
    }
}

void start_begin(start_line *line, int64_t tolerance_ns) {
    line->least_tolerance = (double)tolerance_ns;
    if (line->tolerance < line->least_tolerance) {
        line->tolerance = line->least_tolerance;
    }
    line->late = false;
}

bool start_agree(start_line *line) {
    int64_t proposal[2] = {clock_to_global(line->clock, timer_now_ns()) + (int64_t)line->slack, line->late};
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, proposal, 2, MPI_INT64_T, MPI_MAX, line->comm));
    line->deadline = clock_to_local(line->clock, proposal[0]);
    line->late = false;
    return proposal[1] == 0;
}

int64_t start_spin(start_line *line) {
    int64_t now = timer_now_ns();
    bool missed = now > line->deadline;
    while (line->deadline - now > YIELD_NS) {
        sched_yield();
        now = timer_now_ns();
    }
    while (now < line->deadline) {
        now = timer_now_ns();
    }
    bool left_late = (double)(now - line->deadline) > line->tolerance;
    if (missed) {
        line->slack = line->slack * 2 < MOST_SLACK_NS ? line->slack * 2 : MOST_SLACK_NS;
    } else {
        line->slack = line->slack * 0.98 > LEAST_SLACK_NS ? line->slack * 0.98 : LEAST_SLACK_NS;
    }
    if (left_late && !missed) {
        line->tolerance = line->tolerance * 2 < MOST_TOLERANCE_NS ? line->tolerance * 2 : MOST_TOLERANCE_NS;
    } else if (!left_late) {
        line->tolerance = line->tolerance * 0.9 > line->least_tolerance ? line->tolerance * 0.9 : line->least_tolerance;
    }
    line->late = left_late;
    return now;
}

bool start_was_late(const start_line *line) {
    return line->late;
}

void start_forget(start_line *line) {
    line->late = false;
}
