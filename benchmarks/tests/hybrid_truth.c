/*
 * hybrid_truth - every collective of hybrid_collectives over a real MPI, with ranks that are late on purpose. Prints a
 * JSON object: how the ranks are placed, the results that were checked, and those that were wrong. pytest launches it.
 *
 *     mpiexec -n 4 hybrid_truth [spin|barrier] [numa] [per-node=K] [round-robin] [table] [rounds=N]
 *                               [buffers=1] [late=writer|reader|leader|any] [late-us=N] [all-types] [evict] [tune]
 *     mpiexec -n 2 hybrid_truth wrong
 *     mpiexec -n 2 hybrid_truth_checked violate=write-in-read|read-after-end|write-unnamed|overlap|mismatch [buffers=1]
 *
 * late: in every round the writers of even rank come late to the collective; the readers of odd rank read late; the
 * leaders run ahead of all others; or each rank sleeps somewhere, by chance. wrong: prints the error of each wrong
 * call.
 */
#include "hybrid_collectives.h"

#include <complex.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int rank;
static int ranks;
static hybrid_comm *comm;
static struct hybrid_info info;
static int64_t checked;
static int64_t faults;
static int round_number;

enum late { LATE_NOBODY, LATE_WRITER, LATE_READER, LATE_LEADER, LATE_ANY };
static const char *const late_names[] = {"nobody", "writer", "reader", "leader", "any"};

static struct settings {
    struct hybrid_settings of_comm;
    enum late late;
    int late_us;
    int rounds;
    int buffers;
    bool all_types;
    bool evict;
    bool tune;
    bool wrong;
    const char *violate;
} settings = {.rounds = 4, .buffers = 2, .late_us = 200};

