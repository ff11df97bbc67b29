#include "repetition.h"

#include "fail.h"
#include "fail_mpi.h"
#include "phase.h"
#include "turns.h"

/* A repetition with so many late starts is given up. */
enum { MOST_LATE_STARTS = 4 };

int64_t repetition_tolerance(int64_t shortest_ns) {
    int64_t tolerance = shortest_ns / 500;
    return tolerance < 2000 ? 2000 : tolerance > 100000 ? 100000 : tolerance;
}

/* The repetition that runs now. */
struct running {
    const struct repetition_kind *kind;
    void *context;
    start_line *line;
    const clock_model *clock;
    bool active;
    struct repetition *r;
};

static bool has_clock(const struct running *running) {
    return clock_quality_of(running->clock).method != CLOCK_NONE;
}

/* Collective. */
static bool agree_to_start(const struct running *running) {
    phase_enter(PHASE_START);
    return start_agree(running->line);
}

/* The part that has this turn. */
static const struct repetition_part *part_at(const struct running *running, size_t turn) {
    const struct repetition_kind *kind = running->kind;
    if (kind->group == 0) {
        return kind->parts[turn];
    }
    return kind
        ->parts[turn / kind->group * kind->group + turns_at(kind->group, running->r->number, turn % kind->group)];
}

static void prepare(const struct running *running, size_t turn) {
    const struct repetition_part *part = part_at(running, turn);
    if (part->prepare != NULL && running->active) {
        part->prepare(running->context);
    }
}

static void time_part(const struct running *running, size_t turn) {
    const struct repetition_part *part = part_at(running, turn);
    if (!running->active) {
        start_spin(running->line);
        return;
    }
    running->r->turn = turn;
    part->time(running->context, running->line, running->r);
    if (part->finish != NULL) {
        part->finish(running->context);
    }
}

/* Collective: does a part again whose start a rank was late at. */
static void again(const struct running *running, size_t turn) {
    prepare(running, turn);
    agree_to_start(running);
    time_part(running, turn);
}

/* Without a clock that all share, times are each rank's own from its own start: as if all had started at 0. */
static int64_t begin_of(const struct running *running, const struct repetition_series *span) {
    return has_clock(running) ? clock_to_global(running->clock, running->r->terms[span->term]) : 0;
}

static int64_t end_of(const struct running *running, const struct repetition_series *span) {
    const int64_t *terms = running->r->terms;
    return has_clock(running) ? clock_to_global(running->clock, terms[span->end])
                              : terms[span->end] - terms[span->term];
}

/* Collective: combines the terms of all ranks. late: number of starts already known to have been late, including the
 * one that ended the repetition; 0: whether the last start was late is found out here. */
static struct repetition_outcome combine(const struct running *running, int late) {
    const struct repetition_kind *kind = running->kind;
    int64_t all[2 * REPETITION_MOST_SERIES + 2];
    int count = 0;
    phase_enter(PHASE_GATHER);
    for (size_t i = 0; i < kind->series_count; i++) {
        const struct repetition_series *series = &kind->series[i];
        if (series->over == OVER_SPAN) {
            all[count++] = running->active ? end_of(running, series) : REPETITION_NO_TIME;
            all[count++] = running->active ? -begin_of(running, series) : REPETITION_NO_TIME;
        } else if (series->over == OVER_LARGEST) {
            all[count++] = running->active ? running->r->terms[series->term] : REPETITION_NO_TIME;
        }
    }
    all[count++] = late > 0 || start_was_late(running->line);
    all[count++] = kind->wrong != NULL && running->active && kind->wrong(running->context);
    start_forget(running->line);
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, all, count, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD));
    struct repetition_outcome outcome = {
        .late = all[count - 2] != 0, .late_starts = late, .wrong_data = all[count - 1] != 0};
    const int64_t *next = all;
    for (size_t i = 0; i < kind->series_count; i++) {
        if (kind->series[i].over == OVER_SPAN) {
            outcome.times[i] = next[0] + next[1];
            next += 2;
        } else if (kind->series[i].over == OVER_LARGEST) {
            outcome.times[i] = *next++;
        } else if (kind->series[i].over == OVER_ORDER) {
            outcome.times[i] = turns_order(kind->group, running->r->number);
        }
    }
    return outcome;
}

struct repetition_outcome repetition_run(const struct repetition_kind *kind, void *context, start_line *line,
                                         const clock_model *clock, bool active, struct repetition *r) {
    const struct running running = {
        .kind = kind, .context = context, .line = line, .clock = clock, .active = active, .r = r};
    int late = 0;
    prepare(&running, 0);
    agree_to_start(&running);
    for (size_t turn = 0; turn + 1 < kind->part_count; turn++) {
        time_part(&running, turn);
        prepare(&running, turn + 1);
        while (!agree_to_start(&running)) {
            if (++late == MOST_LATE_STARTS) {
                return combine(&running, late);
            }
            again(&running, turn);
            if (part_at(&running, turn)->prepare != NULL) {
                prepare(&running, turn + 1); /* doing the part again has undone it */
            }
        }
    }
    const size_t last = kind->part_count - 1;
    for (;;) {
        time_part(&running, last);
        struct repetition_outcome outcome = combine(&running, 0);
        late += outcome.late;
        /* A kind of one part has no earlier part to keep, and at barriers nobody knows which part was late: the caller
         * repeats it as a whole. */
        const bool as_a_whole = kind->part_count == 1 || start_method_of(line) == START_BARRIER;
        if (!outcome.late || outcome.wrong_data || late >= MOST_LATE_STARTS || as_a_whole) {
            outcome.late_starts = late;
            return outcome;
        }
        prepare(&running, last);
        agree_to_start(&running);
    }
}
