#include "samples.h"

#include "fail.h"
#include "fail_mpi.h"
#include "series.h"
#include "stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The arrays that a record_point points at, without warm-ups. */
struct described {
    int64_t *spreads; /* [spread][min, median, max, rank of max][repetition] */
    int64_t *medians; /* [sum][rank] */
    int64_t *ranks;   /* [sum][rank][repetition] */
    struct record_spread *spread_items;
    struct record_values *items; /* of all lists, one behind the other */
};

struct samples {
    const struct samples_kind *kind;
    const clock_model *clock;
    double asked_relative;
    double warmup_relative;
    int rank;
    int ranks;
    size_t threads;
    int64_t *own;         /* [repetition][term] */
    int64_t *own_threads; /* [repetition][thread_medians][thread] */
    int64_t *times[REPETITION_MOST_SERIES];
    size_t capacity;
    size_t count;
    size_t closed;           /* the moments of the first so many are global */
    int *active;             /* rank 0, after samples_gather: [rank] */
    int64_t *all;            /* likewise: [rank][repetition][term] */
    int64_t *thread_medians; /* likewise: [thread_medians][rank][thread] */
    struct described described;
};

samples *samples_create(const struct samples_kind *kind, const clock_model *clock, double asked_relative,
                        double warmup_relative, int threads) {
    samples *s = fail_alloc(1, sizeof *s);
    s->kind = kind;
    s->clock = clock;
    s->asked_relative = asked_relative;
    s->warmup_relative = warmup_relative;
    s->threads = (size_t)threads;
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &s->rank));
    MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &s->ranks));
    return s;
}

static void free_described(samples *s) {
    free(s->described.spreads);
    free(s->described.medians);
    free(s->described.ranks);
    free(s->described.spread_items);
    free(s->described.items);
    s->described = (struct described){0};
}

static void free_gathered(samples *s) {
    free_described(s);
    free(s->active);
    free(s->all);
    free(s->thread_medians);
    s->active = NULL;
    s->all = NULL;
    s->thread_medians = NULL;
}

void samples_destroy(samples *s) {
    if (s != NULL) {
        free_gathered(s);
        free(s->own);
        free(s->own_threads);
        for (size_t i = 0; i < REPETITION_MOST_SERIES; i++) {
            free(s->times[i]);
        }
        free(s);
    }
}

void samples_clear(samples *s) {
    free_gathered(s);
    s->count = 0;
    s->closed = 0;
}

static size_t term_count(const samples *s) {
    return s->kind->repeated.terms;
}

static size_t series_count(const samples *s) {
    return s->kind->repeated.series_count;
}

static const struct repetition_series *series_of(const samples *s, size_t series) {
    return &s->kind->repeated.series[series];
}

static int64_t *own_thread(samples *s, size_t repetition, size_t number, size_t thread) {
    return s->own_threads + (repetition * s->kind->thread_median_count + number) * s->threads + thread;
}

static void make_room(samples *s) {
    if (s->count == s->capacity) {
        s->capacity = s->capacity > 0 ? 2 * s->capacity : 64;
        s->own = fail_realloc(s->own, s->capacity * term_count(s), sizeof *s->own);
        s->own_threads = fail_realloc(s->own_threads, s->capacity * s->kind->thread_median_count * s->threads + 1,
                                      sizeof *s->own_threads);
        for (size_t i = 0; i < series_count(s); i++) {
            s->times[i] = fail_realloc(s->times[i], s->capacity, sizeof *s->times[i]);
        }
    }
}

void samples_add(samples *s, void *context, const struct repetition *own, const int64_t *times, int64_t elapsed_ns) {
    make_room(s);
    memcpy(s->own + s->count * term_count(s), own->terms, term_count(s) * sizeof *s->own);
    for (size_t i = 0; i < s->kind->thread_median_count; i++) {
        memcpy(own_thread(s, s->count, i, 0), s->kind->threads(context, i), s->threads * sizeof(int64_t));
    }
    for (size_t i = 0; i < series_count(s); i++) {
        s->times[i][s->count] = series_of(s, i)->over == OVER_ELAPSED ? elapsed_ns : times[i];
    }
    s->count++;
}

size_t samples_count(const samples *s) {
    return s->count;
}

/* Returns the values [first, end). Free with stats_destroy. */
static stats_values *sorted(const int64_t *times, size_t first, size_t end) {
    stats_values *series = stats_create();
    for (size_t i = first; i < end; i++) {
        stats_add(series, times[i]);
    }
    return series;
}

static int64_t median_between(const int64_t *times, size_t first, size_t end) {
    stats_values *series = sorted(times, first, end);
    int64_t median = stats_median(series);
    stats_destroy(series);
    return median;
}

