/*
 * stats - medians and their nonparametric confidence intervals.
 *
 * Times are skewed and many-peaked, so no distribution is assumed: the interval of the median is a pair of order
 * statistics, and its coverage follows from the binomial distribution alone (David and Nagaraja, Order Statistics,
 * section 7.1). With n samples sorted as x(1) <= ... <= x(n), [x(k), x(n+1-k)] covers the median with probability 1 - 2
 * P(B <= k-1), B ~ Binomial(n, 1/2). k is the largest for which that is at least 95 %: none exists below n = 6.
 */
#ifndef CAMPAIGN_STATS_H
#define CAMPAIGN_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fewest samples for which a 95 % interval of the median exists. */
#define STATS_FEWEST_FOR_INTERVAL 6

/* Fewest for which that interval leaves out the smallest and the largest: one disturbed sample cannot widen it. */
#define STATS_FEWEST_WITHOUT_EXTREMES 9

typedef struct stats_values stats_values;

/* An empty series of integers (nanoseconds). Never NULL. */
stats_values *stats_create(void);
void stats_destroy(stats_values *series);
void stats_clear(stats_values *series);
void stats_add(stats_values *series, int64_t value);
size_t stats_count(const stats_values *series);

/* Median, rounded down between the two middle values when their number is even; 0 of an empty series. */
int64_t stats_median(const stats_values *series);

/* The 95 % interval of the median. false below STATS_FEWEST_FOR_INTERVAL samples; low and high are untouched then. */
bool stats_interval(const stats_values *series, int64_t *low, int64_t *high);

/* Width of that interval relative to the median; negative where there is none. */
double stats_relative_width(const stats_values *series);

/*
 * Whether that width may be believed to be at most the asked one: the 95 % interval is, and the 99.9 % interval (below
 * 11 samples, for which there is none: all samples) is at most twice the asked width. Where the density around the
 * median is smooth the second is 1.7 times as wide as the first, so that it costs little. Where times have two peaks of
 * about the same weight, the 95 % interval lies within one of them now and then, narrow and wrong; who repeats until it
 * is narrow waits for just that. false where there is no interval. O(sqrt(count)).
 */
bool stats_settled(const stats_values *series, double asked_relative);

/* The rank k (1-based) above for n samples; 0 where no interval exists. */
size_t stats_interval_rank(size_t count);

/* Median of an array, which is sorted in place; the same rounding. */
int64_t stats_median_of(int64_t *values, size_t count);

#endif
