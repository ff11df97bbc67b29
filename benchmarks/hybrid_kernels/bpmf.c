/*
 * Bayesian probabilistic matrix factorisation (Zhou et al. 2020, section 5.3.3): a Gibbs sampler of the factors of the
 * rows and columns of a sparse matrix of ratings. Each iteration draws the factors of all rows, then those of all
 * columns; after either, three allgathers spread what was drawn: the factors, 80,000 bytes per rank for 1000 items; the
 * sums from which the next prior follows, 800 bytes; the sum of squares, 8 bytes. Then the ratings that were left out
 * are predicted.
 *
 * Every random number is a function of the seed, the iteration, the side and the item, and sums are of whole numbers
 * (gibbs.h). So the same seed gives the same chain, bit by bit, whatever the variant and the number of ranks.
 */
#include "bits.h"
#include "fail.h"
#include "fail_hybrid.h"
#include "fail_mpi.h"
#include "gibbs.h"
#include "kernel.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OF_ROWS, OF_COLUMNS, SIDES };
enum { K = GIBBS_RANK };
enum { BURN_IN = 5, SETTLING_ITERATIONS = 1 }; /* the predictions leave the first out */

/* Purposes of streams of random numbers, with the side added; those of ratings.c are below 16. */
enum { OF_FACTORS = 16, OF_PRIOR = 18, OF_BEGINNING = 20 };

/* The ratings of some items in one array: those of item i are [starts[i], starts[i + 1]). */
struct lists {
    size_t *starts;
    struct gibbs_rating *ratings;
};

/* The rows or the columns. */
struct side {
    int count;
    int block; /* items of each rank but the last ones, which may have fewer or none */
    int first; /* item of this rank */
    int own;
    struct lists fit;
    double *factors;             /* [ranks * block][K]; NULL in hybrid */
    hybrid_memory *memory;       /* the same in the memory of the node */
    const double *shared;        /* what was read there; NULL: it is not the read phase */
    int64_t moments[GIBBS_SUMS]; /* of all items */
};

/* Sums of each thread are in cache lines of their own. */
struct thread_sums {
    _Alignas(64) struct gibbs_sums sums;
};

struct bpmf {
    enum way way;
    MPI_Comm comm;
    int rank;
    int ranks;
    uint64_t seed;
    int asked_iterations;
    int iterations; /* of the next solve */
    double average; /* of the ratings that are fitted */
    double scale;   /* their standard deviation: the sampler sees (rating - average) / scale */
    double noise_precision;
    bool leads; /* this rank leads its node */
    struct side sides[SIDES];
    struct lists tests; /* of this rank's rows */
    double *predicted;  /* for each of them the sum over iterations */
    int64_t *gathered;  /* [ranks][GIBBS_SUMS]; NULL in hybrid */
    hybrid_memory *moments_memory;
    hybrid_memory *squares_memory;
    struct thread_sums *thread_sums; /* [threads]; openmp only */
    struct ratings made;             /* generated; until `fill` is done */
    const struct ratings *ratings;   /* likewise */
    int64_t drawn;                   /* iterations */
    uint64_t history;                /* a digest of the sums of squares of all half iterations */
};

/* ---- what all variants share ---- */

/* Returns where the factors of the other side can be read. */
static const double *others_of(const struct bpmf *b, int side) {
    const struct side *other = &b->sides[1 - side];
    return b->way == WAY_HYBRID ? other->shared : other->factors;
}

static struct gibbs_prior prior_of(const struct bpmf *b, int side, int iteration) {
    return gibbs_draw_prior(b->sides[side].moments, b->sides[side].count,
                            philox_stream_of(b->seed, (uint32_t)(OF_PRIOR + side), (uint32_t)iteration, 0));
}

/* Draws the factors of this rank's items [first, end) into own, [own][K], and adds them to sums. */
static void draw(const struct bpmf *b, int side, int iteration, struct team_part part, double *own,
                 struct gibbs_sums *sums) {
    const struct side *s = &b->sides[side];
    const struct gibbs_prior prior = prior_of(b, side, iteration);
    const double *others = others_of(b, side);
    *sums = (struct gibbs_sums){0};
    for (int i = part.first; i < part.end; i++) {
        const struct philox_stream stream =
            philox_stream_of(b->seed, (uint32_t)(OF_FACTORS + side), (uint32_t)iteration, (uint32_t)(s->first + i));
        gibbs_draw_factors(&prior, b->noise_precision, s->fit.ratings + s->fit.starts[i],
                           s->fit.starts[i + 1] - s->fit.starts[i], others, stream, own + (size_t)i * K);
        gibbs_add(sums, own + (size_t)i * K);
    }
}

