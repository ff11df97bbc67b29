/*
 * samples - the repetitions of one point, in the order in which they were made: every rank keeps its own, and rank 0
 * gathers them.
 *
 * Which leading repetitions are warm-up is found in the times over all ranks (series_warmup), not fixed in advance.
 * They are left out where they are slower than the later repetitions by more than half the asked width of the interval,
 * which is how uncertain the median may be. A smaller difference can be seen on a quiet machine, and does no harm.
 *
 * Memory: a rank keeps its own repetitions. Rank 0 gets one number per repetition of each series, four of each spread,
 * and one number per rank of each median; the values of all ranks in all repetitions only where the record has them.
 */
#pragma once

#include "clock.h"
#include "record.h"
#include "repetition.h"
#include "series.h"
#include "stats.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A term that each rank times, or the sum of a few terms, and its name in the record. */
struct samples_sum {
    const char *name;
    size_t count;
    int terms[3];
    const char *help; /* one sentence for the description; NULL: that of the series or spread of this name */
};

/* The ratio of two series within a repetition, where that is what a benchmark reports. The point is repeated until the
 * 95 % interval of its median is narrow, too: at most `width` times as wide as asked, relative. */
struct samples_ratio {
    size_t numerator;
    size_t denominator;
    double width;
};

/* What is repeated, and what the record has of it beside the series. */
struct samples_kind {
    struct repetition_kind repeated;
    const struct samples_ratio *ratio; /* NULL: none */
    const struct samples_sum *spreads; /* the record has min, median and max over ranks, per repetition */
    size_t spread_count;
    const struct samples_sum *rank_medians; /* the record has the median of each rank */
    size_t rank_median_count;
    const struct samples_sum *rank_samples; /* the record has every repetition of each rank */
    size_t rank_sample_count;
    const struct samples_sum *thread_medians; /* names: the record has the median of each computing thread */
    size_t thread_median_count;
    /* Returns the time of each computing thread of this rank in the last repetition, ns, for thread_medians[number]. */
    const int64_t *(*threads)(void *context, size_t number);
};

/* What rank 0 finds in the repetitions so far. */
struct samples_look {
    size_t warmup; /* leading repetitions that are warm-up */
    size_t count;  /* repetitions after the warm-up */
    double widest; /* the widest 95 % interval of a median, relative, of the series that stop the point; negative: there
                      is none yet */
    bool settled;  /* all intervals, that of the ratio too, are as narrow as asked and may be believed: stats_settled,
                      series_outlived */
};

typedef struct samples samples;

/*
 * asked_relative: the width that the intervals must reach. warmup_relative: by how much slower than the repetitions
 * that follow, in the median, a warm-up must be to be left out. threads: computing threads of each rank. every_rank:
 * the record has the samples of each rank and the medians of its threads. Both kind and clock must outlive the samples.
 */
samples *samples_create(const struct samples_kind *kind, const clock_model *clock, double asked_relative,
                        double warmup_relative, int threads, bool every_rank);
void samples_destroy(samples *s);
void samples_clear(samples *s);

/* Adds a valid repetition of this rank. context: that of the kind. elapsed_ns: the time since the point began, on rank
 * 0. */
void samples_add(samples *s, void *context, const struct repetition *own, int64_t elapsed_ns);

/* Tells the times over all ranks (repetition_outcome) of a repetition that was added; needed on rank 0 before it looks
 * at them. */
void samples_tell(samples *s, size_t repetition, const int64_t *times);

/* Forgets all repetitions but the first so many. */
void samples_shorten(samples *s, size_t count);

/* Returns the number of valid repetitions, warm-up included. */
size_t samples_count(const samples *s);

/* Rank 0: returns how many repetitions a rank began late, without the warm-up. */
int64_t samples_late(const samples *s);

/* Rank 0: looks at the repetitions so far. */
struct samples_look samples_look_at(const samples *s);

/* Rank 0: of one series without its warm-up, the median in ns; the mean; the drift; and whether the whole 95 % interval
 * of the median is more than `share` (relative) above or below the time from_ns. */
int64_t samples_median(const samples *s, size_t series);
struct stats_mean samples_mean(const samples *s, size_t series);
struct series_drift samples_drift(const samples *s, size_t series);
bool samples_moved(const samples *s, size_t series, double from_ns, double share);

/* Rank 0: of the ratio of two series within a repetition, without warm-up, on which side of a limit the interval of its
 * median lies: -1 below it or at it, 1 above it, 0: it contains the limit, or there is none. sure: the interval of 99.9
 * % instead of that of 95 %. */
int samples_ratio_side(const samples *s, size_t numerator, size_t denominator, double limit, bool sure);

/* Call it after every synchronisation of the clock: the moments of the repetitions added since the last one become
 * global. Does nothing without a clock. */
void samples_close(samples *s);

/* Returns whether a series compares times of different ranks. After a clock was refused,
 * repetitions made before cannot be mixed with later ones in such a series. */
bool samples_need_clock(const samples *s);

/* Collective: gathers on rank 0 what the record has of all ranks. From then on, rank 0's times over ranks come from the
 * interpolated clock. active: whether this rank takes part in the point. */
void samples_gather(samples *s, bool active);

/*
 * Rank 0, after samples_gather: fills in the parts of the record that the repetitions give. Its arrays are valid until
 * the next call that changes the samples. Ranks that take no part have 0 in arrays by rank.
 */
void samples_describe(samples *s, struct record_point *record);

/* Rank 0, after samples_gather: returns the largest of the ranks' medians of a term. */
int64_t samples_largest_median(const samples *s, int term);

/* Return the sum of the times of all series that stop a point, in seconds: over the repetitions that count, and over
 * the warm-up. */
double samples_seconds(const samples *s);
double samples_warmup_seconds(const samples *s);
