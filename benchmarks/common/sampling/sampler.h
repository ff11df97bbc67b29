/*
 * sampler - measures the points of a benchmark: repeats each until its medians are known well enough, and writes it to
 * the record.
 *
 * A benchmark says with a struct sampler_kind what is repeated and what is made of it, and which points there are; the
 * sampler does the rest: the common start, late starts, warm-up, the stop rule, the budget that is divided over the
 * points, the segments between synchronisations of the clock and the interpolation in them, gathering, the point's line
 * in the record and its row of the table.
 *
 * All ranks call the same functions in the same order; rank 0 alone decides what comes next and tells the others, so
 * that no two ranks ever disagree about a size, a repetition or a stop.
 *
 * The stop rule (series.h, stats.h): a point is done when the 95 % intervals of the medians of all series that stop it
 * are narrow, and may be believed to be; when it has the most repetitions that are allowed; or when its share of the
 * budget is spent, but not before the fewest.
 */
#ifndef CAMPAIGN_SAMPLER_H
#define CAMPAIGN_SAMPLER_H

#include "budget.h"
#include "clock.h"
#include "json.h"
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
    double warmup_relative;   /* how much slower a warm-up must be to count (samples_create) */
    int64_t min_repetitions;
    int64_t max_repetitions;
    int64_t most_late; /* more starts of a point than this, and late_per_repetition for each repetition, are not put up
                          with: a */
    int64_t late_per_repetition; /* machine on which nearly every start is late must not hold a run up for ever */
};

/* A parameter, and the values that are asked for: numbers or texts. */
struct sampler_axis {
    const char *name;
    const int64_t *numbers;
    const char *const *texts; /* NULL: numbers */
    size_t count;
    bool constant; /* it has one value, and is no parameter of each point */
};

enum { SAMPLER_MOST_AXES = 8 };
struct sampler_plan {
    const struct sampler_axis *axes; /* points are their product, the last one fastest */
    size_t axis_count;
    struct sampler_rule rule;
    struct budget budget;
    enum start_method start;
    int64_t settle_ns; /* before every start, nothing is sent for this long */
    bool every_rank;   /* the samples of every rank are recorded, however many ranks there are */
};

/* ---- what a benchmark says ---- */

/* The point that is being measured. */
struct sampler_point {
    int64_t index;
    size_t at[SAMPLER_MOST_AXES]; /* of each axis, the value's number */
    /* What begin may fill in: */
    int64_t shortest_ns; /* about what the shortest part takes, which says how late a start may be; 0: the strictest */
    MPI_Comm comm; /* MPI_COMM_WORLD. A rank that makes it MPI_COMM_NULL takes no part in the point: it only starts with
                      the others */
    /* The sampler's: */
    int beginnings; /* how often the point was begun before: more than once where begin or review made it begin again */
    int64_t begin_ns;    /* local time of this beginning; review may move it */
    int64_t first_ns;    /* when its first repetition began */
    int64_t deadline_ns; /* rank 0: the point's share of the budget ends; 0: there is none. review may move it */
    int64_t attempts;    /* repetitions, good or not */
    int64_t late;        /* starts */
    int64_t late_now;    /* of them, since it was last begun */
    int64_t discarded;   /* repetitions */
    int64_t data_errors;
    const char *stop_reason;  /* when it is over: as in the record */
    int64_t synchronisations; /* of the clock, before the point */
    enum start_method start;
};

/* What a benchmark says of repetitions that would do for the sampler. */
enum sampler_review {
    SAMPLER_ACCEPT, /* nothing against them */
    SAMPLER_KEEP,   /* they are kept, but the caches were used meanwhile, or the point is to go on */
    SAMPLER_BEGIN_AGAIN,
    SAMPLER_WRONG_DATA /* looking into it, wrong data were received */
};

typedef struct sampler sampler;

/* Hooks that are left out do nothing. Where it says collective, all ranks call them at the same time. context: the
 * benchmark's own. */
struct sampler_kind {
    struct samples_kind samples;

