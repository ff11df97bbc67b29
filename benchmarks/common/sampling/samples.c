#include "samples.h"

#include "fail.h"
#include "fail_mpi.h"
#include "series.h"
#include "stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What rank 0 keeps of all ranks' repetitions, without the warm-up; NULL elsewhere and before samples_gather. Its size
 * grows with repetitions and with ranks, and with their product only where the record has every rank's samples. */
struct gathered {
    int64_t *spreads;                               /* [spread][min, median, max, rank of max][repetition] */
    int64_t *medians;                               /* [sum][rank] */
    int64_t *thread_medians;                        /* [thread_medians][rank][thread] */
    int64_t *ranks;                                 /* [sum][rank][repetition] */
    int64_t largest_medians[REPETITION_MOST_TERMS]; /* over ranks */
    struct record_spread *spread_items;
    struct record_values *items; /* of all lists, one behind the other: samples_describe */
};

struct samples {
    const struct samples_kind *kind;
    const clock_model *clock;
    double asked_relative;
    double warmup_relative;
    bool every_rank;
    int rank;
    int ranks;
    size_t threads;
    int64_t *own;         /* [repetition][term] */
    int64_t *own_threads; /* [repetition][thread_medians][thread] */
    int64_t *times[REPETITION_MOST_SERIES];
    size_t capacity;
    size_t count;
    size_t closed; /* the moments of the first so many are global */
    struct gathered gathered;
};

samples *samples_create(const struct samples_kind *kind, const clock_model *clock, double asked_relative,
                        double warmup_relative, int threads, bool every_rank) {
    samples *s = fail_alloc(1, sizeof *s);
    s->kind = kind;
    s->clock = clock;
    s->asked_relative = asked_relative;
    s->warmup_relative = warmup_relative;
    s->threads = (size_t)threads;
    s->every_rank = every_rank;
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &s->rank));
    MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &s->ranks));
    return s;
}

