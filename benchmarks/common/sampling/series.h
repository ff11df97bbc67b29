/*
 * series - the samples of one point in the order in which they were taken: where they settle, whether they drift, when
 * to look at them.
 *
 * stats.h ignores the order and assumes that every order was equally likely (exchangeable samples); the functions here
 * find where that is not so. Times are integers of nanoseconds, the oldest first. series_warmup and p_value use only
 * which of two samples is larger: one extreme sample weighs no more than any slowest sample. No MPI, no state.
 *
 * How a point is repeated with these parts: after a valid repetition, if series_look(count, fewest): w = series_warmup
 * of all samples so far (of several terms, the largest); if series_outlived(count, w) and stats_settled() for each term
 * without its first w samples: stop. At a cap the point ends with what it has, and that is what is recorded.
 *
 * What this reaches, on synthetic series (fewest 9, width 2 %, cap 100, 20000 points each; tests/test_series.c runs
 * them again): the 95 % interval that is reported covers the true median of 93.5 to 96.6 % of the points, for
 * lognormal, exponential, Cauchy and two-peaked noise from 0.5 to 20 %; below nominal where the asked width is reached
 * just before the cap. Stopping at the first interval that is narrow enough, without these precautions: 78 % (two peaks
 * of equal weight) to 96 %, typically 93 %. The price: 6 to 27 % more samples where the noise has one peak and a spread
 * of 1 to 3 %, twice as many and more where it has two. What is left: two peaks of equal weight that are between one
 * and two asked widths apart, 82 %; but the reported median is then wrong by less than the asked width. A transient
 * that fades as slowly as exp(-i/4) has no end that stands out from the noise: 86 to 91 %, and less for slower ones;
 * series_drift_of is there for those.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Below so many samples neither a warm-up nor a drift can be told from chance. */
#define SERIES_FEWEST 6

/*
 * How many leading samples are a transient, slower than what follows; at most half of them. 0 below SERIES_FEWEST.
 *
 * The truncation d that minimises sum over i > d of (r_i - mean)^2 / (count - d)^2 (MSER: K. P. White Jr., An effective
 * truncation heuristic for bias reduction in simulation output, Simulation 69(6), 1997), of ranks r instead of times;
 * ties have their mean rank. It is believed only where the d samples are slower than the others by two standard
 * deviations of the mean rank of so many drawn at random, or d = 1 and the first is the slowest of all. A beginning
 * that is faster is kept, and so are slow samples that come later. Of samples without a transient it takes 0.25 of 10
 * in the mean, 0.07 of 100; anything at all in 14 % of the series of 10, in 3 % of those of 100.
 *
 * O(count log count) time, O(count) memory.
 */
size_t series_warmup(const int64_t *times, size_t count);

/*
 * Whether enough samples follow a warm-up to believe that its end was seen: a transient that takes more than a quarter
 * of the series may well go on. O(1).
 */
bool series_outlived(size_t count, size_t warmup);

/*
 * Whether to look at the intervals with so many samples: at `fewest` (0 counts as 1), then each time the count has
 * grown by a sixth. A stop rule that looks after every sample stops at lucky moments, and the interval covers less
 * often than it claims. O(log count).
 */
bool series_look(size_t count, size_t fewest);

/* Returns the smallest number above `count` at which series_look is true. O(log count). */
size_t series_next_look(size_t count, size_t fewest);

struct series_drift {
    double change_relative; /* from the first sample to the last, relative to the median of all: 0.05 is 5 % slower at
                               the end */
    double p_value;         /* two-sided: how often samples in random order would have at least such a trend */
};

/*
 * Is there a trend from the first sample to the last, and how large is it?
 *
 * The trend is that of Theil and Sen, the median of the slopes between all pairs (H. Theil 1950; P. K. Sen, Estimates
 * of the regression coefficient based on Kendall's tau, JASA 63, 1968); p is that of Mann and Kendall (H. B. Mann,
 * Nonparametric tests against trend, Econometrica 13, 1945; M. G. Kendall, Rank Correlation Methods, 1975): exact up to
 * 20 samples without ties, otherwise the normal approximation with corrections for ties and continuity. Samples that
 * depend on their predecessors make p too small. Above 200 samples the medians of 100 blocks of them are taken instead.
 * Both NAN below SERIES_FEWEST; the change alone where the median is not positive.
 *
 * O(n^2 log n) time, O(n^2) memory, n = min(count, 200); O(count log count) for the blocks.
 */
struct series_drift series_drift_of(const int64_t *times, size_t count);