/* Adds the predictions of this rank's rows [first, end). */
static void predict(struct bpmf *b, int iteration, struct team_part part) {
    const double *columns = others_of(b, OF_ROWS);
    const double *rows = others_of(b, OF_COLUMNS) + (size_t)b->sides[OF_ROWS].first * K;
    for (int i = part.first; i < part.end && iteration >= BURN_IN; i++) {
        for (size_t t = b->tests.starts[i]; t < b->tests.starts[i + 1]; t++) {
            b->predicted[t] += gibbs_product(rows + (size_t)i * K, columns + (size_t)b->tests.ratings[t].other * K);
        }
    }
}

/* Makes the sums of all items of those of the ranks. */
static void note_moments(struct side *s, const int64_t *gathered, int ranks) {
    memset(s->moments, 0, sizeof s->moments);
    for (int rank = 0; rank < ranks; rank++) {
        for (int i = 0; i < GIBBS_SUMS; i++) {
            s->moments[i] += gathered[rank * GIBBS_SUMS + i];
        }
    }
}

static void note_squares(struct bpmf *b, const int64_t *gathered) {
    int64_t all = 0;
    for (int rank = 0; rank < b->ranks; rank++) {
        all += gathered[rank];
    }
    b->history = bits_mix(b->history + (uint64_t)all);
}

static struct team_part all_of(const struct side *s) {
    return (struct team_part){.first = 0, .end = s->own};
}

/* ---- the variants ---- */

enum { FACTORS_FIRST = __LINE__ };
static void make_factors(struct bpmf *b) {
    for (int side = 0; side < SIDES; side++) {
        struct side *s = &b->sides[side];
        s->factors = fail_alloc((size_t)b->ranks * (size_t)s->block * K, sizeof *s->factors);
    }
    b->gathered = fail_alloc((size_t)b->ranks * GIBBS_SUMS, sizeof *b->gathered);
}

static void free_factors(struct bpmf *b) {
    for (int side = 0; side < SIDES; side++) {
        free(b->sides[side].factors);
        b->sides[side].factors = NULL;
    }
}

/* Where this rank writes its factors by the MPI library's allgather, which is at its best in place. */
static double *own_factors(const struct side *s) {
    return s->factors + (size_t)s->first * K;
}

static void gather_mpi(struct bpmf *b, struct side *s, const struct gibbs_sums *own) {
    MPI_CHECK(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, s->factors, s->block * K, MPI_DOUBLE, b->comm));
    MPI_CHECK(MPI_Allgather(own->moments, GIBBS_SUMS, MPI_INT64_T, b->gathered, GIBBS_SUMS, MPI_INT64_T, b->comm));
    note_moments(s, b->gathered, b->ranks);
    MPI_CHECK(MPI_Allgather(&own->squares, 1, MPI_INT64_T, b->gathered, 1, MPI_INT64_T, b->comm));
    note_squares(b, b->gathered);
}
enum { FACTORS_LINES = __LINE__ - FACTORS_FIRST - 1 };

enum { MPI_FIRST = __LINE__ };
static void solve_mpi(void *state, struct team *team, int thread, struct stopwatch *w) {
    struct bpmf *b = state;
    for (int iteration = 0; iteration < b->iterations; iteration++) {
        for (int side = 0; side < SIDES; side++) {
            struct side *s = &b->sides[side];
            struct gibbs_sums sums;
            draw(b, side, iteration, all_of(s), own_factors(s), &sums);
            stopwatch_computed(w);
            gather_mpi(b, s, &sums);
            stopwatch_communicated(w);
        }
        predict(b, iteration, all_of(&b->sides[OF_ROWS]));
        b->drawn++;
    }
    stopwatch_computed(w);
}
enum { MPI_LINES = __LINE__ - MPI_FIRST - 1 };

enum { OPENMP_FIRST = __LINE__ };
static void make_thread_sums(struct bpmf *b, int threads) {
    b->thread_sums = aligned_alloc(64, (size_t)threads * sizeof *b->thread_sums);
    if (b->thread_sums == NULL) {
        fail_die("no memory for the sums of %d threads", threads);
    }
}