static void die(const char *what, int code) {
    char text[512];
    hybrid_last_error(text, sizeof text);
    fprintf(stderr, "hybrid_truth: rank %d: %s: code %d: %s\n", rank, what, code, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

#define GOOD(call)                                                                                                     \
    do {                                                                                                               \
        const int good_code = (call);                                                                                  \
        if (good_code != MPI_SUCCESS) {                                                                                \
            die(#call, good_code);                                                                                     \
        }                                                                                                              \
    } while (0)

/* ---- lateness ---- */

static void sleep_us(long us) {
    nanosleep(&(struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000}, NULL);
}

static void late_by_chance(void) {
    static uint64_t state;
    state = state == 0 ? (uint64_t)rank * 2654435761u + 1 : state * 6364136223846793005u + 1442695040888963407u;
    if (state >> 62 == 0) {
        sleep_us((long)(state >> 32) % settings.late_us);
    }
}

/* who: the setting by which the ranks of this parity are late here. */
static void be_late(enum late who, int parity) {
    if (settings.late == LATE_ANY) {
        late_by_chance();
    } else if ((settings.late == who && rank % 2 == parity) || (settings.late == LATE_LEADER && info.node_rank > 0)) {
        sleep_us(settings.late_us);
    }
}

static void late_before_collective(void) {
    be_late(LATE_WRITER, 0);
}

/* ---- data ---- */

/* What a rank sends to another in this round, as element i: small enough for exact sums. */
static int64_t value(int from, int to, size_t i) {
    return (int64_t)((uint64_t)(from + 1) * 1000003u + (uint64_t)(to + 1) * 10007u + i * 101u +
                     (uint64_t)round_number * 7919u) %
           99991;
}

static void expect(const char *what, size_t i, int64_t got, int64_t wanted) {
    checked++;
    if (got != wanted && faults++ < 3) {
        fprintf(stderr, "rank %d, round %d, %s: element %zu is %" PRId64 ", not %" PRId64 "\n", rank, round_number,
                what, i, got, wanted);
    }
}

static void write_row(int64_t *own, int to, size_t count) {
    for (size_t i = 0; i < count; i++) {
        own[i] = value(rank, to, i);
    }
}

static void write_rows(int64_t *own, size_t count) {
    for (int to = 0; to < ranks; to++) {
        write_row(own + (size_t)to * count, to, count);
    }
}

static void expect_rows(const char *what, const int64_t *got, int to, size_t count) {
    for (int from = 0; from < ranks; from++) {
        for (size_t i = 0; i < count; i++) {
            expect(what, i, got[(size_t)from * count + i], value(from, to, i));
        }
    }
}

static int64_t sum_of_values(int to, size_t i) {
    int64_t sum = 0;
    for (int from = 0; from < ranks; from++) {
        sum += value(from, to, i);
    }
    return sum;
}

static const void *result_of(hybrid_memory *memory) {
    const void *result = NULL;
    be_late(LATE_READER, 1);
    GOOD(hybrid_read(memory, &result));
    return result;
}

static hybrid_memory *memory_for(enum hybrid_shape shape, size_t count) {
    hybrid_memory *memory = NULL;
    GOOD(hybrid_memory_create_buffers(comm, count, sizeof(int64_t), shape, settings.buffers, &memory));
    GOOD(hybrid_memory_set_eviction(memory, settings.evict));
    return memory;
}

/* ---- the collectives; overlapped: by start and wait ---- */

#define CALL(overlapped, name, memory, ...)                                                                            \
    do {                                                                                                               \
        if (overlapped) {                                                                                              \
            GOOD(hybrid_##name##_start(memory, __VA_ARGS__));                                                          \
            GOOD(hybrid_wait(memory));                                                                                 \
        } else {                                                                                                       \
            GOOD(hybrid_##name(memory, __VA_ARGS__));                                                                  \
        }                                                                                                              \
    } while (0)

static void try_allgather(hybrid_memory *memory, size_t count, bool overlapped) {
    for (int i = 0; i < settings.rounds; i++, round_number++) {
        void *own = NULL;
        GOOD(hybrid_write_block(memory, count * sizeof(int64_t), &own));
        write_row(own, 0, count);
        late_before_collective();
        CALL(overlapped, allgather, memory, count, MPI_INT64_T);
        expect_rows("allgather", result_of(memory), 0, count);
        GOOD(hybrid_read_end(memory));
    }
}

/* Blocks of different sizes, of which some are empty; reversed: the last rank's block comes first. */
static void try_allgatherv(bool reversed, bool overlapped) {
    hybrid_gather *gather = NULL;
    size_t *counts = malloc((size_t)ranks * sizeof *counts);
    size_t *places = malloc((size_t)ranks * sizeof *places);
    size_t total = 0;
    if (counts == NULL || places == NULL) {
        die("no memory", MPI_ERR_NO_MEM);
    }
    for (int i = 0; i < ranks; i++) {
        const int from = reversed ? ranks - 1 - i : i;
        counts[from] = from % 3 == 1 ? 0 : (size_t)from * 5 + 1;
        places[from] = total;
        total += counts[from] + (reversed ? 2 : 0);
    }
    GOOD(hybrid_gather_create(comm, counts, reversed ? places : NULL, &gather));
    hybrid_memory *memory = memory_for(HYBRID_ONE, total);
    for (int i = 0; i < settings.rounds; i++, round_number++) {
        void *own = NULL;
        GOOD(hybrid_write_gather(memory, gather, sizeof(int64_t), &own));
        write_row(own, 0, counts[rank]);
        late_before_collective();
        CALL(overlapped, allgatherv, memory, gather, MPI_INT64_T);
        const int64_t *all = result_of(memory);
        for (int from = 0; from < ranks; from++) {
            for (size_t j = 0; j < counts[from]; j++) {
                expect("allgatherv", j, all[places[from] + j], value(from, 0, j));
            }
        }
        GOOD(hybrid_read_end(memory));
    }
    GOOD(hybrid_memory_free(&memory));
    GOOD(hybrid_gather_free(&gather));
    free(counts);
    free(places);
}

static void try_broadcast_from(int root, hybrid_memory *memory, size_t count, bool overlapped) {
    for (int i = 0; i < settings.rounds; i++, round_number++) {
        void *own = NULL;
        GOOD(hybrid_write_message(memory, count * sizeof(int64_t), root, &own));
        if (rank == root) {
            late_before_collective();
            write_row(own, 0, count);
        }
        CALL(overlapped, broadcast, memory, count, MPI_INT64_T, root);
        const int64_t *message = result_of(memory);
        for (size_t j = 0; j < count; j++) {
            expect("broadcast", j, message[j], value(root, 0, j));
        }
        GOOD(hybrid_read_end(memory));
    }
}

static void try_broadcast(hybrid_memory *memory, size_t count, bool overlapped) {
    for (int root = 0; root < ranks; root++) {
        try_broadcast_from(root, memory, count, overlapped);
    }
}

static void try_allreduce(hybrid_memory *memory, size_t count, enum hybrid_method method, bool overlapped) {
    for (int i = 0; i < settings.rounds; i++, round_number++) {
        void *own = NULL;
        GOOD(hybrid_write_input(memory, count * sizeof(double), &own));
        for (size_t j = 0; j < count; j++) {
            ((double *)own)[j] = (double)value(rank, 0, j);
        }
        late_before_collective();
        CALL(overlapped, allreduce, memory, count, MPI_DOUBLE, MPI_SUM, method);
        const double *sum = result_of(memory);
        for (size_t j = 0; j < count; j++) {
            expect("allreduce", j, (int64_t)sum[j], sum_of_values(0, j));
        }
        GOOD(hybrid_read_end(memory));
    }
}

static void try_reduce_scatter(hybrid_memory *memory, size_t count, enum hybrid_method method, bool overlapped) {
    const size_t all = count * (size_t)ranks;
    for (int i = 0; i < settings.rounds; i++, round_number++) {
        void *own = NULL;
        GOOD(hybrid_write_input(memory, all * sizeof(int64_t), &own));
        write_rows(own, count);
        late_before_collective();
        CALL(overlapped, reduce_scatter, memory, count, MPI_INT64_T, MPI_SUM, method);
        const int64_t *sum = result_of(memory);
        for (size_t j = 0; j < count; j++) {
            expect("reduce_scatter", j, sum[j], sum_of_values(rank, j));
        }
        GOOD(hybrid_read_end(memory));
    }
}

static void try_alltoall(hybrid_memory *memory, size_t count, bool overlapped) {
    for (int i = 0; i < settings.rounds; i++, round_number++) {
        void *own = NULL;
        GOOD(hybrid_write_input(memory, count * (size_t)ranks * sizeof(int64_t), &own));
        write_rows(own, count);
        late_before_collective();
        CALL(overlapped, alltoall, memory, count, MPI_INT64_T);
        expect_rows("alltoall", result_of(memory), rank, count);
        GOOD(hybrid_read_end(memory));
    }
}

/* Rounds whose readers are late while others are already in the next ones: kinds, roots and ways to wait alternate. */
static void try_mixture(void) {
    const size_t count = 100;
    hybrid_memory *memory = memory_for(HYBRID_REDUCTION, count);
    for (int i = 0; i < 6 * settings.rounds; i++, round_number++) {
        void *own = NULL;
        const int root = i % ranks;
        GOOD(hybrid_comm_set_sync(comm, i / 4 % 2 == 0 ? HYBRID_SPIN : HYBRID_BARRIER));
        if (i % 3 == 0) {
            GOOD(hybrid_write_input(memory, count * sizeof(int64_t), &own));
            write_row(own, 0, count);
            GOOD(hybrid_allreduce(memory, count, MPI_INT64_T, MPI_SUM, HYBRID_METHOD_AUTO));
        } else {
            GOOD(hybrid_write_message(memory, count * sizeof(int64_t), root, &own));
            if (rank == root) {
                write_row(own, 0, count);
            }
            GOOD(hybrid_broadcast(memory, count, MPI_INT64_T, root));
        }
        const int64_t *result = result_of(memory);
        for (size_t j = 0; j < count; j++) {
            expect("mixture", j, result[j], i % 3 == 0 ? sum_of_values(0, j) : value(root, 0, j));
        }
        GOOD(hybrid_read_end(memory));
    }
    GOOD(hybrid_memory_free(&memory));
    GOOD(hybrid_comm_set_sync(comm, settings.of_comm.sync));
}

/* ---- the cut-off ---- */

/* Replaces MPI_Reduce, which the library calls for METHOD_REDUCE alone. */
static struct {
    int64_t calls;
    bool slow;
    bool fails;
} reductions;

int MPI_Reduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm among) {
    reductions.calls++;
    if (reductions.slow) {
        sleep_us(200);
    }
    return reductions.fails ? MPI_ERR_OTHER : PMPI_Reduce(in, out, count, type, op, root, among);
}

static size_t cutoff_of(hybrid_comm *of) {
    struct hybrid_info now;
    GOOD(hybrid_comm_info(of, &now));
    return now.cutoff_bytes;
}

/* Returns the cut-off that is found: the same on all ranks, one of those that are tried, and in force. */
static size_t found_cutoff(hybrid_comm *of, enum hybrid_method method) {
    size_t found = 1;
    unsigned long long ends[2];
    GOOD(hybrid_comm_find_cutoff(of, method, &found));
    expect("cut-off", 0, (int64_t)cutoff_of(of), (int64_t)found);
    expect("cut-off is a power of two", 0, found <= 65536 && (found & (found - 1)) == 0, true);
    ends[0] = found;
    ends[1] = ~(unsigned long long)found;
    GOOD(MPI_Allreduce(MPI_IN_PLACE, ends, 2, MPI_UNSIGNED_LONG_LONG, MPI_MAX, MPI_COMM_WORLD));
    expect("cut-off of another rank", 0, (int64_t)ends[0], (int64_t)~ends[1]);
    return found;
}

/* The two sides of AUTO's cut-off are compared where they differ, and the paper's method 1 is neither of them. */
static void try_cutoff(void) {
    const bool same = info.nodes == 1 && info.node_ranks == 2;
    const int64_t calls = reductions.calls;
    const size_t found = found_cutoff(comm, HYBRID_METHOD_AUTO);
    expect("cut-off of a method that takes the same on both sides", 0, !same || found == info.cutoff_bytes, true);
    expect("calls of MPI_Reduce for the cut-off of AUTO", 0, reductions.calls, calls);
    GOOD(hybrid_comm_set_cutoff(comm, info.cutoff_bytes));
}

/* The paper's cut-off divides its methods 2 and 1: where method 1 is slow, it is the largest size that is tried; where
 * method 1 fails, it stays as it is, and no memory stays. */
static void try_papers_cutoff(void) {
    hybrid_comm *own = NULL;
    size_t found = 1;
    const int64_t calls = reductions.calls;
    GOOD(hybrid_comm_create(MPI_COMM_WORLD, &settings.of_comm, &own));
    found_cutoff(own, HYBRID_METHOD_PAPER);
    expect("MPI_Reduce is timed for the paper's cut-off", 0, reductions.calls > calls, true);
    reductions.slow = true;
    const size_t largest = found_cutoff(own, HYBRID_METHOD_PAPER);
    expect("cut-off where method 1 is slow", 0, info.oversubscribed ? 65536 : (int64_t)largest, 65536);
    reductions.slow = false;
    GOOD(hybrid_comm_set_cutoff(own, 100));
    reductions.fails = true;
    expect("code where method 1 fails", 0, hybrid_comm_find_cutoff(own, HYBRID_METHOD_PAPER, &found), MPI_ERR_OTHER);
    reductions.fails = false;
    expect("cut-off after an error", 0, (int64_t)cutoff_of(own), 100);
    expect("memories after an error", 0, hybrid_comm_free(&own), MPI_SUCCESS);
}

/* ---- tuning ---- */

/* Rounds of the trials, whose results are checked as all others are. */
struct tried {
    size_t count;
    bool slow[HYBRID_METHOD_EACH + 1]; /* methods that are made slow on purpose */
};

static int tried_allgather(hybrid_memory *memory, enum hybrid_method method, void *context) {
    expect("method of an allgather", 0, method, HYBRID_METHOD_AUTO);
    try_allgather(memory, ((const struct tried *)context)->count, false);
    return MPI_SUCCESS;
}

static int tried_broadcast(hybrid_memory *memory, enum hybrid_method method, void *context) {
    expect("method of a broadcast", 0, method, HYBRID_METHOD_AUTO);
    try_broadcast_from(ranks - 1, memory, ((const struct tried *)context)->count, false);
    return MPI_SUCCESS;
}

static int tried_allreduce(hybrid_memory *memory, enum hybrid_method method, void *context) {
    const struct tried *tried = context;
    if (tried->slow[method]) {
        sleep_us(1000);
    }
    try_allreduce(memory, tried->count, method, false);
    return MPI_SUCCESS;
}

static int tried_reduce_scatter(hybrid_memory *memory, enum hybrid_method method, void *context) {
    try_reduce_scatter(memory, ((const struct tried *)context)->count, method, true);
    return MPI_SUCCESS;
}

/* Returns the way that was chosen; it must be that of all ranks, and one of those that were asked for. */
static struct hybrid_way tuned(hybrid_memory *memory, const struct hybrid_trials *trials, hybrid_round *round,
                               struct tried *tried) {
    struct hybrid_way way = {.method = HYBRID_METHOD_PAPER, .evicts = true};
    int ends[2];
    bool asked = trials == NULL || trials->method_count == 0;
    const int rounds = settings.rounds;
    settings.rounds = 1;
    GOOD(hybrid_memory_tune(memory, trials, round, tried, &way));
    settings.rounds = rounds;
    ends[0] = 2 * (int)way.method + way.evicts;
    ends[1] = -ends[0];
    GOOD(MPI_Allreduce(MPI_IN_PLACE, ends, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    expect("way of another rank", 0, ends[0], -ends[1]);
    expect("method that another stands for", 0, way.method == HYBRID_METHOD_PAPER, false);
    for (size_t i = 0; trials != NULL && i < trials->method_count; i++) {
        asked = asked || trials->methods[i] == way.method;
    }
    expect("method that was asked for", 0, asked, true);
    return way;
}

static void try_tuning(hybrid_memory *gathered, hybrid_memory *message, hybrid_memory *reduced, size_t count) {
    static const enum hybrid_method of_paper[] = {HYBRID_METHOD_REDUCE, HYBRID_METHOD_LEADER};
    static const struct hybrid_trials papers = {.methods = of_paper, .method_count = 2, .never_evicts = true};
    static const struct hybrid_trials one = {.methods = of_paper + 1, .method_count = 1, .never_evicts = true};
    struct tried tried = {.count = count};
    expect("method of an allgather", 0, tuned(gathered, NULL, tried_allgather, &tried).method, HYBRID_METHOD_AUTO);
    try_allgather(gathered, count, false);
    expect("method of a broadcast", 0, tuned(message, NULL, tried_broadcast, &tried).method, HYBRID_METHOD_AUTO);
    try_broadcast(message, count, false);
    const struct hybrid_way way = tuned(reduced, NULL, tried_allreduce, &tried);
    expect("method that AUTO stands for", 0, way.method == HYBRID_METHOD_AUTO, false);
    try_allreduce(reduced, count, way.method, true);
    try_reduce_scatter(reduced, count, tuned(reduced, NULL, tried_reduce_scatter, &tried).method, false);
    expect("eviction that was not asked for", 0, tuned(reduced, &papers, tried_allreduce, &tried).evicts, false);
    expect("the only method", 0, tuned(reduced, &one, tried_allreduce, &tried).method, HYBRID_METHOD_LEADER);
    /* Where all methods but one sleep, that one is the fastest; ranks that share cores may sleep anywhere. */
    for (size_t i = 0; i < COUNT(of_paper) && !info.oversubscribed; i++) {
        for (int method = 0; method <= HYBRID_METHOD_EACH; method++) {
            tried.slow[method] = method != (int)of_paper[i];
        }
        expect("the fastest method", i, tuned(reduced, NULL, tried_allreduce, &tried).method, of_paper[i]);
    }
    GOOD(hybrid_memory_set_eviction(gathered, settings.evict));
    GOOD(hybrid_memory_set_eviction(message, settings.evict));
    GOOD(hybrid_memory_set_eviction(reduced, settings.evict));
}

/* ---- types and operations ---- */

enum value_kind { WHOLE, REAL, COMPLEX };
struct type {
    MPI_Datatype type;
    const char *name;
    enum value_kind kind;      /* of the value, or of the first of a pair */
    size_t bytes;              /* from one element to the next */
    size_t value_bytes;        /* of the value, of one part of a complex one, or of the first of a pair */
    size_t index_offset;       /* of the second of a pair; 0: no pair */
    size_t first_op, op_count; /* those of `operations` that it has */
};

enum { TYPE_ELEMENTS = 37, MOST_BYTES = 32 };

static void put(const struct type *t, char *element, int v) {
    const float f = (float)v;
    const double d = v;
    const long double l = v;
    const int64_t whole = v; /* its lower bytes are those of shorter ones */
    const void *from = t->kind == WHOLE             ? (const void *)&whole
                       : t->value_bytes == sizeof f ? (const void *)&f
                       : t->value_bytes == sizeof d ? (const void *)&d
                                                    : &l;
    memset(element, 0, t->bytes);
    memcpy(element, from, t->value_bytes);
    if (t->kind == COMPLEX) {
        memcpy(element + t->value_bytes, from, t->value_bytes);
    }
    if (t->index_offset > 0) {
        memcpy(element + t->index_offset, &rank, sizeof rank);
    }
}

static void try_type(hybrid_memory *memory, const struct type *t, MPI_Op op) {
    static _Alignas(64) char in[TYPE_ELEMENTS * MOST_BYTES];
    static _Alignas(64) char wanted[TYPE_ELEMENTS * MOST_BYTES];
    const enum hybrid_method methods[] = {HYBRID_METHOD_REDUCE, HYBRID_METHOD_LEADER, HYBRID_METHOD_SLICES,
                                          HYBRID_METHOD_EACH};
    memset(in, 0, sizeof in);
    memset(wanted, 0, sizeof wanted);
    for (int i = 0; i < TYPE_ELEMENTS; i++) {
        put(t, in + (size_t)i * t->bytes, (rank * 5 + i * 3) % (t->type == MPI_C_BOOL ? 2 : 4)); /* a bool is 0 or 1 */
    }
    GOOD(MPI_Allreduce(in, wanted, TYPE_ELEMENTS, t->type, op, MPI_COMM_WORLD));
    for (size_t i = 0; i < COUNT(methods); i++) {
        void *own = NULL;
        const void *result = NULL;
        GOOD(hybrid_write_input(memory, TYPE_ELEMENTS * t->bytes, &own));
        memcpy(own, in, TYPE_ELEMENTS * t->bytes);
        GOOD(hybrid_allreduce(memory, TYPE_ELEMENTS, t->type, op, methods[i]));
        GOOD(hybrid_read(memory, &result));
        for (size_t j = 0; j < TYPE_ELEMENTS; j++) {
            const char *a = (const char *)result + j * t->bytes;
            const char *b = wanted + j * t->bytes;
            /* The last six bytes of an x86 long double mean nothing. */
            const size_t value = t->kind == REAL && t->value_bytes == 16 ? 10 : t->value_bytes;
            expect(t->name, j, memcmp(a, b, value), 0);
            if (t->index_offset > 0) {
                expect(t->name, j, memcmp(a + t->index_offset, b + t->index_offset, sizeof(int)), 0);
            } else if (t->kind == COMPLEX) {
                expect(t->name, j, memcmp(a + value, b + value, value), 0);
            }
        }
        GOOD(hybrid_read_end(memory));
    }
}

#define TYPE_OF(mpi, kind, c, first_op, op_count) {mpi, #mpi, kind, sizeof(c), sizeof(c), 0, first_op, op_count}
#define WHOLE_OF(mpi, c) TYPE_OF(mpi, WHOLE, c, 0, 10)
#define COMPLEX_OF(mpi, c) {mpi, #mpi, COMPLEX, sizeof(c complex), sizeof(c), 0, 2, 2}
#define PAIR_OF(mpi, kind, c, pair) {mpi, #mpi, kind, sizeof(struct pair), sizeof(c), offsetof(struct pair, b), 10, 2}
#define DEFINE_PAIR(pair, c)                                                                                           \
    struct pair {                                                                                                      \
        c a;                                                                                                           \
        int b;                                                                                                         \
    }

static void try_all_types(hybrid_memory *memory) {
    DEFINE_PAIR(float_int, float);
    DEFINE_PAIR(double_int, double);
    DEFINE_PAIR(long_int, long);
    DEFINE_PAIR(short_int, short);
    DEFINE_PAIR(int_int, int);
    const MPI_Op operations[] = {MPI_MAX,  MPI_MIN,  MPI_SUM, MPI_PROD, MPI_LAND,   MPI_LOR,
                                 MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_MINLOC, MPI_MAXLOC};
    const struct type types[] = {WHOLE_OF(MPI_SHORT, short),
                                 WHOLE_OF(MPI_INT, int),
                                 WHOLE_OF(MPI_LONG, long),
                                 WHOLE_OF(MPI_LONG_LONG, long long),
                                 WHOLE_OF(MPI_SIGNED_CHAR, char),
                                 WHOLE_OF(MPI_UNSIGNED_CHAR, char),
                                 WHOLE_OF(MPI_UNSIGNED_SHORT, short),
                                 WHOLE_OF(MPI_UNSIGNED, int),
                                 WHOLE_OF(MPI_UNSIGNED_LONG, long),
                                 WHOLE_OF(MPI_UNSIGNED_LONG_LONG, long long),
                                 WHOLE_OF(MPI_INT8_T, int8_t),
                                 WHOLE_OF(MPI_INT16_T, int16_t),
                                 WHOLE_OF(MPI_INT32_T, int32_t),
                                 WHOLE_OF(MPI_INT64_T, int64_t),
                                 WHOLE_OF(MPI_UINT8_T, uint8_t),
                                 WHOLE_OF(MPI_UINT16_T, uint16_t),
                                 WHOLE_OF(MPI_UINT32_T, uint32_t),
                                 WHOLE_OF(MPI_UINT64_T, uint64_t),
                                 WHOLE_OF(MPI_AINT, MPI_Aint),
                                 WHOLE_OF(MPI_OFFSET, MPI_Offset),
                                 WHOLE_OF(MPI_COUNT, MPI_Count),
                                 TYPE_OF(MPI_C_BOOL, WHOLE, bool, 4, 3),
                                 TYPE_OF(MPI_BYTE, WHOLE, char, 7, 3),
                                 TYPE_OF(MPI_FLOAT, REAL, float, 0, 4),
                                 TYPE_OF(MPI_DOUBLE, REAL, double, 0, 4),
                                 TYPE_OF(MPI_LONG_DOUBLE, REAL, long double, 0, 4),
                                 COMPLEX_OF(MPI_C_FLOAT_COMPLEX, float),
                                 COMPLEX_OF(MPI_C_DOUBLE_COMPLEX, double),
                                 PAIR_OF(MPI_FLOAT_INT, REAL, float, float_int),
                                 PAIR_OF(MPI_DOUBLE_INT, REAL, double, double_int),
                                 PAIR_OF(MPI_LONG_INT, WHOLE, long, long_int),
                                 PAIR_OF(MPI_SHORT_INT, WHOLE, short, short_int),
                                 PAIR_OF(MPI_2INT, WHOLE, int, int_int)};
    for (size_t i = 0; i < COUNT(types); i++) {
        for (size_t j = 0; j < types[i].op_count; j++) {
            try_type(memory, &types[i], operations[types[i].first_op + j]);
        }
    }
}

/* An operation that is associative and does not commute: the product of matrices of 2 x 2 elements. */
static void multiply(const uint64_t *a, uint64_t *b) {
    const uint64_t product[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2],
                                 a[2] * b[1] + a[3] * b[3]};
    memcpy(b, product, sizeof product);
}

static void multiply_all(void *in, void *inout, int *count, MPI_Datatype *type) {
    for (int i = 0; i < *count; i++) {
        multiply((const uint64_t *)in + (size_t)i * 4, (uint64_t *)inout + (size_t)i * 4);
    }
}

static void matrix_of(int from, uint64_t *matrix) {
    for (size_t i = 0; i < 4; i++) {
        matrix[i] = (uint64_t)value(from, 0, i);
    }
}

/* Returns the code of an allreduce with this operation; where it is good, the product is checked. */
static int try_noncommutative(enum hybrid_method method) {
    MPI_Datatype matrix;
    MPI_Op product;
    hybrid_memory *memory = NULL;
    void *own = NULL;
    uint64_t wanted[4];
    GOOD(MPI_Type_contiguous(4, MPI_UINT64_T, &matrix));
    GOOD(MPI_Type_commit(&matrix));
    GOOD(MPI_Op_create(multiply_all, 0, &product));
    GOOD(hybrid_memory_create_buffers(comm, 1, sizeof wanted, HYBRID_REDUCTION, settings.buffers, &memory));
    GOOD(hybrid_write_input(memory, sizeof wanted, &own));
    matrix_of(rank, own);
    const int code = hybrid_allreduce(memory, 1, matrix, product, method);
    if (code == MPI_SUCCESS) {
        const uint64_t *result = result_of(memory);
        matrix_of(ranks - 1, wanted);
        for (int from = ranks - 2; from >= 0; from--) {
            uint64_t left[4];
            matrix_of(from, left);
            multiply(left, wanted);
        }
        for (size_t i = 0; i < 4; i++) {
            expect("product of matrices", i, (int64_t)result[i], (int64_t)wanted[i]);
        }
        GOOD(hybrid_read_end(memory));
    }
    GOOD(hybrid_memory_free(&memory));
    GOOD(MPI_Op_free(&product));
    GOOD(MPI_Type_free(&matrix));
    return code;
}

/* ---- everything ---- */

enum { MOST_ELEMENTS = 3000 };

static void try_everything(void) {
    const size_t counts[] = {1, 0, 37, MOST_ELEMENTS};
    const enum hybrid_method methods[] = {HYBRID_METHOD_AUTO,   HYBRID_METHOD_PAPER,  HYBRID_METHOD_REDUCE,
                                          HYBRID_METHOD_LEADER, HYBRID_METHOD_SLICES, HYBRID_METHOD_EACH};
    hybrid_memory *gathered = memory_for(HYBRID_PER_RANK, MOST_ELEMENTS);
    hybrid_memory *message = memory_for(HYBRID_ONE, MOST_ELEMENTS);
    hybrid_memory *reduced = memory_for(HYBRID_REDUCTION, MOST_ELEMENTS * (size_t)ranks);
    hybrid_memory *pairs = memory_for(HYBRID_PAIRS, MOST_ELEMENTS);
    for (size_t i = 0; i < COUNT(counts); i++) {
        try_allgather(gathered, counts[i], i % 2 == 1);
        try_allgather(gathered, counts[i], i % 2 == 0);
        try_broadcast(message, counts[i], i % 2 == 1);
        try_alltoall(pairs, counts[i], i % 2 == 0);
        for (size_t j = 0; j < COUNT(methods); j++) {
            try_allreduce(reduced, counts[i], methods[j], (i + j) % 2 == 0);
            try_reduce_scatter(reduced, counts[i], methods[j], (i + j) % 2 == 1);
        }
    }
    if (settings.tune) {
        try_tuning(gathered, message, reduced, MOST_ELEMENTS);
    }
    if (settings.all_types) {
        try_all_types(reduced);
    }
    GOOD(hybrid_memory_free(&gathered));
    GOOD(hybrid_memory_free(&message));
    GOOD(hybrid_memory_free(&reduced));
    GOOD(hybrid_memory_free(&pairs));
    for (int i = 0; i < 4; i++) {
        try_allgatherv(i % 2 == 0, i / 2 == 0);
    }
    try_mixture();
    try_cutoff();
    if (settings.tune) {
        try_papers_cutoff();
    }
    for (size_t j = 0; j < COUNT(methods); j++) {
        const int code = try_noncommutative(methods[j]);
        expect("code of an operation that does not commute", j, code, info.blocks ? MPI_SUCCESS : MPI_ERR_OP);
    }
}

/* Every rank's node and place by translation are what the ranks themselves say. */
static void try_translation(void) {
    int own[2] = {info.node, info.node_rank};
    int *all = malloc(2 * (size_t)ranks * sizeof *all);
    if (all == NULL) {
        die("no memory", MPI_ERR_NO_MEM);
    }
    GOOD(MPI_Allgather(own, 2, MPI_INT, all, 2, MPI_INT, MPI_COMM_WORLD));
    for (int i = 0; i < ranks; i++) {
        int node = -1;
        int node_rank = -1;
        GOOD(hybrid_comm_translate(comm, i, &node, &node_rank));
        expect("node", (size_t)i, node, all[2 * i]);
        expect("rank within the node", (size_t)i, node_rank, all[2 * i + 1]);
    }
    free(all);
}

/* A part of the ranks has the nodes of all of them, and its collectives get the data of its own ranks. */
static void try_part(int color) {
    MPI_Comm part = MPI_COMM_NULL;
    hybrid_comm *of_part = NULL;
    hybrid_memory *memory = NULL;
    struct hybrid_info found;
    void *own = NULL;
    const void *result = NULL;
    const int here[2] = {rank, info.node};
    GOOD(MPI_Comm_split(MPI_COMM_WORLD, color, rank, &part));
    GOOD(hybrid_comm_create(part, &(struct hybrid_settings){.nodes_of = comm, .sync = info.sync}, &of_part));
    GOOD(MPI_Comm_free(&part));
    GOOD(hybrid_comm_info(of_part, &found));
    GOOD(hybrid_memory_create(of_part, 2, sizeof(int), HYBRID_PER_RANK, &memory));
    GOOD(hybrid_write_block(memory, sizeof here, &own));
    memcpy(own, here, sizeof here);
    GOOD(hybrid_allgather(memory, 2, MPI_INT));
    GOOD(hybrid_read(memory, &result));
    const int *all = result;
    expect("rank in a part", 0, all[2 * found.rank], rank);
    for (int i = 0; i < found.ranks; i++) {
        int node = -1;
        int node_rank = -1;
        GOOD(hybrid_comm_translate(of_part, i, &node, &node_rank));
        expect("same node in a part", (size_t)i, node == found.node, all[2 * i + 1] == info.node);
        expect("order of a part", (size_t)i, i == 0 || all[2 * i] > all[2 * (i - 1)], true);
    }
    GOOD(hybrid_read_end(memory));
    GOOD(hybrid_memory_free(&memory));
    GOOD(hybrid_comm_free(&of_part));
}

/* ---- wrong calls ---- */

#define NAMED(class) {class, #class}

static void tell(const char *what, int code) {
    char text[512];
    int class = MPI_SUCCESS;
    hybrid_last_error(text, sizeof text);
    MPI_Error_class(code, &class);
    static const struct {
        int class;
        const char *name;
    } names[] = {NAMED(MPI_SUCCESS),    NAMED(MPI_ERR_ARG),    NAMED(MPI_ERR_COMM),     NAMED(MPI_ERR_COUNT),
                 NAMED(MPI_ERR_ROOT),   NAMED(MPI_ERR_RANK),   NAMED(MPI_ERR_OP),       NAMED(MPI_ERR_TYPE),
                 NAMED(MPI_ERR_NO_MEM), NAMED(MPI_ERR_BUFFER), NAMED(MPI_ERR_RMA_SYNC), NAMED(MPI_ERR_RMA_CONFLICT)};
    const char *name = "another error";
    for (size_t i = 0; i < COUNT(names); i++) {
        name = names[i].class == class ? names[i].name : name;
    }
    if (rank == 0) {
        printf("%s: %s: %s\n", what, name, code == MPI_SUCCESS ? "" : text);
    }
}

static int half_a_round(hybrid_memory *memory, enum hybrid_method method, void *context) {
    void *own = NULL;
    GOOD(hybrid_write_input(memory, 64, &own));
    memset(own, 0, 64);
    return hybrid_allreduce(memory, 8, MPI_DOUBLE, MPI_SUM, method);
}

static int no_round(hybrid_memory *memory, enum hybrid_method method, void *context) {
    return MPI_SUCCESS;
}

static int round_that_fails(hybrid_memory *memory, enum hybrid_method method, void *context) {
    return hybrid_write_input(memory, 1 << 20, context);
}

static void tune_wrongly(hybrid_memory *memory) {
    static const enum hybrid_method none[] = {(enum hybrid_method)99};
    struct hybrid_way way;
    void *own = NULL;
    tell("tune without a round", hybrid_memory_tune(memory, NULL, NULL, NULL, &way));
    tell("tune with a method out of range",
         hybrid_memory_tune(memory, &(struct hybrid_trials){.methods = none, .method_count = 1}, no_round, NULL, &way));
    tell("tune with no round", hybrid_memory_tune(memory, NULL, no_round, NULL, &way));
    tell("tune with a round that fails", hybrid_memory_tune(memory, NULL, round_that_fails, &own, &way));
    tell("tune with half a round", hybrid_memory_tune(memory, NULL, half_a_round, NULL, &way));
    tell("tune in a phase", hybrid_memory_tune(memory, NULL, no_round, NULL, &way));
    GOOD(hybrid_read_end(memory));
}

static void make_wrong_calls(void) {
    hybrid_comm *freed = NULL;
    hybrid_comm *copy = NULL;
    hybrid_memory *memory = NULL;
    hybrid_memory *same = NULL;
    void *own = NULL;
    const void *result = NULL;
    int node = 0;
    int node_rank = 0;
    size_t cutoff = 0;
    tell("parent null", hybrid_comm_create(MPI_COMM_NULL, NULL, &freed));
    tell("settings out of range",
         hybrid_comm_create(MPI_COMM_WORLD, &(struct hybrid_settings){.ranks_per_node = -1}, &freed));
    tell("settings differ",
         hybrid_comm_create(MPI_COMM_WORLD, &(struct hybrid_settings){.ranks_per_node = rank + 1}, &freed));
    tell("nodes given twice",
         hybrid_comm_create(MPI_COMM_WORLD, &(struct hybrid_settings){.ranks_per_node = 1, .nodes_of = comm}, &freed));
    GOOD(hybrid_comm_create(MPI_COMM_WORLD, NULL, &freed));
    copy = freed;
    GOOD(hybrid_comm_free(&freed));
    tell("nodes of a comm that was freed",
         hybrid_comm_create(MPI_COMM_WORLD, &(struct hybrid_settings){.nodes_of = copy}, &freed));
    tell("comm freed twice", hybrid_comm_free(&freed));
    tell("comm freed twice by a copy", hybrid_comm_free(&copy));
    tell("rank out of range", hybrid_comm_translate(comm, ranks, &node, &node_rank));
    tell("cut-off of a method that has none", hybrid_comm_find_cutoff(comm, HYBRID_METHOD_SLICES, &cutoff));
    tell("cut-off without a place", hybrid_comm_find_cutoff(comm, HYBRID_METHOD_AUTO, NULL));
    tell("size overflows", hybrid_memory_create(comm, SIZE_MAX / 2, 8, HYBRID_PER_RANK, &memory));
    tell("buffers out of range", hybrid_memory_create_buffers(comm, 8, 8, HYBRID_ONE, 9, &memory));
    tell("window too large", hybrid_memory_create(comm, (size_t)1 << 44, 8, HYBRID_ONE, &memory));
    GOOD(hybrid_memory_create(comm, 8, sizeof(double), HYBRID_REDUCTION, &memory));
    tell("comm with memories", hybrid_comm_free(&comm));
    tell("collective before write", hybrid_broadcast(memory, 1, MPI_DOUBLE, 0));
    tell("read before collective", hybrid_read(memory, &result));
    tell("wait before start", hybrid_wait(memory));
    tell("write too much", hybrid_write_input(memory, 1 << 20, &own));
    tell("write for a root out of range", hybrid_write_message(memory, 8, ranks, &own));
    GOOD(hybrid_write_input(memory, 64, &own));
    memset(own, 0, 64);
    tell("write twice", hybrid_write_input(memory, 64, &own));
    tell("root out of range", hybrid_broadcast(memory, 1, MPI_DOUBLE, ranks));
    tell("root below 0", hybrid_broadcast(memory, 1, MPI_DOUBLE, -1));
    tell("too many elements", hybrid_broadcast(memory, 1 << 20, MPI_DOUBLE, 0));
    tell("count overflows", hybrid_allreduce(memory, SIZE_MAX / 4, MPI_DOUBLE, MPI_SUM, HYBRID_METHOD_AUTO));
    tell("type null", hybrid_allreduce(memory, 8, MPI_DATATYPE_NULL, MPI_SUM, HYBRID_METHOD_AUTO));
    tell("operation null", hybrid_allreduce(memory, 8, MPI_DOUBLE, MPI_OP_NULL, HYBRID_METHOD_AUTO));
    tell("operation does not fit", hybrid_allreduce(memory, 8, MPI_DOUBLE, MPI_BXOR, HYBRID_METHOD_AUTO));
    tell("method out of range", hybrid_allreduce(memory, 8, MPI_DOUBLE, MPI_SUM, (enum hybrid_method)99));
    GOOD(hybrid_allreduce_start(memory, 8, MPI_DOUBLE, MPI_SUM, HYBRID_METHOD_AUTO));
    tell("free between start and wait", hybrid_memory_free(&memory));
    GOOD(hybrid_wait(memory));
    tell("write before the read phase has ended", hybrid_write_input(memory, 64, &own));
    GOOD(hybrid_read_end(memory));
    tell("read after its end", hybrid_read(memory, &result));
    tune_wrongly(memory);
    same = memory;
    GOOD(hybrid_memory_free(&memory));
    tell("memory freed twice", hybrid_memory_free(&memory));
    tell("tune a memory that was freed", hybrid_memory_tune(same, NULL, no_round, NULL, &(struct hybrid_way){0}));
    tell("memory freed twice by a copy", hybrid_memory_free(&same));
    hybrid_gather *gather = NULL;
    const size_t overlapping[2] = {0, 1};
    const size_t two[2] = {2, 2};
    if (ranks == 2) {
        tell("blocks overlap", hybrid_gather_create(comm, two, overlapping, &gather));
    }
}

static void violate(const char *how) {
    const size_t bytes = 3 * 65536;
    hybrid_memory *memory = NULL;
    void *own = NULL;
    const void *result = NULL;
    GOOD(hybrid_memory_create_buffers(comm, bytes, 1, HYBRID_PER_RANK, settings.buffers, &memory));
    if (strcmp(how, "overlap") == 0) {
        GOOD(hybrid_write_begin(memory, (size_t)rank * 8, 16, &own));
        tell(how, hybrid_broadcast(memory, 16, MPI_BYTE, 0));
        return;
    }
    GOOD(hybrid_write_block(memory, bytes, &own));
    if (strcmp(how, "mismatch") == 0) {
        tell(how, rank == 0 ? hybrid_allgather(memory, bytes, MPI_BYTE) : hybrid_broadcast(memory, 1, MPI_BYTE, 0));
        return;
    }
    if (strcmp(how, "write-unnamed") == 0 && rank == 1) {
        memset((char *)own - bytes / 2, 1, 8);
    }
    GOOD(hybrid_allgather(memory, bytes, MPI_BYTE));
    GOOD(hybrid_read(memory, &result));
    if (strcmp(how, "write-in-read") == 0 && rank == 1) {
        memset(own, 1, 8);
    }
    GOOD(hybrid_read_end(memory));
    if (strcmp(how, "read-after-end") == 0 && rank == 1) {
        checked += *(const volatile char *)result;
    }
    GOOD(MPI_Barrier(MPI_COMM_WORLD));
    GOOD(hybrid_memory_free(&memory));
}

/* ---- the command line ---- */

static void read_word(const char *word) {
    struct settings *s = &settings;
    const struct {
        const char *word;
        bool *flag;
    } flags[] = {{"round-robin", &s->of_comm.round_robin},
                 {"table", &s->of_comm.rank_table},
                 {"all-types", &s->all_types},
                 {"evict", &s->evict},
                 {"tune", &s->tune},
                 {"wrong", &s->wrong}};
    const struct {
        const char *name;
        int *number;
    } numbers[] = {{"per-node=", &s->of_comm.ranks_per_node},
                   {"rounds=", &s->rounds},
                   {"buffers=", &s->buffers},
                   {"late-us=", &s->late_us}};
    const char *value = strchr(word, '=') != NULL ? strchr(word, '=') + 1 : word;
    for (size_t i = 0; i < COUNT(flags); i++) {
        if (strcmp(word, flags[i].word) == 0) {
            *flags[i].flag = true;
            return;
        }
    }
    for (size_t i = 0; i < COUNT(numbers); i++) {
        if (strncmp(word, numbers[i].name, strlen(numbers[i].name)) == 0) {
            *numbers[i].number = atoi(value);
            return;
        }
    }
    if (strcmp(word, "spin") == 0) {
        s->of_comm.sync = HYBRID_SPIN;
    } else if (strcmp(word, "barrier") == 0) {
        s->of_comm.sync = HYBRID_BARRIER;
    } else if (strcmp(word, "numa") == 0) {
        s->of_comm.split = HYBRID_NUMA_DOMAINS;
    } else if (strncmp(word, "violate=", 8) == 0) {
        s->violate = value;
    } else if (strncmp(word, "late=", 5) == 0) {
        for (size_t i = 0; i < COUNT(late_names); i++) {
            s->late = strcmp(value, late_names[i]) == 0 ? (enum late)i : s->late;
        }
    } else {
        fprintf(stderr, "hybrid_truth: %s: unknown\n", word);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 1; i < argc; i++) {
        read_word(argv[i]);
    }
    GOOD(hybrid_comm_create(MPI_COMM_WORLD, &settings.of_comm, &comm));
    GOOD(hybrid_comm_info(comm, &info));
    if (settings.wrong) {
        make_wrong_calls();
    } else if (settings.violate != NULL) {
        violate(settings.violate);
        MPI_Finalize();
        return 0;
    } else {
        try_translation();
        try_part(rank % 2);
        try_part(rank / 2);
        try_everything();
        int64_t numbers[2] = {checked, faults};
        MPI_Allreduce(MPI_IN_PLACE, numbers, 2, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
        if (rank == 0) {
            printf("{\"ranks\": %d, \"nodes\": %d, \"node_ranks\": %d, \"blocks\": %s, \"oversubscribed\": %s, "
                   "\"layout_bytes\": %zu, \"checked\": %" PRId64 ", \"faults\": %" PRId64 "}\n",
                   ranks, info.nodes, info.node_ranks, info.blocks ? "true" : "false",
                   info.oversubscribed ? "true" : "false", info.layout_bytes, numbers[0], numbers[1]);
        }
    }
    GOOD(hybrid_comm_free(&comm));
    MPI_Finalize();
    return faults > 0;
}
