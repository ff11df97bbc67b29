/*
 * samples - the repetitions of one point, in the order of time: kept by every rank, brought together on rank 0.
 *
 * Which leading repetitions are warm-up is found in the times of all ranks (series_warmup), not fixed in advance. They count where they are
 * slower than what follows by more than the median may be uncertain, half the asked width: on a quiet machine less than that can be seen, and
 * does no harm.
 */
#ifndef CAMPAIGN_SAMPLES_H
#define CAMPAIGN_SAMPLES_H

#include "bench.h"
#include "clock.h"
#include "record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The times of all ranks so far; the same order. */
struct samples_look {
    size_t warmup; /* leading repetitions that are none of what follows */
    size_t count;  /* the others */
    double widest; /* relative 95 % interval, of the three medians the widest; negative: none yet */
    bool settled;  /* the intervals may be believed to be as narrow as asked: stats_settled, series_outlived */
};

typedef struct samples samples;

/* asked_relative: the width that the intervals are to have. threads: of each rank. */
samples *samples_create(const clock_model *clock, double asked_relative, int threads);
void samples_destroy(samples *s);
void samples_clear(samples *s);

/* Adds a valid repetition of this rank, the last that was measured with bench; times: those of all ranks, which only rank 0 needs to know. */
void samples_add(samples *s, const struct bench *bench, const struct repetition *own, const int64_t times[GLOBAL_TIMES]);

/* Valid ones, warm-ups included. */
size_t samples_count(const samples *s);

/* What rank 0 knows of the point now. */
struct samples_look samples_look_at(const samples *s);

/* Of one of the times, after the warm-up. */
int64_t samples_median(const samples *s, enum global_time time);

/* The drift of a reference after the warm-up, and how far it has moved from the time it was calibrated to (0: not known). */
struct record_reference samples_reference(const samples *s, enum global_time time, double calibrated_ns);

/* Whether its whole 95 % interval is more than this share above or below the time it was calibrated to. */
bool samples_moved(const samples *s, enum global_time time, double calibrated_ns, double share);

/* After the synchronisation that closes what was added since the last: its timestamps become global. Nothing where there is no clock:
 * those were durations from the beginning. */
void samples_close(samples *s);

/* Collective: all ranks' repetitions, and the medians of their threads, come to rank 0, whose times are from now on the interpolated ones. */
void samples_gather(samples *s);

/*
 * Rank 0, after samples_gather: fills in the record what the repetitions say; it is good until the next call that changes the samples.
 * every_rank: with the samples of each rank.
 */
void samples_describe(samples *s, bool every_rank, struct record_point *record);

/* Seconds that were spent in what counts. */
double samples_seconds(const samples *s);

#endif