/* Whether so many leading values are slower than the others by more than matters. */
static bool warmup_matters(const samples *s, const int64_t *times, size_t warmup) {
    double before = (double)median_between(times, 0, warmup);
    double after = (double)median_between(times, warmup, s->count);
    return before > after * (1 + s->warmup_relative);
}

/* Returns the longest warm-up of the series that stop a point: a repetition counts as a whole or not at all. */
static size_t warmup_of(const samples *s) {
    size_t longest = 0;
    for (size_t i = 0; i < series_count(s); i++) {
        if (series_of(s, i)->stops) {
            size_t warmup = series_warmup(s->times[i], s->count);
            longest = warmup > longest && warmup_matters(s, s->times[i], warmup) ? warmup : longest;
        }
    }
    return longest;
}

struct samples_look samples_look_at(const samples *s) {
    struct samples_look look = {.warmup = warmup_of(s)};
    look.count = s->count - look.warmup;
    look.settled = series_outlived(s->count, look.warmup);
    for (size_t i = 0; i < series_count(s); i++) {
        if (series_of(s, i)->stops) {
            stats_values *series = sorted(s->times[i], look.warmup, s->count);
            double width = stats_relative_width(series);
            look.settled = look.settled && stats_settled(series, s->asked_relative);
            stats_destroy(series);
            look.widest = width < 0 || look.widest < 0 ? -1 : fmax(look.widest, width);
        }
    }
    return look;
}

int64_t samples_median(const samples *s, size_t series) {
    return median_between(s->times[series], warmup_of(s), s->count);
}

struct stats_mean samples_mean(const samples *s, size_t series) {
    const size_t warmup = warmup_of(s);
    return stats_mean_of(s->times[series] + warmup, s->count - warmup);
}

struct series_drift samples_drift(const samples *s, size_t series) {
    if (s->count == 0) {
        return (struct series_drift){NAN, NAN};
    }
    const size_t warmup = warmup_of(s);
    return series_drift_of(s->times[series] + warmup, s->count - warmup);
}

bool samples_moved(const samples *s, size_t series, double from_ns, double share) {
    int64_t low = 0;
    int64_t high = 0;
    stats_values *sorted_times = sorted(s->times[series], warmup_of(s), s->count);
    bool moved = stats_interval(sorted_times, &low, &high) &&
                 ((double)low > from_ns * (1 + share) || (double)high < from_ns * (1 - share));
    stats_destroy(sorted_times);
    return moved;
}

static bool has_clock(const samples *s) {
    return clock_quality_of(s->clock).method != CLOCK_NONE;
}

/* Whether a term is a moment, of which times of different ranks are made. */
static bool is_moment(const samples *s, int term) {
    bool found = false;
    for (size_t i = 0; i < series_count(s); i++) {
        const struct repetition_series *series = series_of(s, i);
        const bool begins = (series->over == OVER_SPAN || series->over == OVER_IMBALANCE) && series->term == term;
        found = found || begins || (series->over == OVER_SPAN && series->end == term);
    }
    return found;
}

bool samples_need_clock(const samples *s) {
    bool found = false;
    for (size_t term = 0; term < term_count(s); term++) {
        found = found || is_moment(s, (int)term);
    }
    return found;
}

void samples_close(samples *s) {
    for (size_t term = 0; has_clock(s) && term < term_count(s); term++) {
        for (size_t i = s->closed; is_moment(s, (int)term) && i < s->count; i++) {
            int64_t *moment = &s->own[i * term_count(s) + term];
            *moment = clock_interpolate(s->clock, *moment);
        }
    }
    s->closed = s->count;
}

/* ---- on rank 0, after samples_gather ---- */

static int64_t term_of(const samples *s, size_t rank, size_t repetition, int term) {
    return s->all[(rank * s->count + repetition) * term_count(s) + (size_t)term];
}

/* Of one repetition, over the ranks that took part. */
static int64_t over_ranks(const samples *s, const struct repetition_series *series, size_t repetition) {
    int64_t first = INT64_MAX;
    int64_t latest = INT64_MIN;
    int64_t last = INT64_MIN;
    int64_t longest = 0;
    int64_t sum = 0;
    for (size_t rank = 0; rank < (size_t)s->ranks; rank++) {
        if (s->active[rank] != 0) {
            const int64_t begin = term_of(s, rank, repetition, series->term);
            const int64_t end = term_of(s, rank, repetition, series->end);
            first = begin < first ? begin : first;
            latest = begin > latest ? begin : latest;
            last = end > last ? end : last;
            longest = end - begin > longest ? end - begin : longest;
            sum += begin;
        }
    }
    if (series->over == OVER_SPAN) {
        return has_clock(s) ? last - first : longest;
    }
    return series->over == OVER_IMBALANCE ? latest - first : series->over == OVER_SUM ? sum : latest;
}

