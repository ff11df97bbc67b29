/*
 * stats - medians and their nonparametric confidence intervals.
 *
 * Times are skewed and many-peaked, so no distribution is assumed: the interval of the median is a pair of order
 * statistics, and its coverage follows from the binomial distribution alone (David and Nagaraja, Order Statistics,
 * section 7.1). With n samples sorted as x(1) <= ... <= x(n), [x(k), x(n+1-k)] covers the median with probability 1 - 2
 * P(B <= k-1), B ~ Binomial(n, 1/2). k is the largest for which that is at least 95 %: none exists below n = 6.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fewest samples for which a 95 % interval of the median exists. */
#define STATS_FEWEST_FOR_INTERVAL 6

/* Fewest samples for which that interval leaves out the smallest and the largest: one disturbed sample cannot widen it.
 */
#define STATS_FEWEST_WITHOUT_EXTREMES 9

typedef struct stats_values stats_values;

/* Creates an empty collection of integers (nanoseconds), whose order does not matter. Never NULL. Free with
 * stats_destroy. */
stats_values *stats_create(void);
void stats_destroy(stats_values *values);
void stats_clear(stats_values *values);
void stats_add(stats_values *values, int64_t value);
size_t stats_count(const stats_values *values);

/* Returns the median, rounded down between the two middle values when the number of values is even; 0 where there are
 * none. */
int64_t stats_median(const stats_values *values);

/* Finds the 95 % interval of the median. Returns false below STATS_FEWEST_FOR_INTERVAL values; low and high are
 * untouched then. */
bool stats_interval(const stats_values *values, int64_t *low, int64_t *high);

/* The same with 99.9 %, which needs 11 values: for decisions that are looked for again and again while values come. */
bool stats_sure_interval(const stats_values *values, int64_t *low, int64_t *high);

/* Returns the width of the 95 % interval relative to the median; negative where there is no interval. */
double stats_relative_width(const stats_values *values);

/*
 * Returns whether the interval is as narrow as asked and may be believed: the 95 % interval is at most as wide as asked
 * (relative), and the 99.9 % interval is at most twice as wide (below 11 values there is none: the range of all
 * values). Where the density around the median is smooth, the second interval is 1.7 times as wide as the first, so
 * that this costs little. Where times have two peaks of about the same weight, the 95 % interval lies within one of
 * them now and then, narrow and wrong, and a rule that repeats until it is narrow waits for just that. false where
 * there is no interval. O(sqrt(count)).
 */
bool stats_settled(const stats_values *values, double asked_relative);

/* Returns the rank k (1-based) of the interval for count values, as above; 0 where no interval exists. */
size_t stats_interval_rank(size_t count);

/* The mean, and half the width of its 90 % interval by Student's distribution with count - 1 degrees of freedom: for
 * methods that ask for it. half_width is NAN below STATS_FEWEST_FOR_INTERVAL values, mean where there is none. */
struct stats_mean {
    double mean;
    double half_width;
};
struct stats_mean stats_mean_of(const int64_t *values, size_t count);

/* Returns the median of an array, with the same rounding. Sorts the array in place. */
int64_t stats_median_of(int64_t *values, size_t count);