static void add_thread_sums(const struct bpmf *b, int threads, struct gibbs_sums *all) {
    *all = b->thread_sums[0].sums;
    for (int i = 1; i < threads; i++) {
        for (int j = 0; j < GIBBS_SUMS; j++) {
            all->moments[j] += b->thread_sums[i].sums.moments[j];
        }
        all->squares += b->thread_sums[i].sums.squares;
    }
}

static void solve_openmp(void *state, struct team *team, int thread, struct stopwatch *w) {
    struct bpmf *b = state;
    const int threads = team_threads(team);
    for (int iteration = 0; iteration < b->iterations; iteration++) {
        for (int side = 0; side < SIDES; side++) {
            struct side *s = &b->sides[side];
            draw(b, side, iteration, team_own_part(team, thread, s->own), own_factors(s), &b->thread_sums[thread].sums);
            team_meet(team);
            if (thread == 0) {
                struct gibbs_sums sums;
                add_thread_sums(b, threads, &sums);
                stopwatch_computed(w);
                gather_mpi(b, s, &sums);
                stopwatch_communicated(w);
            }
            team_meet(team);
        }
        predict(b, iteration, team_own_part(team, thread, b->sides[OF_ROWS].own));
    }
    team_meet(team);
    if (thread == 0) {
        b->drawn = b->iterations;
        stopwatch_computed(w);
    }
}
enum { OPENMP_LINES = __LINE__ - OPENMP_FIRST - 1 };

enum { HYBRID_FIRST = __LINE__ };
static void make_memories(struct bpmf *b, const struct crew *crew) {
    for (int side = 0; side < SIDES; side++) {
        struct side *s = &b->sides[side];
        HYBRID_CHECK(hybrid_memory_create_buffers(crew->hybrid, (size_t)s->block * K, sizeof(double), HYBRID_PER_RANK,
                                                  1, &s->memory));
    }
    HYBRID_CHECK(hybrid_memory_create(crew->hybrid, GIBBS_SUMS, sizeof(int64_t), HYBRID_PER_RANK, &b->moments_memory));
    HYBRID_CHECK(hybrid_memory_create(crew->hybrid, 1, sizeof(int64_t), HYBRID_PER_RANK, &b->squares_memory));
}

static void free_memories(struct bpmf *b) {
    for (int side = 0; side < SIDES; side++) {
        struct side *s = &b->sides[side];
        if (s->shared != NULL) {
            HYBRID_CHECK(hybrid_read_end(s->memory));
        }
        HYBRID_CHECK(hybrid_memory_free(&s->memory));
    }
}

static void free_sums(struct bpmf *b) {
    HYBRID_CHECK(hybrid_memory_free(&b->moments_memory));
    HYBRID_CHECK(hybrid_memory_free(&b->squares_memory));
}

/* Begins the write phase of the factors of a side: the other side's are still being read. */
static double *begin_write(struct side *s) {
    void *own = NULL;
    if (s->shared != NULL) {
        HYBRID_CHECK(hybrid_read_end(s->memory));
        s->shared = NULL;
    }
    HYBRID_CHECK(hybrid_write_block(s->memory, (size_t)s->block * K * sizeof(double), &own));
    return own;
}

/* Gathers a few words of each rank. They can be read until end_words. */
static const int64_t *gather_words(hybrid_memory *memory, const int64_t *words, size_t count) {
    void *own = NULL;
    const void *all = NULL;
    HYBRID_CHECK(hybrid_write_block(memory, count * sizeof *words, &own));
    memcpy(own, words, count * sizeof *words);
    HYBRID_CHECK(hybrid_allgather(memory, count, MPI_INT64_T));
    HYBRID_CHECK(hybrid_read(memory, &all));
    return all;
}

static void gather_hybrid(struct bpmf *b, struct side *s, const struct gibbs_sums *own) {
    const void *all = NULL;
    HYBRID_CHECK(hybrid_allgather(s->memory, (size_t)s->block * K, MPI_DOUBLE));
    HYBRID_CHECK(hybrid_read(s->memory, &all));
    s->shared = all;
    note_moments(s, gather_words(b->moments_memory, own->moments, GIBBS_SUMS), b->ranks);
    HYBRID_CHECK(hybrid_read_end(b->moments_memory));
    note_squares(b, gather_words(b->squares_memory, &own->squares, 1));
    HYBRID_CHECK(hybrid_read_end(b->squares_memory));
}