    /* Which points there are. Of the axes' product, whether this one is among them; NULL: all are. */
    bool (*has_point)(void *context, const size_t at[SAMPLER_MOST_AXES]);
    /* Collective, instead of the product: the next point, of which it fills in `at` or what it keeps itself, alike on
     * all ranks; false: there is none. What the last one had, sampler_samples knows on rank 0. */
    bool (*next_point)(void *context, const sampler *s, struct sampler_point *point);
    /* About how long one repetition takes, seconds: how the budget is divided. NULL: all alike. */
    double (*weight)(void *context, const size_t at[SAMPLER_MOST_AXES]);
    /* With next_point: how many points are still to come, about, that one among them. NULL: no other. */
    double (*points_left)(void *context);

    /* Collective, before the first repetition, and where it begins again. false, which rank 0 decides: it cannot be
     * measured. */
    bool (*begin)(void *context, struct sampler_point *point);
    /* Collective, after it was written. */
    void (*end)(void *context, const struct sampler_point *point);
    /* Rank 0, after every repetition: whether what it sees so far is to be reviewed at once. */
    bool (*doubts)(void *context, const struct sampler_point *point, const sampler *s);
    /* Collective, when repetitions would do, or there was doubt. */
    enum sampler_review (*review)(void *context, struct sampler_point *point, const sampler *s);
    /* Collective: how many elements arrived wrong, and one line about the first. Needed with repeated.wrong. */
    int64_t (*faults)(void *context, char *text, size_t text_size);

    /* Rank 0: the members of the point's parameters and of its own object. Without `parameters` they are the axes'
     * values. */
    void (*parameters)(void *context, const struct sampler_point *point, json_line *line);
    void (*own)(void *context, const struct sampler_point *point, const sampler *s, json_line *line);

    /* For the line of a hung run: what the point is, such as "8 ms x 16 ms". */
    void (*name)(void *context, const struct sampler_point *point, char *text, size_t text_size);
    /* Rank 0: the table for people. Without them it has the parameters and the median of every series. */
    void (*print_head)(void *context);
    void (*print_row)(void *context, const struct sampler_point *point, const sampler *s,
                      const struct record_point *record);

    /* Why nothing may have been measured although there was time: what to do about it. */
    const char *nothing;
};

/* ---- measuring ---- */

/* Who measures. */
struct sampler_session {
    int rank;
    int ranks;
    int threads; /* computing threads of each rank */
    clock_model *clock;
    bool clockless;      /* the record has no clock: no times of different ranks are compared */
    record_file *record; /* rank 0's */
    bool quiet;          /* no table */
};

enum sampler_end {
    SAMPLER_COMPLETE,
    SAMPLER_NOTHING_MEASURED, /* not a single repetition: the budget was too small, or no point can be measured */
    SAMPLER_DATA_ERROR,       /* a rank received wrong data */
    SAMPLER_RECORD_ERROR      /* the record could not be written */
};

struct sampler_result {
    enum sampler_end end;
    int64_t points;          /* written */
    double measured_seconds; /* in valid repetitions, on rank 0; so are these: */
    double warmup_seconds;   /* in warm-ups */
    double
        thrown_away_seconds; /* in repetitions that a rank began late, and in those of points that were begun again */
    double clock_seconds;    /* synchronising the clock */
    double wall_seconds;     /* of sampler_measure */
    const char *reason;      /* one line, of rank 0; empty when complete. Owned by the sampler */
};

/* Collective. What is pointed at must outlive it. */
sampler *sampler_create(const struct sampler_kind *kind, void *context, const struct sampler_plan *plan,
                        const struct sampler_session *session);
void sampler_destroy(sampler *s);

/* Where the ranks start together: for what is measured beside the points. */
start_line *sampler_start(sampler *s);

/* The repetitions of the point, or of the last one. */
const samples *sampler_samples(const sampler *s);

/* Collective. Measures and writes all points. A run without a single repetition has measured nothing. */
struct sampler_result sampler_measure(sampler *s);

/* How many points there will be; RECORD_UNKNOWN where they are found on the way. */
int64_t sampler_count_points(const struct sampler_kind *kind, void *context, const struct sampler_plan *plan);

/* The plan's parameters for the header: a JSON object. Free with free(). */
char *sampler_plan_parameters(const struct sampler_plan *plan);

#endif
