/*
 * sampler - measures the points of a benchmark: repeats each until its medians are known well enough, and writes it to
 * the record.
 *
 * A benchmark says in a struct sampler_kind what is repeated, which points there are and what is made of the
 * repetitions. The sampler does the rest: the common start, warm-up, the stop rule, the budget that is
 * divided over the points, the segments between synchronisations of the clock and the interpolation in them, gathering,
 * the point's line in the record and its row of the table.
 *
 * All ranks call the same functions in the same order; rank 0 alone decides what comes next and tells the others, so
 * that no two ranks ever disagree about a size, a repetition or a stop.
 *
 * The stop rule (series.h, stats.h): a point is done when the 95 % intervals of the medians of all series that stop it
 * are as narrow as asked and may be believed; when it has max_repetitions; or when its share of the budget is spent and
 * it has min_repetitions.
 */
#pragma once

#include "budget.h"
#include "clock.h"
#include "fields.h"
#include "options.h"
#include "record.h"
#include "samples.h"
#include "start.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- what is asked for ---- */

/* When a point is done. */
struct sampler_rule {
    double interval_relative; /* asked width of the intervals; 0: max_repetitions alone */
    double warmup_relative;   /* by how much slower a warm-up must be to be left out (samples_create) */
    int64_t min_repetitions;
    int64_t max_repetitions;
    int64_t most_spoilt; /* a point ends when so many of its repetitions were spoilt (start_spoil) */
};

/* A parameter and the values that are asked for: numbers, or texts of a table. */
struct sampler_axis {
    const char *name;
    const int64_t *numbers;              /* of texts: their indices in choices */
    const struct option_choice *choices; /* NULL: numbers */
    size_t count;
    bool of_plan;    /* it stands in the plan only, not in each point */
    bool millionths; /* the numbers are millionths of the values, as those of OPTION_REALS */
    int64_t only;    /* room for the one number of an axis that has one */
};

enum { SAMPLER_MOST_AXES = 10 };

/* Fills in the axes of a table of options: those of these names first (NULL-terminated), which the program numbers in
 * this order, then the others in the order of the table. Entries with the same parameter are one axis, which gets the
 * values of the first. Returns how many there are. They point at the options' targets and into `axes`. Dies where no
 * entry has one of the names. */
size_t sampler_axes(const struct option_entry *entries, const char *const *names,
                    struct sampler_axis axes[SAMPLER_MOST_AXES]);

struct sampler_plan {
    const struct sampler_axis *axes; /* the points are the product of the axes; the last axis changes fastest */
    size_t axis_count;
    struct sampler_rule rule;
    struct budget budget;
    enum start_method start;
    int64_t settle_ns; /* nothing is sent for this long before every start (start_settle) */
    bool every_rank;   /* the samples of every rank are recorded, however many ranks there are */
};

/* ---- what a benchmark says ---- */

/* The point that is being measured. */
struct sampler_point {
    int64_t index;
    size_t at[SAMPLER_MOST_AXES]; /* [axis]: index of the value */
    /* What begin may fill in: */
    int64_t shortest_ns; /* about the time of the shortest part, from which repetition_tolerance follows; 0: the
                            strictest */
    /* MPI_COMM_WORLD. A rank that makes it MPI_COMM_NULL takes no part in the point: it only starts with the others. */
    MPI_Comm comm;
    /* The sampler fills in: */
    int beginnings;      /* earlier beginnings of this point: above 0 where begin or review made it begin again */
    int64_t begin_ns;    /* local time of this beginning; review may move it */
    int64_t first_ns;    /* when its first repetition began */
    int64_t deadline_ns; /* rank 0: end of the point's share of the budget; 0: no budget. review may move it */
    int64_t attempts;    /* repetitions since it was last begun, valid or not */
    int64_t spoilt;      /* repetitions that were spoilt */
    int64_t discarded;   /* repetitions thrown away, the spoilt ones among them */
    int64_t data_errors;
    const char *stop_reason;  /* why it ended, as in the record */
    int64_t synchronisations; /* of the clock, before the point */
    enum start_method start;
};

/* What a benchmark decides about repetitions that are enough for the sampler. */
enum sampler_review {
    SAMPLER_ACCEPT, /* they are accepted */
    SAMPLER_KEEP,   /* they are kept, but the ranks did something else meanwhile, or the point is to go on */
    SAMPLER_BEGIN_AGAIN,
    SAMPLER_WRONG_DATA /* wrong data were received during the review */
};

/* Whether a point has enough repetitions before its share of the budget is spent. */
enum sampler_answer {
    SAMPLER_BY_INTERVALS, /* when the intervals of the series that stop it are narrow */
    SAMPLER_UNTOLD,       /* not yet */
    SAMPLER_TOLD
};

typedef struct sampler sampler;

/* Hooks that are NULL do nothing. All ranks call a collective hook at the same time. context is the benchmark's own. */
struct sampler_kind {
    struct samples_kind samples;