static void solve_hybrid(void *state, struct team *team, int thread, struct stopwatch *w) {
    struct bpmf *b = state;
    for (int iteration = 0; iteration < b->iterations; iteration++) {
        for (int side = 0; side < SIDES; side++) {
            struct side *s = &b->sides[side];
            struct gibbs_sums sums;
            stopwatch_computed(w);
            double *own = begin_write(s);
            stopwatch_communicated(w);
            draw(b, side, iteration, all_of(s), own, &sums);
            stopwatch_computed(w);
            gather_hybrid(b, s, &sums);
            stopwatch_communicated(w);
        }
        predict(b, iteration, all_of(&b->sides[OF_ROWS]));
        b->drawn++;
    }
    stopwatch_computed(w);
}
enum { HYBRID_LINES = __LINE__ - HYBRID_FIRST - 1 };

/* ---- the kernel ---- */

static void check_size(const struct crew *crew, const struct problem *problem, char *error, size_t error_size) {
    const struct ratings *r = problem->ratings;
    const int64_t largest = r == NULL ? problem->size : r->rows > r->columns ? r->rows : r->columns;
    if (largest > INT_MAX / K - crew->info.ranks) {
        snprintf(error, error_size, "%s: factors of %" PRId64 " items exceed MPI's counts; at most %d items",
                 r == NULL ? "--bpmf-items" : "--ratings", largest, INT_MAX / K - crew->info.ranks);
    }
}

static double bytes_needed(const struct crew *crew, const struct problem *problem) {
    const struct ratings *r = problem->ratings;
    const double items = r == NULL ? 2.0 * (double)problem->size : (double)r->rows + r->columns;
    const double ratings = r == NULL ? (double)problem->size * RATINGS_PER_ROW : (double)r->count;
    /* Copies of the factors: of two ways and this rank's part of two in hybrid memory; lists: of both sides for three
     * ways, the leader has those of its node; all ratings while the lists are made. */
    return items * K * 8 * 4 + ratings * 16 * 2 * (2.0 / crew->info.ranks + 1.0 / crew->info.nodes) +
           ratings * (double)sizeof(struct rating);
}

static int64_t window_bytes(const struct crew *crew, const struct problem *problem) {
    const struct ratings *r = problem->ratings;
    const int64_t counts[SIDES] = {r == NULL ? problem->size : r->rows, r == NULL ? problem->size : r->columns};
    int64_t items = 0;
    for (int side = 0; side < SIDES; side++) {
        items += (counts[side] + crew->info.ranks - 1) / crew->info.ranks * crew->info.ranks;
    }
    return crew->info.node_rank == 0 ? items * K * (int64_t)sizeof(double) : 0;
}

/* All threads: makes the lists of items [first, first + own) of a side from the ratings that are tests, or are not.
 * Each thread makes those of the items that it draws. */
static void make_lists(const struct bpmf *b, struct team *team, int thread, int side, bool tests, struct lists *lists) {
    const struct ratings *r = b->ratings;
    const struct side *s = &b->sides[side];
    const struct team_part part = team_own_part(team, thread, s->own);
    /* Counts, then begins, then ends of the lists, each one place further. */
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < r->count; i++) {
            const struct rating *one = &r->items[i];
            const int item = (side == OF_ROWS ? one->row : one->column) - s->first;
            if (item < part.first || item >= part.end || ratings_tests(b->seed, one->row, one->column) != tests) {
                continue;
            }
            if (pass == 0) {
                lists->starts[item + 2]++;
            } else {
                lists->ratings[lists->starts[item + 1]++] = (struct gibbs_rating){
                    .other = side == OF_ROWS ? one->column : one->row, .value = (one->value - b->average) / b->scale};
            }
        }
        team_meet(team);
        if (pass == 0 && thread == 0) {
            for (int i = 0; i < s->own; i++) {
                lists->starts[i + 2] += lists->starts[i + 1];
            }
            lists->ratings = fail_alloc(lists->starts[s->own + 1] + 1, sizeof *lists->ratings);
        }
        team_meet(team);
    }
}

static void free_lists(struct lists *lists) {
    free(lists->starts);
    free(lists->ratings);
}

