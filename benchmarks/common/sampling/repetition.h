/*
 * repetition - one repetition: parts that run in turn, each from a common start of all ranks, and what all ranks took.
 *
 * A benchmark says which parts there are, what each rank times in them, and what is made of that over all ranks. Every
 * agreement on a start tells whether a rank was late at the start before: what that began is worth nothing, and is done
 * again; what came before it is kept.
 */
#ifndef CAMPAIGN_REPETITION_H
#define CAMPAIGN_REPETITION_H

#include "clock.h"
#include "start.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What one rank measured: durations and moments (local times when taken), or counts, by the benchmark's own numbers of
 * terms. */
enum { REPETITION_MOST_TERMS = 16 };
struct repetition {
    int64_t terms[REPETITION_MOST_TERMS];
};

struct repetition_part {
    void (*prepare)(void *context); /* before the ranks agree on a start: what must not be timed. NULL: nothing */
    void (*time)(void *context, start_line *line,
                 struct repetition *r); /* begins with start_spin(line); fills in terms */
    void (*finish)(void *context); /* collective, after it: what must not be timed, such as a check of what arrived.
                                      NULL: nothing */
};

/* What one number over all ranks is. */
enum repetition_over {
    OVER_LARGEST,   /* the largest of a term: of the rank that took longest */
    OVER_SPAN,      /* max(end) - min(begin) of two moments. Without a clock: the longest of the ranks' own durations */
    OVER_IMBALANCE, /* max(begin) - min(begin) of one moment. Without a clock it is not known */
    OVER_ELAPSED    /* no term: on rank 0, since the point began */
};

struct repetition_series {
    const char *name; /* in the record */
    enum repetition_over over;
    int term;   /* the term, or the first moment */
    int end;    /* of OVER_SPAN: the last moment */
    bool stops; /* the point goes on until this one's interval is narrow */
};

enum { REPETITION_MOST_SERIES = 8 };
struct repetition_kind {
    const struct repetition_part *const *parts; /* in turn */
    size_t part_count;
    size_t terms;
    const struct repetition_series *series;
    size_t series_count;
    bool (*wrong)(void *context); /* this rank has received wrong data. NULL: there are none */
};

/* How it went, the same on all ranks. */
struct repetition_outcome {
    int64_t times[REPETITION_MOST_SERIES]; /* of OVER_LARGEST and OVER_SPAN, by the clock as it is extrapolated: good
                                              enough to decide; the record gets interpolated ones */
    bool late;                             /* a rank missed a start: the times mean nothing */
    int late_starts;                       /* those that were missed, made up for or not */
    bool wrong_data;
};

/* Collective. A part whose start a rank missed is done again, a few times. active: this rank takes part; one that does
 * not only starts with the others. */
struct repetition_outcome repetition_run(const struct repetition_kind *kind, void *context, start_line *line,
                                         const clock_model *clock, bool active, struct repetition *r);

/* How late a rank may start, ns, where the shortest time that is measured is about this: a small part of it, at least
 * what a spin takes to see its deadline. */
int64_t repetition_tolerance(int64_t shortest_ns);

#endif
