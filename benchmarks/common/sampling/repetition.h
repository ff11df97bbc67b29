/*
 * repetition - makes one repetition: its parts run in turn, each from a common start of all ranks; then the ranks
 * combine their times. A group of parts can change its order from repetition to repetition (turns.h).
 *
 * A benchmark says which parts there are, what each rank times in them, and what is made of these terms over all ranks.
 * At every start the ranks learn whether a rank was late at the start before. Such a repetition is kept and marked:
 * what made the rank late, such as a thread of the library on its core, is a cost of what is measured, and times run
 * from the agreed moment. (docs/measurement.md says how this was decided.) A part that was spoilt (start_spoil) is done
 * again.
 */
#pragma once

#include "clock.h"
#include "start.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many elements an array has: the parts or the series of a kind. */
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* The terms that one rank measured: durations, moments (local times when taken), or counts. A benchmark numbers its
 * terms itself. */
enum { REPETITION_MOST_TERMS = 24 };
struct repetition {
    int64_t terms[REPETITION_MOST_TERMS];
    uint64_t number; /* of the repetitions before it: the order of parts depends on it; the same on all ranks */
    /* Filled in while it is made: */
    size_t turn; /* how many parts ran before the one that is being timed */
    int late;    /* the starts known so far that a rank was late at; the same on all ranks */
};

struct repetition_part {
    /* Untimed work before the ranks agree on a start. NULL: none. */
    void (*prepare)(void *context);
    /* The timed work: begins with start_spin(line) and fills in terms. */
    void (*time)(void *context, start_line *line, struct repetition *r);
    /* Collective: untimed work after it, such as a check of the data that arrived. NULL: none. */
    void (*finish)(void *context);
};

/* How one number per repetition is made of the terms of all ranks. */
enum repetition_over {
    OVER_LARGEST,   /* the largest value of a term */
    OVER_SPAN,      /* max(end) - min(begin) of two moments; without a clock the longest of the ranks' own durations */
    OVER_SUM,       /* the sum of a term; known when the repetitions are gathered, not earlier */
    OVER_IMBALANCE, /* max(begin) - min(begin) of one moment; not known without a clock */
    /* without a term: */
    OVER_ELAPSED, /* the time since the point began, on rank 0 */
    OVER_ORDER,   /* in which order the parts of a group ran, as turns_order writes it */
    OVER_LATE     /* the number of starts that a rank was late at */
};

struct repetition_series {
    const char *name; /* in the record */
    enum repetition_over over;
    int term;         /* the term, or the first moment */
    int end;          /* of OVER_SPAN: the last moment */
    bool stops;       /* the point is repeated until the interval of this series is narrow */
    bool may_lack;    /* of another number of parts, which lacks it */
    const char *help; /* one sentence for the description; NULL: `over` says it */
};

enum { REPETITION_MOST_SERIES = 20 };
struct repetition_kind {
    const struct repetition_part *const *parts; /* in the order in which they run, as far as they do not take turns */
    size_t part_count;
    size_t group; /* so many parts after each other take turns, the next ones likewise; a divisor of part_count. 0: none
                     do */
    size_t terms;
    const struct repetition_series *series;
    size_t series_count;
    bool (*wrong)(void *context); /* returns whether this rank has received wrong data. NULL: never */
    bool spoils;                  /* parts may be spoilt: repetitions are made by repetition_run */
};

/* What became of a repetition, the same on all ranks. */
struct repetition_outcome {
    int64_t times[REPETITION_MOST_SERIES]; /* ns, of the series OVER_LARGEST and OVER_SPAN, by the extrapolated clock:
                                              good enough for decisions; the record gets interpolated times */
    int late_starts;                       /* starts that a rank was late at */
    bool spoilt;                           /* a part was spoilt too often: the times mean nothing */
    bool wrong_data;
};

/* The time of a rank that takes no part: so small that neither the value nor the sum of two is ever the largest. */
#define REPETITION_NO_TIME (INT64_MIN / 4)

/* With what repetitions are made. active: this rank takes part; a rank that does not only starts with the others. */
struct repetition_maker {
    const struct repetition_kind *kind;
    void *context;
    start_line *line;
    const clock_model *clock;
    bool active;
};

/* Collective: makes a repetition, and combines the times of all ranks. A spoilt part is done again, a few times. *r has
 * its number, and gets this rank's terms. */
struct repetition_outcome repetition_run(const struct repetition_maker *maker, struct repetition *r);

/* Collective: makes a repetition whose times are combined later, together with those of others, because each time costs
 * messages for which all ranks wait, milliseconds where a progress thread shares their cores. before: the repetition
 * before it, if its times have not been combined either; NULL: they have. */
void repetition_make(const struct repetition_maker *maker, struct repetition *r, struct repetition *before);

/* Collective: combines the times of so many repetitions, at most REPETITION_MOST_TOGETHER, of which repetition_make has
 * made the last one just now. Wrong data are those of any of them. */
enum { REPETITION_MOST_TOGETHER = 64 };
void repetition_combine(const struct repetition_maker *maker, const struct repetition *repetitions, size_t count,
                        struct repetition_outcome *outcomes);

/* Returns how late a rank may start, ns, where the shortest measured time is about shortest_ns: 1/500 of it, at least 2
 * us and at most 100 us. */
int64_t repetition_tolerance(int64_t shortest_ns);