/* The average and the standard deviation of the ratings that are fitted. */
static void find_scale(struct bpmf *b, const struct ratings *r) {
    double sum = 0;
    double squares = 0;
    size_t count = 0;
    for (size_t i = 0; i < r->count; i++) {
        if (!ratings_tests(b->seed, r->items[i].row, r->items[i].column)) {
            sum += r->items[i].value;
            count++;
        }
    }
    b->average = count > 0 ? sum / (double)count : 0;
    for (size_t i = 0; i < r->count; i++) {
        if (!ratings_tests(b->seed, r->items[i].row, r->items[i].column)) {
            const double off = r->items[i].value - b->average;
            squares += off * off;
        }
    }
    b->scale = squares > 0 ? sqrt(squares / (double)count) : 1;
}

static void place_side(struct bpmf *b, int side) {
    struct side *s = &b->sides[side];
    s->count = side == OF_ROWS ? b->ratings->rows : b->ratings->columns;
    s->block = (s->count + b->ranks - 1) / b->ranks;
    const int64_t first = (int64_t)b->rank * s->block;
    const int64_t end = first + s->block;
    s->first = (int)(first < s->count ? first : s->count);
    s->own = (int)(end < s->count ? end : s->count) - s->first;
    s->fit.starts = fail_alloc((size_t)s->own + 2, sizeof *s->fit.starts);
}

static void *create(const struct crew *crew, enum way way, const struct problem *problem) {
    struct bpmf *b = fail_alloc(1, sizeof *b);
    b->way = way;
    b->comm = crew_comm(crew, way);
    b->seed = problem->seed;
    b->asked_iterations = problem->iterations;
    b->leads = crew->info.node_rank == 0;
    MPI_CHECK(MPI_Comm_rank(b->comm, &b->rank));
    MPI_CHECK(MPI_Comm_size(b->comm, &b->ranks));
    b->ratings = problem->ratings;
    if (b->ratings == NULL) {
        ratings_generate(&b->made, (int32_t)problem->size, problem->noise, problem->seed);
        b->ratings = &b->made;
    }
    find_scale(b, b->ratings);
    b->noise_precision = b->scale * b->scale / (problem->noise * problem->noise);
    for (int side = 0; side < SIDES; side++) {
        place_side(b, side);
    }
    b->tests.starts = fail_alloc((size_t)b->sides[OF_ROWS].own + 2, sizeof *b->tests.starts);
    if (way == WAY_HYBRID) {
        make_memories(b, crew);
    } else {
        make_factors(b);
    }
    if (way == WAY_OPENMP) {
        make_thread_sums(b, crew->info.node_ranks);
    }
    return b;
}

static void drop(void *state) {
    struct bpmf *b = state;
    if (b->way != WAY_HYBRID) {
        free_factors(b);
    } else if (b->sides[OF_ROWS].memory != NULL) {
        free_memories(b);
    }
}

static void destroy(void *state) {
    struct bpmf *b = state;
    drop(b);
    if (b->way == WAY_HYBRID) {
        free_sums(b);
    }
    for (int side = 0; side < SIDES; side++) {
        free_lists(&b->sides[side].fit);
    }
    free_lists(&b->tests);
    free(b->predicted);
    free(b->thread_sums);
    free(b->gathered);
    free(b);
}

/* The chain begins with normal numbers. */
static void begin_side(struct bpmf *b, int side, struct team *team, int thread) {
    struct side *s = &b->sides[side];
    const struct team_part part = team_own_part(team, thread, s->own);
    double *own = b->way == WAY_HYBRID ? begin_write(s) : own_factors(s);
    struct gibbs_sums sums = {0};
    for (int i = part.first; i < part.end; i++) {
        struct philox_stream stream =
            philox_stream_of(b->seed, (uint32_t)(OF_BEGINNING + side), (uint32_t)(s->first + i), 0);
        for (int k = 0; k < K; k++) {
            own[(size_t)i * K + (size_t)k] = philox_normal(&stream);
        }
        gibbs_add(&sums, own + (size_t)i * K);
    }
    if (b->way == WAY_OPENMP) {
        b->thread_sums[thread].sums = sums;
        team_meet(team);
        add_thread_sums(b, team_threads(team), &sums);
    }
    if (thread == 0 && b->way == WAY_HYBRID) {
        gather_hybrid(b, s, &sums);
    } else if (thread == 0) {
        gather_mpi(b, s, &sums);
    }
    team_meet(team);
}

