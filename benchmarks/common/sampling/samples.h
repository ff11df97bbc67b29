/*
 * samples - the repetitions of one point, in the order of time: kept by every rank, brought together on rank 0.
 *
 * Which leading repetitions are warm-up is found in the times of all ranks (series_warmup), not fixed in advance. They
 * count where they are slower than what follows by more than the median may be uncertain, half the asked width: on a
 * quiet machine less than that can be seen, and does no harm.
 */
#ifndef CAMPAIGN_SAMPLES_H
#define CAMPAIGN_SAMPLES_H

#include "clock.h"
#include "record.h"
#include "repetition.h"
#include "series.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A term that each rank times, or the sum of a few, by its name in the record. */
struct samples_sum {
    const char *name;
    size_t count;
    int terms[3];
};

/* What is repeated, and what the record says of it beside the series. */
struct samples_kind {
    struct repetition_kind repeated;
    const struct samples_sum *spreads; /* min, median, max over ranks of each repetition */
    size_t spread_count;
    const struct samples_sum *rank_medians; /* the median of each rank */
    size_t rank_median_count;
    const struct samples_sum *rank_samples; /* every repetition of each rank */
    size_t rank_sample_count;
    const char *const *thread_medians; /* the median of each computing thread of each rank */
    size_t thread_median_count;
    /* Of the last repetition: the time of each computing thread of this rank, for the thread_medians of this number. */
    const int64_t *(*threads)(void *context, size_t number);
};

/* The times of all ranks so far; the same order. */
struct samples_look {
    size_t warmup; /* leading repetitions that are none of what follows */
    size_t count;  /* the others */
    double widest; /* relative 95 % interval, of the medians of the series that stop a point the widest; negative: none
                      yet */
    bool settled;  /* the intervals may be believed to be as narrow as asked: stats_settled, series_outlived */
};

typedef struct samples samples;

/*
 * asked_relative: the width that the intervals are to have. warmup_relative: by how much more than what follows a
 * warm-up must take, in the median, to count. threads: of each rank.
 */
samples *samples_create(const struct samples_kind *kind, const clock_model *clock, double asked_relative,
                        double warmup_relative, int threads);
void samples_destroy(samples *s);
void samples_clear(samples *s);

/*
 * Adds a valid repetition of this rank. context: the kind's own. times: those of all ranks, which only rank 0 needs to
 * know. elapsed_ns: since the point began, on rank 0.
 */
void samples_add(samples *s, void *context, const struct repetition *own, const int64_t *times, int64_t elapsed_ns);

/* Valid ones, warm-ups included. */
size_t samples_count(const samples *s);

/* What rank 0 knows of the point now. */
struct samples_look samples_look_at(const samples *s);

/* Of one of the series, after the warm-up: its median; its drift; whether its whole 95 % interval is more than this
 * share above or below a time. */
int64_t samples_median(const samples *s, size_t series);
struct series_drift samples_drift(const samples *s, size_t series);
bool samples_moved(const samples *s, size_t series, double from_ns, double share);

/* After the synchronisation that closes what was added since the last: its moments become global. Nothing where there
 * is no clock. */
void samples_close(samples *s);

/* Whether times of different ranks are compared: what was added before a clock was refused is worth nothing beside what
 * is added after. */
bool samples_need_clock(const samples *s);

/* Collective: all ranks' repetitions, and the medians of their threads, come to rank 0, whose times are from now on the
 * interpolated ones. active: whether this rank takes part in the point. */
void samples_gather(samples *s, bool active);

/*
 * Rank 0, after samples_gather: fills in the record what the repetitions say; it is good until the next call that
 * changes the samples. every_rank: with the samples of each rank. Ranks that take no part have 0 in arrays by rank.
 */
void samples_describe(samples *s, bool every_rank, struct record_point *record);

/* Rank 0, after samples_gather: a term's median of each rank, of them the largest. */
int64_t samples_largest_median(const samples *s, int term);

/* Seconds that were spent in what counts, in all series that stop a point together; and in the warm-up before it. */
double samples_seconds(const samples *s);
double samples_warmup_seconds(const samples *s);

#endif