static void free_gathered(samples *s) {
    free(s->gathered.spreads);
    free(s->gathered.medians);
    free(s->gathered.thread_medians);
    free(s->gathered.ranks);
    free(s->gathered.spread_items);
    free(s->gathered.items);
    s->gathered = (struct gathered){0};
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

void samples_add(samples *s, void *context, const struct repetition *own, int64_t elapsed_ns) {
    make_room(s);
    memcpy(s->own + s->count * term_count(s), own->terms, term_count(s) * sizeof *s->own);
    for (size_t i = 0; i < s->kind->thread_median_count; i++) {
        memcpy(own_thread(s, s->count, i, 0), s->kind->threads(context, i), s->threads * sizeof(int64_t));
    }
    for (size_t i = 0; i < series_count(s); i++) {
        s->times[i][s->count] = elapsed_ns; /* of the others, until they are told */
    }
    s->count++;
}

void samples_tell(samples *s, size_t repetition, const int64_t *times) {
    for (size_t i = 0; i < series_count(s); i++) {
        if (series_of(s, i)->over != OVER_ELAPSED) {
            s->times[i][repetition] = times[i];
        }
    }
}

void samples_shorten(samples *s, size_t count) {
    s->count = count;
    s->closed = s->closed < count ? s->closed : count;
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

/* The ratios of two series within repetitions, millionths. */
static stats_values *ratios(const samples *s, size_t numerator, size_t denominator, size_t warmup) {
    stats_values *millionths = stats_create();
    for (size_t i = warmup; i < s->count; i++) {
        const double below = fmax((double)s->times[denominator][i], 1);
        stats_add(millionths, llround(1e6 * (double)s->times[numerator][i] / below));
    }
    return millionths;
}

/* Whether the ratio that is reported, if there is one, is known so well without the first repetitions. */
static bool ratio_settled(const samples *s, size_t warmup) {
    const struct samples_ratio *ratio = s->kind->ratio;
    if (ratio == NULL) {
        return true;
    }
    stats_values *millionths = ratios(s, ratio->numerator, ratio->denominator, warmup);
    const bool settled = stats_settled(millionths, ratio->width * s->asked_relative);
    stats_destroy(millionths);
    return settled;
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
    look.settled = look.settled && ratio_settled(s, look.warmup);
    return look;
}

int64_t samples_median(const samples *s, size_t series) {
    return median_between(s->times[series], warmup_of(s), s->count);
}

int64_t samples_late(const samples *s) {
    int64_t late = 0;
    for (size_t i = 0; i < series_count(s); i++) {
        for (size_t j = warmup_of(s); series_of(s, i)->over == OVER_LATE && j < s->count; j++) {
            late += s->times[i][j] > 0;
        }
    }
    return late;
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

int samples_ratio_side(const samples *s, size_t numerator, size_t denominator, double limit, bool sure) {
    int64_t low = 0;
    int64_t high = 0;
    stats_values *millionths = ratios(s, numerator, denominator, warmup_of(s));
    const bool known = sure ? stats_sure_interval(millionths, &low, &high) : stats_interval(millionths, &low, &high);
    stats_destroy(millionths);
    return !known ? 0 : (double)high <= 1e6 * limit ? -1 : (double)low > 1e6 * limit ? 1 : 0;
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

/* ---- gathering: every function here is collective ---- */

/* Rank 0 gathers at most so many values at a time, so that its memory does not grow with ranks times repetitions. */
enum { MOST_GATHERED = 1 << 17 };

/* Returns memory on rank 0, which alone receives; NULL elsewhere. */
static int64_t *room_on_rank_0(const samples *s, size_t count) {
    return s->rank == 0 ? fail_alloc(count, sizeof(int64_t)) : NULL;
}

/* Gathers [list][value] of each rank as [list][rank][value], with one message: each of many would wait for a rank whose
 * core a progress thread has. Rank 0 sorts the values itself: beside its progress thread Intel MPI 2021.18 crashes
 * where a derived datatype does that. */
static void gather_lists(const samples *s, const int64_t *own, size_t lists, size_t length, int64_t *all) {
    const size_t each = lists * length;
    if (each == 0) {
        return;
    }
    int64_t *by_rank = s->rank == 0 ? fail_alloc((size_t)s->ranks * each, sizeof *by_rank) : NULL;
    MPI_CHECK(MPI_Gather(own, (int)each, MPI_INT64_T, by_rank, (int)each, MPI_INT64_T, 0, MPI_COMM_WORLD));
    for (size_t list = 0; s->rank == 0 && list < lists; list++) {
        for (size_t rank = 0; rank < (size_t)s->ranks; rank++) {
            const int64_t *values = by_rank + rank * each + list * length;
            memcpy(all + (list * (size_t)s->ranks + rank) * length, values, length * sizeof *values);
        }
    }
    free(by_rank);
}

static int64_t term_of(const samples *s, size_t repetition, int term) {
    return s->own[repetition * term_count(s) + (size_t)term];
}

/* This rank's two numbers of a repetition in a series. Their largest values over ranks add up to the series' value; of
 * an OVER_SUM series, their sums do. */
static void extremes_of(const samples *s, const struct repetition_series *series, size_t repetition, int64_t *last,
                        int64_t *minus_first) {
    const int64_t begin = term_of(s, repetition, series->term);
    const int64_t end = term_of(s, repetition, series->end);
    const bool span = series->over == OVER_SPAN;
    const bool between_ranks = (span && has_clock(s)) || series->over == OVER_IMBALANCE;
    *last = !span ? begin : has_clock(s) ? end : end - begin;
    *minus_first = between_ranks ? -begin : 0;
}

/* Whether a series is made of terms, by a sum or by the largest values. */
static bool is_combined(const samples *s, size_t series, bool sum) {
    const enum repetition_over over = series_of(s, series)->over;
    return over < OVER_ELAPSED && (over == OVER_SUM) == sum;
}

/* Rank 0's times over ranks become those of the interpolated clock: of the series that are sums, or of the others. */
static void combine_series(samples *s, bool active, bool sum) {
    int64_t *extremes = fail_alloc(2 * s->count * series_count(s), sizeof *extremes);
    int64_t *next = extremes;
    for (size_t i = 0; i < series_count(s); i++) {
        for (size_t j = 0; is_combined(s, i, sum) && j < s->count; j++, next += 2) {
            next[0] = next[1] = sum ? 0 : REPETITION_NO_TIME;
            if (active) {
                extremes_of(s, series_of(s, i), j, &next[0], &next[1]);
            }
        }
    }
    if (next > extremes) {
        MPI_CHECK(MPI_Reduce(s->rank == 0 ? MPI_IN_PLACE : extremes, extremes, (int)(next - extremes), MPI_INT64_T,
                             sum ? MPI_SUM : MPI_MAX, 0, MPI_COMM_WORLD));
    }
    next = extremes;
    for (size_t i = 0; s->rank == 0 && i < series_count(s); i++) {
        for (size_t j = 0; is_combined(s, i, sum) && j < s->count; j++, next += 2) {
            s->times[i][j] = next[0] + next[1];
        }
    }
    free(extremes);
}

static int64_t own_sum(const samples *s, size_t repetition, const struct samples_sum *sum) {
    int64_t found = 0;
    for (size_t i = 0; i < sum->count; i++) {
        found += term_of(s, repetition, sum->terms[i]);
    }
    return found;
}

/* This rank's sums in the repetitions after the warm-up. */
static void own_sums(const samples *s, size_t warmup, const struct samples_sum *sum, int64_t *out) {
    for (size_t i = warmup; i < s->count; i++) {
        *out++ = own_sum(s, i, sum);
    }
}

/* The values of one repetition in all ranks. */
struct across {
    const int *active;     /* [rank] */
    const int64_t *values; /* [rank * stride] */
    size_t stride;
    size_t ranks;
    int64_t *scratch; /* [rank] */
};

/* Of one repetition: min, median, max and the rank of max, each `count` values further on. */
static void fill_spread(const struct across *across, int64_t *spread, size_t count) {
    size_t taking_part = 0;
    size_t longest = 0;
    int64_t max_rank = 0;
    for (size_t rank = 0; rank < across->ranks; rank++) {
        if (across->active[rank] != 0) {
            across->scratch[taking_part] = across->values[rank * across->stride];
            if (taking_part == 0 || across->scratch[taking_part] > across->scratch[longest]) {
                longest = taking_part;
                max_rank = (int64_t)rank;
            }
            taking_part++;
        }
    }
    spread[3 * count] = max_rank;
    spread[2 * count] = across->scratch[longest];
    spread[count] = stats_median_of(across->scratch, taking_part);
    spread[0] = across->scratch[0]; /* sorted by stats_median_of */
}

static void gather_spreads(samples *s, size_t warmup, bool active) {
    const size_t count = s->count - warmup;
    const size_t spreads = s->kind->spread_count;
    const size_t ranks = (size_t)s->ranks;
    const size_t most = spreads > 0 && MOST_GATHERED / ranks > spreads ? MOST_GATHERED / ranks / spreads : 1;
    const size_t block = count < most ? count : most;
    const int own_active = active;
    int *actives = s->rank == 0 ? fail_alloc(ranks, sizeof *actives) : NULL;
    int64_t *scratch = room_on_rank_0(s, ranks);
    int64_t *values = fail_alloc(block * spreads + 1, sizeof *values); /* [repetition][spread] */
    int64_t *all = room_on_rank_0(s, ranks * block * spreads + 1);
    MPI_CHECK(MPI_Gather(&own_active, 1, MPI_INT, actives, 1, MPI_INT, 0, MPI_COMM_WORLD));
    s->gathered.spreads = room_on_rank_0(s, 4 * spreads * count);
    for (size_t first = 0; spreads > 0 && first < count; first += block) {
        const size_t now = count - first < block ? count - first : block;
        for (size_t i = 0; i < now * spreads; i++) {
            values[i] = own_sum(s, warmup + first + i / spreads, &s->kind->spreads[i % spreads]);
        }
        MPI_CHECK(MPI_Gather(values, (int)(now * spreads), MPI_INT64_T, all, (int)(now * spreads), MPI_INT64_T, 0,
                             MPI_COMM_WORLD));
        for (size_t i = 0; s->rank == 0 && i < now * spreads; i++) {
            const struct across across = {actives, all + i, now * spreads, ranks, scratch};
            fill_spread(&across, s->gathered.spreads + 4 * (i % spreads) * count + first + i / spreads, count);
        }
    }
    free(all);
    free(values);
    free(scratch);
    free(actives);
}

/* Each rank's median of every sum, and the largest of the ranks' medians of every term. */
static void gather_medians(samples *s, size_t warmup) {
    const size_t count = s->count - warmup;
    const size_t sums = s->kind->rank_median_count;
    const size_t ranks = (size_t)s->ranks;
    int64_t *values = fail_alloc(count, sizeof *values);
    int64_t *medians = fail_alloc(sums + 1, sizeof *medians);
    s->gathered.medians = room_on_rank_0(s, sums * ranks);
    for (size_t i = 0; i < sums; i++) {
        own_sums(s, warmup, &s->kind->rank_medians[i], values);
        medians[i] = stats_median_of(values, count);
    }
    gather_lists(s, medians, sums, 1, s->gathered.medians);
    for (size_t term = 0; term < term_count(s); term++) {
        const struct samples_sum sum = {.count = 1, .terms = {(int)term}};
        own_sums(s, warmup, &sum, values);
        const int64_t median = stats_median_of(values, count);
        s->gathered.largest_medians[term] = median > 0 ? median : 0;
    }
    MPI_CHECK(MPI_Reduce(s->rank == 0 ? MPI_IN_PLACE : s->gathered.largest_medians, s->gathered.largest_medians,
                         (int)term_count(s), MPI_INT64_T, MPI_MAX, 0, MPI_COMM_WORLD));
    free(medians);
    free(values);
}

/* Every thread's median. */
static void gather_threads(samples *s, size_t warmup) {
    const size_t numbers = s->kind->thread_median_count;
    int64_t *medians = fail_alloc(numbers * s->threads + 1, sizeof *medians);
    int64_t *values = fail_alloc(s->count, sizeof *values);
    s->gathered.thread_medians = room_on_rank_0(s, numbers * (size_t)s->ranks * s->threads);
    for (size_t number = 0; number < numbers; number++) {
        for (size_t thread = 0; thread < s->threads; thread++) {
            for (size_t i = warmup; i < s->count; i++) {
                values[i - warmup] = *own_thread(s, i, number, thread);
            }
            medians[number * s->threads + thread] = stats_median_of(values, s->count - warmup);
        }
    }
    gather_lists(s, medians, numbers, s->threads, s->gathered.thread_medians);
    free(values);
    free(medians);
}

/* Every rank's samples. */
static void gather_ranks(samples *s, size_t warmup) {
    const size_t count = s->count - warmup;
    const size_t sums = s->kind->rank_sample_count;
    int64_t *values = fail_alloc(sums * count + 1, sizeof *values);
    s->gathered.ranks = room_on_rank_0(s, sums * (size_t)s->ranks * count);
    for (size_t i = 0; i < sums; i++) {
        own_sums(s, warmup, &s->kind->rank_samples[i], values + i * count);
    }
    gather_lists(s, values, sums, count, s->gathered.ranks);
    free(values);
}

void samples_gather(samples *s, bool active) {
    free_gathered(s);
    combine_series(s, active, false);
    combine_series(s, active, true);
    uint64_t warmup = s->rank == 0 ? warmup_of(s) : 0;
    MPI_CHECK(MPI_Bcast(&warmup, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD));
    gather_spreads(s, warmup, active);
    gather_medians(s, warmup);
    if (s->every_rank) {
        gather_threads(s, warmup);
        gather_ranks(s, warmup);
    }
}

/* ---- on rank 0, after samples_gather ---- */

int64_t samples_largest_median(const samples *s, int term) {
    return s->gathered.largest_medians[term];
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
    s->gathered.spread_items = fail_alloc(count, sizeof *s->gathered.spread_items);
    for (size_t i = 0; i < count; i++) {
        const int64_t *spread = s->gathered.spreads + 4 * i * look->count;
        s->gathered.spread_items[i] = (struct record_spread){s->kind->spreads[i].name, spread, spread + look->count,
                                                             spread + 2 * look->count, spread + 3 * look->count};
    }
    record->spreads = s->gathered.spread_items;
    record->spread_count = count;
}

/* A list of the values of several sums, `size` values each. */
static struct record_values *describe_sums(const struct samples_sum *sums, size_t count, const int64_t *values,
                                           size_t size, struct record_values *next, struct record_list *list) {
    *list = (struct record_list){next, count};
    for (size_t i = 0; i < count; i++) {
        *next++ = (struct record_values){sums[i].name, values + i * size};
    }
    return next;
}

/* Every thread's medians, and every rank's samples. */
static void describe_ranks(const samples *s, const struct samples_look *look, struct record_values *next,
                           struct record_point *record) {
    const size_t ranks = (size_t)s->ranks;
    record->thread_medians.items = next;
    record->thread_medians.count = s->kind->thread_median_count;
    for (size_t i = 0; i < s->kind->thread_median_count; i++) {
        *next++ = (struct record_values){s->kind->thread_medians[i].name,
                                         s->gathered.thread_medians + i * ranks * s->threads};
    }
    describe_sums(s->kind->rank_samples, s->kind->rank_sample_count, s->gathered.ranks, ranks * look->count, next,
                  &record->rank_samples);
}

void samples_describe(samples *s, struct record_point *record) {
    const struct samples_look look = samples_look_at(s);
    free(s->gathered.items);
    free(s->gathered.spread_items);
    s->gathered.items = fail_alloc(2 * series_count(s) + s->kind->rank_median_count + s->kind->rank_sample_count +
                                       s->kind->thread_median_count,
                                   sizeof *s->gathered.items);
    record->repetitions = look.count;
    record->warmup_repetitions = look.warmup;
    record->interval_relative_reached = look.widest < 0 ? NAN : look.widest;
    record->ranks = (size_t)s->ranks;
    record->threads = s->threads;
    struct record_values *next = describe_series(s, &look, s->gathered.items, record);
    describe_spreads(s, &look, record);
    next = describe_sums(s->kind->rank_medians, s->kind->rank_median_count, s->gathered.medians, (size_t)s->ranks, next,
                         &record->rank_medians);
    if (s->every_rank) {
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
