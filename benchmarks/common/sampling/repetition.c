#include "repetition.h"

#include "fail.h"
#include "fail_mpi.h"
#include "phase.h"
#include "turns.h"

#include <stdlib.h>

/* A repetition with so many spoilt parts is given up. */
enum { MOST_SPOILT = 4 };

int64_t repetition_tolerance(int64_t shortest_ns) {
    int64_t tolerance = shortest_ns / 500;
    return tolerance < 2000 ? 2000 : tolerance > 100000 ? 100000 : tolerance;
}

static bool has_clock(const struct repetition_maker *maker) {
    return clock_quality_of(maker->clock).method != CLOCK_NONE;
}

/* Collective. Returns the fate of the start before. */
static enum start_fate agree_to_start(const struct repetition_maker *maker) {
    phase_enter(PHASE_START);
    return start_agree(maker->line);
}

/* The part that has this turn. */
static const struct repetition_part *part_at(const struct repetition_maker *maker, const struct repetition *r,
                                             size_t turn) {
    const struct repetition_kind *kind = maker->kind;
    if (kind->group == 0) {
        return kind->parts[turn];
    }
    return kind->parts[turn / kind->group * kind->group + turns_at(kind->group, r->number, turn % kind->group)];
}

static void prepare(const struct repetition_maker *maker, const struct repetition *r, size_t turn) {
    const struct repetition_part *part = part_at(maker, r, turn);
    if (part->prepare != NULL && maker->active) {
        part->prepare(maker->context);
    }
}

static void time_part(const struct repetition_maker *maker, struct repetition *r, size_t turn) {
    const struct repetition_part *part = part_at(maker, r, turn);
    if (!maker->active) {
        start_spin(maker->line);
        return;
    }
    r->turn = turn;
    part->time(maker->context, maker->line, r);
    if (part->finish != NULL) {
        part->finish(maker->context);
    }
}

/* Without a clock that all share, times are each rank's own from its own start: as if all had started at 0. */
static int64_t begin_of(const struct repetition_maker *maker, const struct repetition_series *span,
                        const struct repetition *r) {
    return has_clock(maker) ? clock_to_global(maker->clock, r->terms[span->term]) : 0;
}

static int64_t end_of(const struct repetition_maker *maker, const struct repetition_series *span,
                      const struct repetition *r) {
    return has_clock(maker) ? clock_to_global(maker->clock, r->terms[span->end])
                            : r->terms[span->end] - r->terms[span->term];
}

/* Writes this rank's part of the times over all ranks, and returns where the next repetition's begins. */
static int64_t *put_terms(const struct repetition_maker *maker, const struct repetition *r, int64_t *next) {
    for (size_t i = 0; i < maker->kind->series_count; i++) {
        const struct repetition_series *series = &maker->kind->series[i];
        if (series->over == OVER_SPAN) {
            *next++ = maker->active ? end_of(maker, series, r) : REPETITION_NO_TIME;
            *next++ = maker->active ? -begin_of(maker, series, r) : REPETITION_NO_TIME;
        } else if (series->over == OVER_LARGEST) {
            *next++ = maker->active ? r->terms[series->term] : REPETITION_NO_TIME;
        }
    }
    return next;
}

/* Reads what put_terms wrote, after it was combined. */
static const int64_t *take_times(const struct repetition_kind *kind, const struct repetition *r, const int64_t *next,
                                 struct repetition_outcome *outcome) {
    for (size_t i = 0; i < kind->series_count; i++) {
        if (kind->series[i].over == OVER_SPAN) {
            outcome->times[i] = next[0] + next[1];
            next += 2;
        } else if (kind->series[i].over == OVER_LARGEST) {
            outcome->times[i] = *next++;
        } else if (kind->series[i].over == OVER_ORDER) {
            outcome->times[i] = turns_order(kind->group, r->number);
        } else if (kind->series[i].over == OVER_LATE) {
            outcome->times[i] = outcome->late_starts;
        }
    }
    return next;
}

void repetition_combine(const struct repetition_maker *maker, const struct repetition *repetitions, size_t count,
                        struct repetition_outcome *outcomes) {
    const struct repetition_kind *kind = maker->kind;
    int64_t *all = fail_alloc(2 + 2 * kind->series_count * count, sizeof *all);
    int64_t *end = all + 2;
    phase_enter(PHASE_GATHER);
    all[0] = start_fate_of(maker->line);
    all[1] = kind->wrong != NULL && maker->active && kind->wrong(maker->context);
    for (size_t i = 0; i < count; i++) {
        end = put_terms(maker, &repetitions[i], end);
    }
    start_forget(maker->line);
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, all, (int)(end - all), MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD));
    const int64_t *next = all + 2;
    for (size_t i = 0; i < count; i++) {
        const bool last = i + 1 == count;
        outcomes[i] = (struct repetition_outcome){.late_starts = repetitions[i].late + (last && all[0] == START_LATE),
                                                  .spoilt = last && all[0] == START_SPOILT,
                                                  .wrong_data = all[1] != 0};
        next = take_times(kind, &repetitions[i], next, &outcomes[i]);
    }
    free(all);
}

void repetition_make(const struct repetition_maker *maker, struct repetition *r, struct repetition *before) {
    prepare(maker, r, 0);
    const enum start_fate fate = agree_to_start(maker);
    if (before != NULL) {
        before->late += fate == START_LATE;
    }
    for (size_t turn = 0; turn < maker->kind->part_count; turn++) {
        if (turn > 0) {
            prepare(maker, r, turn);
            r->late += agree_to_start(maker) == START_LATE;
        }
        time_part(maker, r, turn);
    }
}

struct repetition_outcome repetition_run(const struct repetition_maker *maker, struct repetition *r) {
    struct repetition_outcome outcome = {.wrong_data = false};
    int spoilt = 0;
    prepare(maker, r, 0);
    agree_to_start(maker);
    for (size_t turn = 0; turn < maker->kind->part_count;) {
        const bool last = turn + 1 == maker->kind->part_count;
        enum start_fate fate = START_PUNCTUAL;
        time_part(maker, r, turn);
        if (last) {
            repetition_combine(maker, r, 1, &outcome);
            fate = outcome.spoilt && !outcome.wrong_data ? START_SPOILT : START_PUNCTUAL;
        } else {
            prepare(maker, r, turn + 1);
            fate = agree_to_start(maker);
        }
        r->late += fate == START_LATE;
        if (fate != START_SPOILT) {
            turn++;
        } else if (++spoilt == MOST_SPOILT) {
            outcome.spoilt = true;
            return outcome;
        } else {
            prepare(maker, r, turn);
            agree_to_start(maker);
        }
    }
    return outcome;
}
