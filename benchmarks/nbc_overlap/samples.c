#include "samples.h"

#include "fail.h"
#include "fail_mpi.h"
#include "series.h"
#include "stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The arrays that a record_point points at, [..][repetition]: warm-ups left out. */
struct arrays {
    int64_t *imbalance;
    int64_t *spreads; /* min, median, max, rank of max of the parts of an overlapped repetition */
    int64_t *ranks;   /* the terms of rank_samples */
    int64_t *medians; /* of every rank, of the sums of rank_medians */
};

/* What is kept of every thread. */
enum thread_time { THREAD_COMP, THREAD_COMP_REF, THREAD_TIMES };

struct samples {
    const clock_model *clock;
    double asked_relative;
    int rank;
    int ranks;
    size_t threads;
    struct repetition *own;
    int64_t *own_threads; /* [repetition][THREAD_TIMES][thread] */
    int64_t *times[GLOBAL_TIMES];
    size_t capacity;
    size_t count;
    size_t closed;          /* of them, those whose timestamps are global */
    struct repetition *all; /* rank 0, after samples_gather: [rank][repetition] */
    int64_t *thread_medians; /* likewise: [THREAD_TIMES][rank][thread] */
    struct arrays arrays;
};

samples *samples_create(const clock_model *clock, double asked_relative, int threads) {
    samples *s = fail_alloc(1, sizeof *s);
    s->clock = clock;
    s->asked_relative = asked_relative;
    s->threads = (size_t)threads;
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &s->rank));
    MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &s->ranks));
    return s;
}

static void free_gathered(samples *s) {
    free(s->all);
    free(s->thread_medians);
    free(s->arrays.imbalance);
    free(s->arrays.spreads);
    free(s->arrays.ranks);
    free(s->arrays.medians);
    s->all = NULL;
    s->thread_medians = NULL;
    s->arrays = (struct arrays){0};
}