static void reset(void *state, struct team *team, int thread, bool settles) {
    struct bpmf *b = state;
    const struct team_part part = team_own_part(team, thread, b->sides[OF_ROWS].own);
    const size_t first = b->tests.starts[part.first];
    if (thread == 0) {
        b->history = 0;
        b->drawn = 0;
        b->iterations = settles ? SETTLING_ITERATIONS : b->asked_iterations;
    }
    memset(b->predicted + first, 0, (b->tests.starts[part.end] - first) * sizeof *b->predicted);
    for (int side = 0; side < SIDES; side++) {
        begin_side(b, side, team, thread);
    }
}

static void fill(void *state, struct team *team, int thread) {
    struct bpmf *b = state;
    for (int side = 0; side < SIDES; side++) {
        make_lists(b, team, thread, side, false, &b->sides[side].fit);
    }
    make_lists(b, team, thread, OF_ROWS, true, &b->tests);
    if (thread == 0) {
        b->predicted = fail_alloc(b->tests.starts[b->sides[OF_ROWS].own] + 1, sizeof *b->predicted);
        ratings_free(&b->made);
        b->ratings = NULL;
    }
    team_meet(team);
    reset(b, team, thread, false);
}

/* Collective: returns the root mean square error of the averaged predictions, in the unit of the ratings. */
static double test_error(const struct bpmf *b) {
    const int64_t count = (int64_t)b->tests.starts[b->sides[OF_ROWS].own];
    const int64_t averaged = b->iterations - BURN_IN;
    int64_t sums[] = {0, count}; /* of squares, in units of 2^-30 */
    for (int64_t t = 0; t < count; t++) {
        const double off = b->predicted[t] / (double)averaged - b->tests.ratings[t].value;
        sums[0] += llrint(off * off * GIBBS_UNIT);
    }
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_INT64_T, MPI_SUM, b->comm));
    return b->scale * sqrt((double)sums[0] / GIBBS_UNIT / (double)sums[1]);
}

static struct kernel_end end(void *state) {
    const struct bpmf *b = state;
    uint64_t digest = 0;
    for (int side = 0; side < SIDES; side++) {
        const struct side *s = &b->sides[side];
        const double *factors = others_of(b, 1 - side) + (size_t)s->first * K;
        for (size_t i = 0; i < (size_t)s->own * K; i++) {
            digest += kernel_digest_of(((uint64_t)side << 60) + (uint64_t)s->first * K + i, factors[i]);
        }
    }
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &digest, 1, MPI_UINT64_T, MPI_SUM, b->comm));
    const double error = test_error(b);
    return (struct kernel_end){.iterations = b->drawn,
                               .error = error,
                               .digest = digest + b->history,
                               .right = isfinite(error) && b->drawn == b->iterations};
}

static struct kernel_bytes replicated(const void *state) {
    const struct bpmf *b = state;
    struct kernel_bytes bytes = {0, 0};
    for (int side = 0; side < SIDES; side++) {
        const struct side *s = &b->sides[side];
        const int64_t copy = (int64_t)b->ranks * s->block * K * (int64_t)sizeof(double);
        size_t buffer = 0;
        size_t window = 0;
        if (b->way == WAY_HYBRID) {
            HYBRID_CHECK(hybrid_memory_bytes(s->memory, &buffer, &window));
            bytes.replicated += b->leads ? (int64_t)window : 0;
            bytes.one_copy += b->leads ? copy : 0;
        } else {
            bytes.replicated += copy;
        }
    }
    return bytes;
}

const struct kernel kernel_bpmf = {
    .name = "bpmf",
    .what = "factors of a sparse matrix of ratings, by Gibbs sampling; size: rows of the matrix",
    .option = "bpmf-items",
    .collective = "MPI_Allgather",
    .error_help = "root mean square error of the ratings that were left out",
    .lines = {[WAY_MPI] = FACTORS_LINES + MPI_LINES,
              [WAY_OPENMP] = FACTORS_LINES + OPENMP_LINES,
              [WAY_HYBRID] = HYBRID_LINES},
    .check = check_size,
    .bytes = bytes_needed,
    .windows = window_bytes,
    .create = create,
    .free = destroy,
    .fill = fill,
    .reset = reset,
    .solve = {[WAY_MPI] = solve_mpi, [WAY_OPENMP] = solve_openmp, [WAY_HYBRID] = solve_hybrid},
    .end = end,
    .replicated = replicated,
    .drop = drop,
};
