#include "stats.h"

#include "fail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct stats_values {
    int64_t *sorted;
    size_t count;
    size_t capacity;
};

stats_values *stats_create(void) {
    return fail_alloc(1, sizeof(stats_values));
}

void stats_destroy(stats_values *values) {
    if (values != NULL) {
        free(values->sorted);
        free(values);
    }
}

void stats_clear(stats_values *values) {
    values->count = 0;
}

void stats_add(stats_values *values, int64_t value) {
    if (values->count == values->capacity) {
        values->capacity = values->capacity > 0 ? 2 * values->capacity : 64;
        values->sorted = fail_realloc(values->sorted, values->capacity, sizeof *values->sorted);
    }
    size_t low = 0;
    size_t high = values->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (values->sorted[middle] <= value) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    memmove(values->sorted + low + 1, values->sorted + low, (values->count - low) * sizeof *values->sorted);
    values->sorted[low] = value;
    values->count++;
}

size_t stats_count(const stats_values *values) {
    return values->count;
}

static int64_t middle_of(const int64_t *sorted, size_t count) {
    if (count == 0) {
        return 0;
    }
    int64_t upper = sorted[count / 2];
    if (count % 2 == 1) {
        return upper;
    }
    int64_t lower = sorted[count / 2 - 1];
    return lower + (upper - lower) / 2; /* no overflow for times of one sign */
}

int64_t stats_median(const stats_values *values) {
    return middle_of(values->sorted, values->count);
}

/* How often the wider of both intervals misses the median. */
static const double MISSED_IF_SURE = 0.001;

/* Returns the largest k for which the interval from rank k to rank count + 1 - k misses the median with at most this
 * probability; 0: there is none. */
static size_t interval_rank(size_t count, double missed) {
    /* Six standard deviations (sqrt(n)/2) below the mean the tail is under 1e-9: the sum may start there. */
    double n = (double)count;
    double start = floor(n / 2 - 3 * sqrt(n));
    size_t i = start > 0 ? (size_t)start : 0;
    double x = (double)i;
    double share = exp(lgamma(n + 1) - lgamma(x + 1) - lgamma(n - x + 1) - n * log(2.0)); /* P(B = i) */
    double tail = share;
    while (tail <= missed / 2) { /* P(B <= i-1) <= missed / 2 < P(B <= i) in the end, so k - 1 = i - 1 */
        share *= (double)(count - i) / (double)(i + 1);
        i++;
        tail += share;
    }
    return i;
}

size_t stats_interval_rank(size_t count) {
    return interval_rank(count, 0.05);
}

/* k: the rank of its ends; 0: there is none. */
static bool interval_of(const stats_values *values, size_t k, int64_t *low, int64_t *high) {
    if (k == 0) {
        return false;
    }
    *low = values->sorted[k - 1];
    *high = values->sorted[values->count - k];
    return true;
}

bool stats_interval(const stats_values *values, int64_t *low, int64_t *high) {
    return interval_of(values, stats_interval_rank(values->count), low, high);
}

bool stats_sure_interval(const stats_values *values, int64_t *low, int64_t *high) {
    return interval_of(values, interval_rank(values->count, MISSED_IF_SURE), low, high);
}

double stats_relative_width(const stats_values *values) {
    int64_t low = 0;
    int64_t high = 0;
    int64_t median = stats_median(values);
    if (median <= 0 || !stats_interval(values, &low, &high)) {
        return -1;
    }
    return (double)(high - low) / (double)median;
}

bool stats_settled(const stats_values *values, double asked_relative) {
    double width = stats_relative_width(values);
    if (width < 0 || !(width <= asked_relative)) {
        return false;
    }
    size_t k = interval_rank(values->count, MISSED_IF_SURE);
    int64_t low = values->sorted[k > 0 ? k - 1 : 0];
    int64_t high = values->sorted[values->count - (k > 0 ? k : 1)];
    return (double)(high - low) <= 2 * asked_relative * (double)stats_median(values);
}

static int compare_values(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

int64_t stats_median_of(int64_t *values, size_t count) {
    if (count > 0) { /* values may be NULL otherwise */
        qsort(values, count, sizeof *values, compare_values);
    }
    return middle_of(values, count);
}

/* Returns the 95 % quantile of Student's distribution: the expansion around the normal quantile of Abramowitz and
 * Stegun 1964, 26.7.5, right to 4 digits from 5 degrees of freedom on. */
static double student_quantile(double freedom) {
    const double z = 1.6448536269514722;
    const double z2 = z * z;
    const double g1 = z * (z2 + 1) / 4;
    const double g2 = z * ((5 * z2 + 16) * z2 + 3) / 96;
    const double g3 = z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384;
    const double g4 = z * ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / 92160;
    return z + (g1 + (g2 + (g3 + g4 / freedom) / freedom) / freedom) / freedom;
}

struct stats_mean stats_mean_of(const int64_t *values, size_t count) {
    const double n = (double)count;
    double sum = 0;
    double squares = 0;
    for (size_t i = 0; i < count; i++) {
        sum += (double)values[i];
    }
    const double mean = sum / n;
    for (size_t i = 0; i < count; i++) {
        squares += ((double)values[i] - mean) * ((double)values[i] - mean);
    }
    if (count < STATS_FEWEST_FOR_INTERVAL) {
        return (struct stats_mean){count > 0 ? mean : NAN, NAN};
    }
    return (struct stats_mean){mean, student_quantile(n - 1) * sqrt(squares / (n - 1) / n)};
}
