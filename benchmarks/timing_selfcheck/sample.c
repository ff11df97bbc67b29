#include "sample.h"

#include "fail.h"
#include "fail_mpi.h"
#include "message.h"
#include "start.h"
#include "timer.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_TEXT = 256 };

struct sampler {
    const struct session *session;
    start_line *line;
    message *m;
    enum work_kind kind;
    uint64_t size;
    bool faulty;
    char fault_text[MOST_TEXT];
};

const char *work_kind_name(enum work_kind kind) {
    return kind == WORK_COMPUTATION ? "computation" : "communication";
}

sampler *sampler_create(const struct session *session) {
    sampler *s = fail_alloc(1, sizeof *s);
    s->session = session;
    s->line = start_create(MPI_COMM_WORLD, session->clock, START_DEADLINE);
    s->m = message_create(MPI_COMM_WORLD);
    return s;
}

void sampler_destroy(sampler *s) {
    if (s != NULL) {
        start_destroy(s->line);
        message_destroy(s->m);
        free(s);
    }
}

void sampler_begin(sampler *s, enum work_kind kind, uint64_t size, int64_t target_ns) {
    int due = clock_due(s->session->clock);
    MPI_CHECK(MPI_Bcast(&due, 1, MPI_INT, 0, MPI_COMM_WORLD));
    if (due != 0) {
        clock_synchronise(s->session->clock);
    }
    s->kind = kind;
    s->size = size;
    if (kind == WORK_COMPUTATION) {
        compute_reserve(s->session->team, size);
    }
    /* a small part of the time, at least what a spin takes to see its deadline */
    int64_t tolerance = target_ns / 500;
    start_begin(s->line, tolerance < 2000 ? 2000 : tolerance > 100000 ? 100000 : tolerance);
}

struct sample sampler_take(sampler *s) {
    struct sample sample = {0};
    int64_t own = 0;
    uint64_t faults = 0;
    if (s->kind == WORK_COMMUNICATION) {
        message_prepare(s->m, s->size);
    }
    start_agree(s->line);
    sample.begin = start_spin(s->line);
    if (s->kind == WORK_COMMUNICATION) {
        message_transfer(s->m);
        sample.end = timer_now_ns();
        own = sample.end - sample.begin;
        faults = message_check(s->m);
        s->faulty = faults > 0;
    } else {
        own = compute_run(s->session->team, s->size);
        sample.end = timer_now_ns();
    }
    const clock_model *clock = s->session->clock;
    int64_t all[5] = {clock_to_global(clock, sample.end), -clock_to_global(clock, sample.begin), own, start_was_late(s->line), faults > 0};
    start_forget(s->line);
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, all, 5, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD));
    const bool global = s->kind == WORK_COMMUNICATION && clock_quality_of(clock).method != CLOCK_NONE;
    sample.time_ns = global ? all[0] + all[1] : all[2];
    sample.late = all[3] != 0;
    sample.wrong_data = all[4] != 0;
    return sample;
}

const char *sampler_fault_text(sampler *s) {
    int first = s->faulty ? s->session->rank : s->session->ranks;
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    if (s->session->rank == first) {
        snprintf(s->fault_text, sizeof s->fault_text, "%s", message_fault_text(s->m));
    }
    MPI_CHECK(MPI_Bcast(s->fault_text, sizeof s->fault_text, MPI_CHAR, first, MPI_COMM_WORLD));
    return s->fault_text;
}