void samples_destroy(samples *s) {
    if (s != NULL) {
        free_gathered(s);
        free(s->own);
        free(s->own_threads);
        for (size_t i = 0; i < GLOBAL_TIMES; i++) {
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

static int64_t *own_thread(samples *s, size_t repetition, enum thread_time time, size_t thread) {
    return s->own_threads + (repetition * THREAD_TIMES + (size_t)time) * s->threads + thread;
}

void samples_add(samples *s, const struct bench *bench, const struct repetition *own, const int64_t times[GLOBAL_TIMES]) {
    if (s->count == s->capacity) {
        s->capacity = s->capacity > 0 ? 2 * s->capacity : 64;
        s->own = fail_realloc(s->own, s->capacity, sizeof *s->own);
        s->own_threads = fail_realloc(s->own_threads, s->capacity * THREAD_TIMES * s->threads, sizeof *s->own_threads);
        for (size_t i = 0; i < GLOBAL_TIMES; i++) {
            s->times[i] = fail_realloc(s->times[i], s->capacity, sizeof *s->times[i]);
        }
    }
    s->own[s->count] = *own;
    memcpy(own_thread(s, s->count, THREAD_COMP, 0), bench->thread_comp_ns, s->threads * sizeof(int64_t));
    memcpy(own_thread(s, s->count, THREAD_COMP_REF, 0), bench->thread_comp_ref_ns, s->threads * sizeof(int64_t));
    for (size_t i = 0; i < GLOBAL_TIMES; i++) {
        s->times[i][s->count] = times[i];
    }
    s->count++;
}

size_t samples_count(const samples *s) {
    return s->count;
}

/* Of the values from first on, before end. Destroy it. */
static stats_series *sorted(const int64_t *times, size_t first, size_t end) {
    stats_series *series = stats_create();
    for (size_t i = first; i < end; i++) {
        stats_add(series, times[i]);
    }
    return series;
}

static int64_t median_between(const int64_t *times, size_t first, size_t end) {
    stats_series *series = sorted(times, first, end);
    int64_t median = stats_median(series);
    stats_destroy(series);
    return median;
}

/* Whether so many leading values are slower than the others by more than matters. */
static bool warmup_matters(const samples *s, const int64_t *times, size_t warmup) {
    double before = (double)median_between(times, 0, warmup);
    double after = (double)median_between(times, warmup, s->count);
    return before > after * (1 + s->asked_relative / 2);
}

/* The longest of the three: a repetition counts whole or not at all. */
static size_t warmup_of(const samples *s) {
    size_t longest = 0;
    for (size_t i = 0; i < GLOBAL_TIMES; i++) {
        size_t warmup = series_warmup(s->times[i], s->count);
        longest = warmup > longest && warmup_matters(s, s->times[i], warmup) ? warmup : longest;
    }
    return longest;
}

struct samples_look samples_look_at(const samples *s) {
    struct samples_look look = {.warmup = warmup_of(s)};
    look.count = s->count - look.warmup;
    look.settled = series_outlived(s->count, look.warmup);
    for (int i = 0; i < GLOBAL_TIMES; i++) {
        stats_series *series = sorted(s->times[i], look.warmup, s->count);
        double width = stats_relative_width(series);
        look.settled = look.settled && stats_settled(series, s->asked_relative);
        stats_destroy(series);
        look.widest = width < 0 || look.widest < 0 ? -1 : fmax(look.widest, width);
    }
    return look;
}

int64_t samples_median(const samples *s, enum global_time time) {
    return median_between(s->times[time], warmup_of(s), s->count);
}

struct record_reference samples_reference(const samples *s, enum global_time time, double calibrated_ns) {
    size_t warmup = warmup_of(s);
    struct record_reference reference = {NAN, NAN, NAN};
    if (s->count > warmup) {
        struct series_drift drift = series_drift_of(s->times[time] + warmup, s->count - warmup);
        reference.drift_relative = drift.change_relative;
        reference.drift_p_value = drift.p_value;
        if (calibrated_ns > 0) {
            reference.moved_relative = (double)samples_median(s, time) / calibrated_ns - 1;
        }
    }
    return reference;
}

bool samples_moved(const samples *s, enum global_time time, double calibrated_ns, double share) {
    int64_t low = 0;
    int64_t high = 0;
    stats_series *series = sorted(s->times[time], warmup_of(s), s->count);
    bool moved = stats_interval(series, &low, &high) &&
                 ((double)low > calibrated_ns * (1 + share) || (double)high < calibrated_ns * (1 - share));
    stats_destroy(series);
    return moved;
}

void samples_close(samples *s) {
    bool global = clock_quality_of(s->clock).method != CLOCK_NONE;
    for (; s->closed < s->count; s->closed++) {
        int64_t *terms = s->own[s->closed].terms;
        for (int t = REF_START; global && t <= OVERLAP_END; t++) {
            terms[t] = clock_interpolate(s->clock, terms[t]);
        }
    }
}

/* max(end) - min(start) over ranks of one repetition; *imbalance: max(start) - min(start). */
static int64_t spanned(const samples *s, size_t repetition, enum term start, enum term end, int64_t *imbalance) {
    int64_t first = INT64_MAX;
    int64_t latest_start = INT64_MIN;
    int64_t last = INT64_MIN;
    for (size_t rank = 0; rank < (size_t)s->ranks; rank++) {
        const int64_t *terms = s->all[rank * s->count + repetition].terms;
        first = terms[start] < first ? terms[start] : first;
        latest_start = terms[start] > latest_start ? terms[start] : latest_start;
        last = terms[end] > last ? terms[end] : last;
    }
    *imbalance = latest_start - first;
    return last - first;
}

/* Collective. Medians after the warm-up, which rank 0 knows; none where nothing comes after it. */
static void gather_threads(samples *s) {
    uint64_t warmup = warmup_of(s);
    MPI_CHECK(MPI_Bcast(&warmup, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD));
    const size_t ranks = (size_t)s->ranks;
    int64_t *medians = fail_alloc(s->threads, sizeof *medians);
    int64_t *values = fail_alloc(s->count, sizeof *values);
    s->thread_medians = s->rank == 0 ? fail_alloc(THREAD_TIMES * ranks * s->threads, sizeof *s->thread_medians) : NULL;
    for (int time = 0; time < THREAD_TIMES; time++) {
        for (size_t thread = 0; thread < s->threads; thread++) {
            for (size_t i = warmup; i < s->count; i++) {
                values[i - warmup] = *own_thread(s, i, (enum thread_time)time, thread);
            }
            medians[thread] = stats_median_of(values, s->count - warmup);
        }
        int64_t *all = s->rank == 0 ? s->thread_medians + (size_t)time * ranks * s->threads : NULL;
        MPI_CHECK(MPI_Gather(medians, (int)s->threads, MPI_INT64_T, all, (int)s->threads, MPI_INT64_T, 0, MPI_COMM_WORLD));
    }
    free(values);
    free(medians);
}

void samples_gather(samples *s) {
    free_gathered(s);
    if (s->rank == 0) {
        s->all = fail_alloc((size_t)s->ranks * s->count, sizeof *s->all);
    }
    int values = (int)s->count * TERMS;
    MPI_CHECK(MPI_Gather(s->own, values, MPI_INT64_T, s->all, values, MPI_INT64_T, 0, MPI_COMM_WORLD));
    for (size_t i = 0; s->rank == 0 && i < s->count; i++) {
        int64_t imbalance = 0;
        s->times[T_MEASURED][i] = spanned(s, i, OVERLAP_START, OVERLAP_END, &imbalance);
        s->times[GLOBAL_COMM_REF][i] = spanned(s, i, REF_START, REF_END, &imbalance);
        s->times[GLOBAL_COMP_REF][i] = 0;
        for (size_t rank = 0; rank < (size_t)s->ranks; rank++) {
            int64_t time = s->all[rank * s->count + i].terms[T_COMP_REF];
            s->times[GLOBAL_COMP_REF][i] = time > s->times[GLOBAL_COMP_REF][i] ? time : s->times[GLOBAL_COMP_REF][i];
        }
    }
    gather_threads(s);
}

/* min, median, max and the rank of max over ranks: spread[4][count]. */
static struct record_spread fill_spread(const samples *s, size_t warmup, enum term term, int64_t *spread) {
    size_t count = s->count - warmup;
    int64_t *values = fail_alloc((size_t)s->ranks, sizeof *values);
    for (size_t i = 0; i < count; i++) {
        int64_t max_rank = 0;
        for (size_t rank = 0; rank < (size_t)s->ranks; rank++) {
            values[rank] = s->all[rank * s->count + warmup + i].terms[term];
            max_rank = values[rank] > values[max_rank] ? (int64_t)rank : max_rank;
        }
        spread[3 * count + i] = max_rank;
        spread[2 * count + i] = values[max_rank];
        spread[count + i] = stats_median_of(values, (size_t)s->ranks);
        spread[i] = values[0]; /* sorted by stats_median_of */
    }
    free(values);
    return (struct record_spread){spread, spread + count, spread + 2 * count, spread + 3 * count};
}

enum { MOST_SUMMED = 3 };

/* The sum of terms, as many as come before TERMS, of all ranks and repetitions, [rank][repetition]. */
static void fill_ranks(const samples *s, size_t warmup, const enum term summed[MOST_SUMMED + 1], int64_t *out) {
    for (size_t rank = 0; rank < (size_t)s->ranks; rank++) {
        for (size_t i = warmup; i < s->count; i++) {
            int64_t sum = 0;
            for (const enum term *term = summed; *term != TERMS; term++) {
                sum += s->all[rank * s->count + i].terms[*term];
            }
            *out++ = sum;
        }
    }
}

/* Each rank's median of such an array, which is sorted by this. */
static void fill_medians(const samples *s, size_t count, int64_t *values, int64_t *out) {
    for (size_t rank = 0; rank < (size_t)s->ranks; rank++) {
        out[rank] = stats_median_of(values + rank * count, count);
    }
}

/* What the record has of every rank: each repetition of these terms, and the medians of these sums. */
enum { RANK_CALL, RANK_COMP, RANK_TEST, RANK_WAIT, RANK_COMM_REF, RANK_COMP_REF, RANK_TERMS };
static const enum term rank_terms[RANK_TERMS][MOST_SUMMED + 1] = {
    [RANK_CALL] = {T_CALL, TERMS}, [RANK_COMP] = {T_COMP, TERMS},         [RANK_TEST] = {T_TEST, TERMS},
    [RANK_WAIT] = {T_WAIT, TERMS}, [RANK_COMM_REF] = {T_COMM_REF, TERMS}, [RANK_COMP_REF] = {T_COMP_REF, TERMS},
};
enum { MEDIAN_MPI, MEDIAN_COMM_REF, MEDIAN_COMP, MEDIAN_COMP_REF, MEDIAN_TEST_CALLS, MEDIANS };
static const enum term median_terms[MEDIANS][MOST_SUMMED + 1] = {
    [MEDIAN_MPI] = {T_CALL, T_TEST, T_WAIT, TERMS}, [MEDIAN_COMM_REF] = {T_COMM_REF, TERMS},     [MEDIAN_COMP] = {T_COMP, TERMS},
    [MEDIAN_COMP_REF] = {T_COMP_REF, TERMS},        [MEDIAN_TEST_CALLS] = {TEST_CALLS, TERMS},
};

/* Over ranks: the spread of the parts of an overlapped repetition. */
static void describe_spreads(samples *s, const struct samples_look *look, struct record_point *record) {
    const struct {
        enum term term;
        struct record_spread *spread;
    } parts[] = {{T_CALL, &record->t_call_ns}, {T_COMP, &record->t_comp_ns}, {T_TEST, &record->t_test_ns}, {T_WAIT, &record->t_wait_ns}};
    const size_t count = sizeof parts / sizeof *parts;
    s->arrays.spreads = fail_alloc(4 * count * look->count, sizeof(int64_t));
    for (size_t i = 0; i < count; i++) {
        *parts[i].spread = fill_spread(s, look->warmup, parts[i].term, s->arrays.spreads + 4 * i * look->count);
    }
}

/* By rank: medians, and every sample. */
static void describe_ranks(samples *s, const struct samples_look *look, struct record_point *record) {
    const size_t ranks = (size_t)s->ranks;
    const size_t block = ranks * look->count;
    struct arrays *a = &s->arrays;
    a->ranks = fail_alloc(RANK_TERMS * block, sizeof(int64_t));
    a->medians = fail_alloc(MEDIANS * ranks, sizeof(int64_t));
    int64_t *scratch = fail_alloc(block, sizeof *scratch);
    for (size_t i = 0; i < MEDIANS; i++) {
        fill_ranks(s, look->warmup, median_terms[i], scratch);
        fill_medians(s, look->count, scratch, a->medians + i * ranks);
    }
    free(scratch);
    for (size_t i = 0; i < RANK_TERMS; i++) {
        fill_ranks(s, look->warmup, rank_terms[i], a->ranks + i * block);
    }
    record->median_t_mpi_ns = a->medians + MEDIAN_MPI * ranks;
    record->median_t_comm_ref_ns = a->medians + MEDIAN_COMM_REF * ranks;
    record->median_t_comp_ns = a->medians + MEDIAN_COMP * ranks;
    record->median_t_comp_ref_ns = a->medians + MEDIAN_COMP_REF * ranks;
    for (size_t i = 0; i < ranks; i++) {
        const int64_t calls = a->medians[MEDIAN_TEST_CALLS * ranks + i];
        record->test_calls = calls > record->test_calls ? calls : record->test_calls;
    }
    record->rank_t_call_ns = a->ranks + RANK_CALL * block;
    record->rank_t_comp_ns = a->ranks + RANK_COMP * block;
    record->rank_t_test_ns = a->ranks + RANK_TEST * block;
    record->rank_t_wait_ns = a->ranks + RANK_WAIT * block;
    record->rank_t_comm_ref_ns = a->ranks + RANK_COMM_REF * block;
    record->rank_t_comp_ref_ns = a->ranks + RANK_COMP_REF * block;
}

void samples_describe(samples *s, bool every_rank, struct record_point *record) {
    const struct samples_look look = samples_look_at(s);
    record->repetitions = look.count;
    record->warmup_repetitions = look.warmup;
    record->warmup_t_measured_ns = s->times[T_MEASURED];
    record->warmup_t_comm_ref_ns = s->times[GLOBAL_COMM_REF];
    record->warmup_t_comp_ref_ns = s->times[GLOBAL_COMP_REF];
    record->interval_relative_reached = look.widest;
    if (look.count > 0) {
        record->t_measured_ns = s->times[T_MEASURED] + look.warmup;
        record->t_comm_ref_ns = s->times[GLOBAL_COMM_REF] + look.warmup;
        record->t_comp_ref_ns = s->times[GLOBAL_COMP_REF] + look.warmup;
    }
    describe_spreads(s, &look, record);
    s->arrays.imbalance = fail_alloc(look.count, sizeof(int64_t));
    for (size_t i = 0; i < look.count; i++) {
        spanned(s, look.warmup + i, OVERLAP_START, OVERLAP_END, &s->arrays.imbalance[i]);
    }
    record->start_imbalance_ns = clock_quality_of(s->clock).method != CLOCK_NONE ? s->arrays.imbalance : NULL;
    record->ranks = (size_t)s->ranks;
    record->rank_samples = every_rank;
    record->threads = s->threads;
    if (every_rank) {
        record->thread_median_t_comp_ns = s->thread_medians + THREAD_COMP * record->ranks * s->threads;
        record->thread_median_t_comp_ref_ns = s->thread_medians + THREAD_COMP_REF * record->ranks * s->threads;
    }
    describe_ranks(s, &look, record);
}

double samples_seconds(const samples *s) {
    double sum_ns = 0;
    for (size_t i = warmup_of(s); i < s->count; i++) {
        for (size_t time = 0; time < GLOBAL_TIMES; time++) {
            sum_ns += (double)s->times[time][i];
        }
    }
    return sum_ns / 1e9;
}