/* Collective. Medians after the warm-up, which rank 0 knows; none where nothing comes after it. */
static void gather_threads(samples *s) {
    const size_t numbers = s->kind->thread_median_count;
    const size_t ranks = (size_t)s->ranks;
    uint64_t warmup = warmup_of(s);
    MPI_CHECK(MPI_Bcast(&warmup, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD));
    int64_t *medians = fail_alloc(s->threads, sizeof *medians);
    int64_t *values = fail_alloc(s->count, sizeof *values);
    s->thread_medians = s->rank == 0 ? fail_alloc(numbers * ranks * s->threads, sizeof *s->thread_medians) : NULL;
    for (size_t number = 0; number < numbers; number++) {
        for (size_t thread = 0; thread < s->threads; thread++) {
            for (size_t i = warmup; i < s->count; i++) {
                values[i - warmup] = *own_thread(s, i, number, thread);
            }
            medians[thread] = stats_median_of(values, s->count - warmup);
        }
        int64_t *all = s->rank == 0 ? s->thread_medians + number * ranks * s->threads : NULL;
        MPI_CHECK(
            MPI_Gather(medians, (int)s->threads, MPI_INT64_T, all, (int)s->threads, MPI_INT64_T, 0, MPI_COMM_WORLD));
    }
    free(values);
    free(medians);
}

void samples_gather(samples *s, bool active) {
    free_gathered(s);
    if (s->rank == 0) {
        s->active = fail_alloc((size_t)s->ranks, sizeof *s->active);
        s->all = fail_alloc((size_t)s->ranks * s->count * term_count(s), sizeof *s->all);
    }
    const int own = active;
    const int values = (int)(s->count * term_count(s));
    MPI_CHECK(MPI_Gather(&own, 1, MPI_INT, s->active, 1, MPI_INT, 0, MPI_COMM_WORLD));
    MPI_CHECK(MPI_Gather(s->own, values, MPI_INT64_T, s->all, values, MPI_INT64_T, 0, MPI_COMM_WORLD));
    for (size_t i = 0; s->rank == 0 && i < series_count(s); i++) {
        for (size_t j = 0; series_of(s, i)->over != OVER_ELAPSED && j < s->count; j++) {
            s->times[i][j] = over_ranks(s, series_of(s, i), j);
        }
    }
    gather_threads(s);
}

static int64_t sum_of(const samples *s, size_t rank, size_t repetition, const struct samples_sum *sum) {
    int64_t found = 0;
    for (size_t i = 0; i < sum->count; i++) {
        found += term_of(s, rank, repetition, sum->terms[i]);
    }
    return found;
}

/* min, median, max and the rank of max over ranks: spread[4][count]. */
static struct record_spread fill_spread(const samples *s, size_t warmup, const struct samples_sum *sum,
                                        int64_t *spread) {
    const size_t count = s->count - warmup;
    int64_t *values = fail_alloc((size_t)s->ranks, sizeof *values);
    for (size_t i = 0; i < count; i++) {
        size_t taking_part = 0;
        size_t longest = 0;
        int64_t max_rank = 0;
        for (size_t rank = 0; rank < (size_t)s->ranks; rank++) {
            if (s->active[rank] != 0) {
                values[taking_part] = sum_of(s, rank, warmup + i, sum);
                if (taking_part == 0 || values[taking_part] > values[longest]) {
                    longest = taking_part;
                    max_rank = (int64_t)rank;
                }
                taking_part++;
            }
        }
        spread[3 * count + i] = max_rank;
        spread[2 * count + i] = values[longest];
        spread[count + i] = stats_median_of(values, taking_part);
        spread[i] = values[0]; /* sorted by stats_median_of */
    }
    free(values);
    return (struct record_spread){sum->name, spread, spread + count, spread + 2 * count, spread + 3 * count};
}

/* The sum in all ranks and repetitions, [rank][repetition]. */
static void fill_ranks(const samples *s, size_t warmup, const struct samples_sum *sum, int64_t *out) {
    for (size_t rank = 0; rank < (size_t)s->ranks; rank++) {
        for (size_t i = warmup; i < s->count; i++) {
            *out++ = sum_of(s, rank, i, sum);
        }
    }
}

/* Each rank's median of a sum, [rank]. */
static void fill_medians(const samples *s, size_t warmup, const struct samples_sum *sum, int64_t *out) {
    const size_t count = s->count - warmup;
    int64_t *values = fail_alloc((size_t)s->ranks * count, sizeof *values);
    fill_ranks(s, warmup, sum, values);
    for (size_t rank = 0; rank < (size_t)s->ranks; rank++) {
        out[rank] = stats_median_of(values + rank * count, count);
    }
    free(values);
}

int64_t samples_largest_median(const samples *s, int term) {
    const struct samples_sum sum = {.count = 1, .terms = {term}};
    int64_t *medians = fail_alloc((size_t)s->ranks, sizeof *medians);
    int64_t largest = 0;
    fill_medians(s, warmup_of(s), &sum, medians);
    for (int i = 0; i < s->ranks; i++) {
        largest = medians[i] > largest ? medians[i] : largest;
    }
    free(medians);
    return largest;
}