    /* Returns whether this element of the axes' product is a point. NULL: all are. */
    bool (*has_point)(void *context, const size_t at[SAMPLER_MOST_AXES]);
    /* Collective, for points that are found while the run goes on, instead of the axes' product: describes the next
     * point, in `at` or in the benchmark's context, the same on all ranks. Returns false where there is none.
     * sampler_samples has the last point's repetitions, on rank 0. */
    bool (*next_point)(void *context, const sampler *s, struct sampler_point *point);
    /* Returns about how long one repetition takes, seconds; the budget is divided in this proportion. NULL: in equal
     * parts. */
    double (*weight)(void *context, const size_t at[SAMPLER_MOST_AXES]);
    /* With next_point: returns about how many points are still to come, including that one. NULL: that one alone. */
    double (*points_left)(void *context);

    /* Rank 0: whether the repetitions tell what a point is for, where that is something else than narrow intervals,
     * such as the answer of a step of a search. NULL: the intervals decide for all points. */
    enum sampler_answer (*answer)(void *context, const sampler *s);

    /* Collective, before the first repetition, and whenever the point begins again. Rank 0's answer decides; false: the
     * point cannot be measured. */
    bool (*begin)(void *context, struct sampler_point *point);
    /* Collective, after the point was written. */
    void (*end)(void *context, const struct sampler_point *point);
    /* Rank 0, after every repetition: returns whether the point must be reviewed at once. */
    bool (*doubts)(void *context, const struct sampler_point *point, const sampler *s);
    /* Collective, when the repetitions are enough, or where doubts returned true. */
    enum sampler_review (*review)(void *context, struct sampler_point *point, const sampler *s);
    /* Collective: returns the number of elements that arrived wrong, and one line about the first. Required with
     * repeated.wrong. */
    int64_t (*faults)(void *context, char *text, size_t text_size);

    /* The fields of a point's parameters beside its axes, and of its `own` object, in a struct of row_bytes that `fill`
     * fills in on rank 0. It is zero before, and what it points at must live until the point ends. NULL: none. */
    const struct field *parameters;
    const struct field *own;
    size_t row_bytes;
    void (*fill)(void *context, const struct sampler_point *point, const sampler *s, void *row);

    /* Names the point, such as "8 ms x 16 ms", for the line of a run that hangs. */
    void (*name)(void *context, const struct sampler_point *point, char *text, size_t text_size);
    /* Rank 0: print the table for people. Without them it is that of table.h. */
    void (*print_head)(void *context);
    void (*print_row)(void *context, const struct sampler_point *point, const sampler *s,
                      const struct record_point *record);

    /* Returns whether a run without a valid repetition is complete, because what it is about is not repeated. NULL: it
     * is not. */
    bool (*may_be_empty)(void *context);

    /* The message where nothing was measured although there was time: the likely cause and what to do. NULL: none. */
    const char *nothing;
};

/* ---- measuring ---- */

/* What the sampler measures with. */
struct sampler_session {
    int rank;
    int ranks;
    int threads; /* computing threads of each rank */
    clock_model *clock;
    bool clockless;      /* the record has no clock: no times of different ranks are compared */
    record_file *record; /* on rank 0 */
    bool quiet;          /* the table is not printed */
};

enum sampler_end {
    SAMPLER_COMPLETE,
    SAMPLER_NOTHING_MEASURED, /* no valid repetition: the budget was too small, or no point can be measured */
    SAMPLER_DATA_ERROR,       /* a rank received wrong data */
    SAMPLER_RECORD_ERROR      /* the record could not be written */
};

struct sampler_result {
    enum sampler_end end;
    int64_t points;          /* written */
    double measured_seconds; /* in valid repetitions; this and the next two are known on rank 0 */
    double warmup_seconds;   /* in warm-ups */
    /* in spoilt repetitions, from their beginning to their end on rank 0, and in repetitions of points that were begun
     * again */
    double thrown_away_seconds;
    double clock_seconds; /* synchronising the clock */
    double wall_seconds;  /* of sampler_measure */
    const char *reason;   /* one line, on rank 0; "" when complete. Owned by the sampler */
};

/* Collective. What the arguments point at must outlive the sampler. */
sampler *sampler_create(const struct sampler_kind *kind, void *context, const struct sampler_plan *plan,
                        const struct sampler_session *session);
void sampler_destroy(sampler *s);

/* Returns the sampler's start line, for measurements beside the points. */
start_line *sampler_start(sampler *s);

/* Returns the repetitions of the point that is being measured, or of the last point. */
const samples *sampler_samples(const sampler *s);

/* Collective: measures and writes all points. A run without a valid repetition ends with SAMPLER_NOTHING_MEASURED. */
struct sampler_result sampler_measure(sampler *s);

/* Returns the number of points; RECORD_UNKNOWN where they are found while the run goes on. */
int64_t sampler_count_points(const struct sampler_kind *kind, void *context, const struct sampler_plan *plan);

/* Returns the plan's parameters for the header as a JSON object. Free with free(). */
char *sampler_plan_parameters(const struct sampler_plan *plan);

/* Writes what the record has of a point of this kind as an object. */
void sampler_describe(json_line *line, const struct sampler_kind *kind);
