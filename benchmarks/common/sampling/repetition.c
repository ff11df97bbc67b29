#include "repetition.h"

#include "fail.h"
#include "fail_mpi.h"
#include "phase.h"
#include "turns.h"

/* A repetition with so many spoilt parts is given up. */
enum { MOST_SPOILT = 4 };

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

/* Collective. Returns the fate of the start before. */
static enum start_fate agree_to_start(const struct running *running) {
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

/* Without a clock that all share, times are each rank's own from its own start: as if all had started at 0. */
static int64_t begin_of(const struct running *running, const struct repetition_series *span) {
    return has_clock(running) ? clock_to_global(running->clock, running->r->terms[span->term]) : 0;
}

static int64_t end_of(const struct running *running, const struct repetition_series *span) {
    const int64_t *terms = running->r->terms;
    return has_clock(running) ? clock_to_global(running->clock, terms[span->end])
                              : terms[span->end] - terms[span->term];
}

/* Collective: combines the terms of all ranks. late: number of starts already known to have been late; whether the last
 * one was is found out here. */
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
    all[count++] = start_fate_of(running->line);
    all[count++] = kind->wrong != NULL && running->active && kind->wrong(running->context);
    start_forget(running->line);
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, all, count, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD));
    struct repetition_outcome outcome = {.late_starts = late + (all[count - 2] == START_LATE),
                                         .spoilt = all[count - 2] == START_SPOILT,
                                         .wrong_data = all[count - 1] != 0};
    const int64_t *next = all;
    for (size_t i = 0; i < kind->series_count; i++) {
        if (kind->series[i].over == OVER_SPAN) {
            outcome.times[i] = next[0] + next[1];
            next += 2;
        } else if (kind->series[i].over == OVER_LARGEST) {
            outcome.times[i] = *next++;
        } else if (kind->series[i].over == OVER_ORDER) {
            outcome.times[i] = turns_order(kind->group, running->r->number);
        } else if (kind->series[i].over == OVER_LATE) {
            outcome.times[i] = outcome.late_starts;
        }
    }
    return outcome;
}

struct repetition_outcome repetition_run(const struct repetition_kind *kind, void *context, start_line *line,
                                         const clock_model *clock, bool active, struct repetition *r) {
    const struct running running = {
        .kind = kind, .context = context, .line = line, .clock = clock, .active = active, .r = r};
    struct repetition_outcome outcome = {.wrong_data = false};
    int late = 0;
    int spoilt = 0;
    prepare(&running, 0);
    agree_to_start(&running);
    for (size_t turn = 0; turn < kind->part_count;) {
        const bool last = turn + 1 == kind->part_count;
        enum start_fate fate = START_PUNCTUAL;
        time_part(&running, turn);
        if (last) {
            outcome = combine(&running, late);
            fate = outcome.spoilt && !outcome.wrong_data ? START_SPOILT : START_PUNCTUAL;
        } else {
            prepare(&running, turn + 1);
            fate = agree_to_start(&running);
        }
        late += fate == START_LATE;
        if (fate != START_SPOILT) {
            turn++;
        } else if (++spoilt == MOST_SPOILT) {
            outcome.spoilt = true;
            return outcome;
        } else {
            prepare(&running, turn);
            agree_to_start(&running);
        }
    }
    return outcome;
}