/* The lists of series: those that count, and those that stop a point with their warm-ups. */
static struct record_values *describe_series(samples *s, const struct samples_look *look, struct record_values *next,
                                             struct record_point *record) {
    record->series.items = next;
    for (size_t i = 0; i < series_count(s); i++) {
        if (has_clock(s) || series_of(s, i)->over != OVER_IMBALANCE) {
            *next++ =
                (struct record_values){series_of(s, i)->name, s->times[i] != NULL ? s->times[i] + look->warmup : NULL};
            record->series.count++;
        }
    }
    record->warmup.items = next;
    for (size_t i = 0; i < series_count(s); i++) {
        if (series_of(s, i)->stops) {
            *next++ = (struct record_values){series_of(s, i)->name, s->times[i]};
            record->warmup.count++;
        }
    }
    return next;
}

static void describe_spreads(samples *s, const struct samples_look *look, struct record_point *record) {
    const size_t count = s->kind->spread_count;
    s->described.spreads = fail_alloc(4 * count * look->count, sizeof(int64_t));
    s->described.spread_items = fail_alloc(count, sizeof *s->described.spread_items);
    for (size_t i = 0; i < count; i++) {
        s->described.spread_items[i] =
            fill_spread(s, look->warmup, &s->kind->spreads[i], s->described.spreads + 4 * i * look->count);
    }
    record->spreads = s->described.spread_items;
    record->spread_count = count;
}

static struct record_values *describe_medians(samples *s, const struct samples_look *look, struct record_values *next,
                                              struct record_point *record) {
    const size_t ranks = (size_t)s->ranks;
    s->described.medians = fail_alloc(s->kind->rank_median_count * ranks, sizeof(int64_t));
    record->rank_medians.items = next;
    record->rank_medians.count = s->kind->rank_median_count;
    for (size_t i = 0; i < s->kind->rank_median_count; i++) {
        int64_t *values = s->described.medians + i * ranks;
        fill_medians(s, look->warmup, &s->kind->rank_medians[i], values);
        *next++ = (struct record_values){s->kind->rank_medians[i].name, values};
    }
    return next;
}

/* Every thread's medians, and every rank's samples. */
static void describe_ranks(samples *s, const struct samples_look *look, struct record_values *next,
                           struct record_point *record) {
    const size_t ranks = (size_t)s->ranks;
    const size_t block = ranks * look->count;
    record->thread_medians.items = next;
    record->thread_medians.count = s->kind->thread_median_count;
    for (size_t i = 0; i < s->kind->thread_median_count; i++) {
        *next++ = (struct record_values){s->kind->thread_medians[i], s->thread_medians + i * ranks * s->threads};
    }
    s->described.ranks = fail_alloc(s->kind->rank_sample_count * block, sizeof(int64_t));
    record->rank_samples.items = next;
    record->rank_samples.count = s->kind->rank_sample_count;
    for (size_t i = 0; i < s->kind->rank_sample_count; i++) {
        int64_t *values = s->described.ranks + i * block;
        fill_ranks(s, look->warmup, &s->kind->rank_samples[i], values);
        *next++ = (struct record_values){s->kind->rank_samples[i].name, values};
    }
}

void samples_describe(samples *s, bool every_rank, struct record_point *record) {
    const struct samples_look look = samples_look_at(s);
    free_described(s);
    s->described.items = fail_alloc(2 * series_count(s) + s->kind->rank_median_count + s->kind->rank_sample_count +
                                        s->kind->thread_median_count,
                                    sizeof *s->described.items);
    record->repetitions = look.count;
    record->warmup_repetitions = look.warmup;
    record->interval_relative_reached = look.widest < 0 ? NAN : look.widest;
    record->ranks = (size_t)s->ranks;
    record->threads = s->threads;
    struct record_values *next = describe_series(s, &look, s->described.items, record);
    describe_spreads(s, &look, record);
    next = describe_medians(s, &look, next, record);
    if (every_rank) {
        describe_ranks(s, &look, next, record);
    }
}

/* In the repetitions from one to before another. */
static double seconds_between(const samples *s, size_t first, size_t end) {
    double sum_ns = 0;
    for (size_t i = first; i < end; i++) {
        for (size_t j = 0; j < series_count(s); j++) {
            sum_ns += series_of(s, j)->stops ? (double)s->times[j][i] : 0;
        }
    }
    return sum_ns / 1e9;
}

double samples_seconds(const samples *s) {
    return seconds_between(s, warmup_of(s), s->count);
}

double samples_warmup_seconds(const samples *s) {
    return seconds_between(s, 0, warmup_of(s));
}
