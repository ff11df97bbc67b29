#include "series.h"

#include "fail.h"
#include "stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A beginning that is slower by less than so many standard deviations is chance. */
#define BELIEVED_DEVIATIONS 2.0

/* A warm-up may be this part of a series whose median is believed. */
enum { OUTLIVED_PARTS = 4 };

/* From one look to the next: one part in so many more. */
enum { LOOK_PARTS = 6 };

enum { MOST_FOR_TREND = 200, BLOCKS = 100, MOST_FOR_EXACT = 20 };

static int compare_times(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static int compare_reals(const void *left, const void *right) {
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

static int64_t *sorted_copy(const int64_t *times, size_t count) {
    int64_t *sorted = fail_alloc(count, sizeof *sorted);
    memcpy(sorted, times, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_times);
    return sorted;
}

/* How many of the sorted values are below the given one, or not above it. */
static size_t count_below(const int64_t *sorted, size_t count, int64_t value, bool or_equal) {
    size_t low = 0;
    size_t high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sorted[middle] < value || (or_equal && sorted[middle] == value)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Ranks, doubled and less their mean: whole numbers whose sum is 0, also with ties. */
static double *centred_ranks(const int64_t *times, const int64_t *sorted, size_t count) {
    double *ranks = fail_alloc(count, sizeof *ranks);
    for (size_t i = 0; i < count; i++) {
        double doubled = (double)count_below(sorted, count, times[i], false) +
                         (double)count_below(sorted, count, times[i], true) + 1;
        ranks[i] = doubled - (double)(count + 1);
    }
    return ranks;
}

/* Are the first `cut`, whose ranks have this sum, slower than chance would have them? */
static bool begins_slower(double sum, size_t cut, size_t count, double squares) {
    double c = (double)cut;
    double n = (double)count;
    double variance = squares / (n - 1) * (1 - c / n) / c; /* of the mean of c drawn without replacement */
    return sum / c >= BELIEVED_DEVIATIONS * sqrt(variance);
}

size_t series_warmup(const int64_t *times, size_t count) {
    if (count < SERIES_FEWEST) {
        return 0;
    }
    int64_t *sorted = sorted_copy(times, count);
    double *ranks = centred_ranks(times, sorted, count);
    bool first_is_slowest = times[0] == sorted[count - 1] && sorted[count - 1] > sorted[count - 2];
    double all_squares = 0;
    for (size_t i = 0; i < count; i++) {
        all_squares += ranks[i] * ranks[i];
    }
    double squares = all_squares; /* of what is left without the first `cut` */
    double sum = 0;               /* of the first `cut`; what is left has its opposite */
    double least = all_squares / ((double)count * (double)count);
    size_t warmup = 0;
    for (size_t cut = 1; cut <= count / 2; cut++) {
        double left = (double)(count - cut);
        sum += ranks[cut - 1];
        squares -= ranks[cut - 1] * ranks[cut - 1];
        double spread = fmax(0, squares - sum * sum / left) / (left * left);
        bool believed = begins_slower(sum, cut, count, all_squares) || (cut == 1 && first_is_slowest);
        if (spread < least && believed) {
            least = spread;
            warmup = cut;
        }
    }
    free(sorted);
    free(ranks);
    return warmup;
}

bool series_outlived(size_t count, size_t warmup) {
    return warmup <= count / OUTLIVED_PARTS;
}

size_t series_next_look(size_t count, size_t fewest) {
    size_t look = fewest > 0 ? fewest : 1;
    while (look <= count) {
        look += look < LOOK_PARTS ? 1 : look / LOOK_PARTS;
    }
    return look;
}

bool series_look(size_t count, size_t fewest) {
    return count > 0 && series_next_look(count - 1, fewest) == count;
}

/* P(S >= s), s > 0, of n values in random order: with k pairs out of order S = n (n-1) / 2 - 2 k. */
static double exact_tail(size_t n, int64_t s) {
    enum { MOST_PAIRS = MOST_FOR_EXACT * (MOST_FOR_EXACT - 1) / 2 };
    double share[MOST_PAIRS + 1] = {1}; /* of the orders of m values, those with k pairs out of order */
    double next[MOST_PAIRS + 1];
    size_t pairs = 0;
    for (size_t m = 2; m <= n; m++) { /* the m-th value comes before 0 to m - 1 smaller ones */
        pairs += m - 1;
        for (size_t k = 0; k <= pairs; k++) {
            next[k] = 0;
            for (size_t before = 0; before < m && before <= k; before++) {
                next[k] += share[k - before] / (double)m;
            }
        }
        memcpy(share, next, (pairs + 1) * sizeof *share);
    }
    double tail = 0;
    for (size_t k = 0; (int64_t)pairs - 2 * (int64_t)k >= s; k++) {
        tail += share[k];
    }
    return tail;
}

/* Mann-Kendall, two-sided. */
static double trend_p_value(const int64_t *times, size_t n) {
    int64_t s = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i + 1; j < n; j++) {
            s += (times[j] > times[i]) - (times[j] < times[i]);
        }
    }
    int64_t *sorted = sorted_copy(times, n);
    double x = (double)n;
    double variance = x * (x - 1) * (2 * x + 5);
    bool ties = false;
    for (size_t i = 0; i < n;) {
        size_t end = i + 1;
        while (end < n && sorted[end] == sorted[i]) {
            end++;
        }
        double t = (double)(end - i);
        variance -= t * (t - 1) * (2 * t + 5);
        ties = ties || end - i > 1;
        i = end;
    }
    variance /= 18;
    free(sorted);
    if (s == 0) {
        return 1;
    }
    s = s < 0 ? -s : s;
    double p = !ties && n <= MOST_FOR_EXACT ? 2 * exact_tail(n, s) : erfc((double)(s - 1) / sqrt(2 * variance));
    return fmin(1, p);
}

/* Theil-Sen, per place in the series. */
static double trend_slope(const int64_t *times, size_t n) {
    double *slopes = fail_alloc(n * (n - 1) / 2, sizeof *slopes);
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i + 1; j < n; j++) {
            slopes[count++] = ((double)times[j] - (double)times[i]) / (double)(j - i);
        }
    }
    qsort(slopes, count, sizeof *slopes, compare_reals);
    double slope = (slopes[(count - 1) / 2] + slopes[count / 2]) / 2;
    free(slopes);
    return slope;
}

struct series_drift series_drift_of(const int64_t *times, size_t count) {
    if (count < SERIES_FEWEST) {
        return (struct series_drift){.change_relative = NAN, .p_value = NAN};
    }
    int64_t *scratch = fail_alloc(count, sizeof *scratch);
    int64_t blocks[BLOCKS];
    const int64_t *values = times;
    size_t n = count;
    memcpy(scratch, times, count * sizeof *scratch);
    if (count > MOST_FOR_TREND) {
        n = BLOCKS;
        for (size_t b = 0; b < n; b++) {
            size_t begin = b * count / n;
            blocks[b] = stats_median_of(scratch + begin, (b + 1) * count / n - begin);
        }
        values = blocks;
    }
    double median = (double)stats_median_of(scratch, count);
    free(scratch);
    double places = (double)(count - 1) * (double)n / (double)count; /* from first to last; n - 1 without blocks */
    return (struct series_drift){.change_relative = median > 0 ? trend_slope(values, n) * places / median : NAN,
                                 .p_value = trend_p_value(values, n)};
}
