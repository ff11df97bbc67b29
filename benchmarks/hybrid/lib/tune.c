/*
 * tune - finds the way that is fastest for an application's rounds: the method of a reduction, and eviction.
 */
#include "collective.h"
#include "error.h"
#include "eviction.h"

#include <stdlib.h>

enum {
    METHODS = HYBRID_METHOD_EACH + 1,
    MOST_WAYS = 2 * METHODS,
    TRIALS = 7, /* of each way, in turn; their median counts, so that one in which a rank was preempted does not */
    SETTLING_USES = 2,    /* before a trial each buffer is used so often: caches are then as this way leaves them */
    MOST_ROUNDS = 1 << 20 /* of a trial */
};

/* A trial takes at least so long: as much as makes the clocks' errors and the common start small. */
static const double TRIAL_SECONDS = 0.0005;

/* After this time no further turn begins: where ranks share cores, a single round can take milliseconds. */
static const double ENOUGH_SECONDS = 1;

/* Another way than the first is taken where it is faster by more than this: as much as trials of one way differ by. */
static const double LEAST_GAIN = 0.05;

struct tuning {
    hybrid_memory *memory;
    hybrid_round *round;
    void *context;
    struct hybrid_way ways[MOST_WAYS];
    int count;
    double seconds[MOST_WAYS][TRIALS];
};

static int make_rounds(const struct tuning *t, const struct hybrid_way *way, int rounds) {
    hybrid_memory *m = t->memory;
    m->evicts = way->evicts;
    for (int i = 0; i < rounds; i++) {
        const uint64_t before = m->round;
        TRY(t->round(m, way->method, t->context));
        if (m->phase != PHASE_IDLE || m->round != before + 1) {
            return error_set(MPI_ERR_RMA_SYNC, "hybrid_memory_tune: the function that was given makes no whole round "
                                               "of this memory, from hybrid_write_begin to hybrid_read_end");
        }
    }
    return MPI_SUCCESS;
}

/* Returns in *seconds the time of so many rounds on the slowest rank, and adds to *spent what the trial took. */
static int time_rounds(const struct tuning *t, const struct hybrid_way *way, int rounds, double *seconds,
                       double *spent) {
    MPI_Comm all = t->memory->comm->all;
    const double settling = MPI_Wtime();
    TRY(comm_share_error(all, make_rounds(t, way, SETTLING_USES * t->memory->buffers)));
    TRY_MPI(MPI_Barrier(all));
    const double began = MPI_Wtime();
    const int code = make_rounds(t, way, rounds);
    const double ended = MPI_Wtime();
    TRY(comm_share_error(all, code));
    double times[2] = {ended - began, ended - settling};
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, times, 2, MPI_DOUBLE, MPI_MAX, all));
    *seconds = times[0];
    *spent += times[1];
    return MPI_SUCCESS;
}

/* Whether the last round's collective can be made by the method, and not by that of an earlier way under another name.
 * Sets the method that this one stands for. */
static bool is_new(const struct tuning *t, enum hybrid_method *method) {
    struct call call = t->memory->call;
    call.method = *method;
    *method = reduce_method(t->memory, &call);
    for (int i = 0; i < t->count; i++) {
        if (t->ways[i].method == *method) {
            return false;
        }
    }
    return call.kind->check(t->memory, &call) == MPI_SUCCESS;
}

/* After a first round, which shows what its collective is: each method, without and with eviction. */
static int find_ways(struct tuning *t, const struct hybrid_trials *trials) {
    static const enum hybrid_method usual[] = {HYBRID_METHOD_AUTO, HYBRID_METHOD_SLICES, HYBRID_METHOD_LEADER,
                                               HYBRID_METHOD_REDUCE};
    const bool given = trials->method_count > 0;
    const enum hybrid_method *methods = given ? trials->methods : usual;
    const size_t method_count = given ? trials->method_count : sizeof usual / sizeof *usual;
    int evicts = !trials->never_evicts && eviction_is_possible();
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, &evicts, 1, MPI_INT, MPI_MIN, t->memory->comm->all));
    t->count = 0;
    if (!t->memory->call.kind->reduces) {
        t->ways[t->count++] = (struct hybrid_way){.method = HYBRID_METHOD_AUTO};
    }
    for (size_t i = 0; i < method_count && t->memory->call.kind->reduces; i++) {
        enum hybrid_method method = methods[i];
        if (is_new(t, &method)) {
            t->ways[t->count++] = (struct hybrid_way){.method = method};
        }
    }
    for (int i = 0, plain = t->count; i < plain && evicts; i++) {
        t->ways[t->count++] = (struct hybrid_way){.method = t->ways[i].method, .evicts = true};
    }
    return t->count > 0 ? MPI_SUCCESS : error_set(MPI_ERR_ARG, "none of the methods can reduce what the rounds reduce");
}

/* So many rounds that a trial of the first way takes long enough. */
static int find_rounds(const struct tuning *t, int *rounds) {
    double seconds = 0;
    double spent = 0;
    *rounds = 1;
    TRY(time_rounds(t, &t->ways[0], *rounds, &seconds, &spent));
    while (seconds < TRIAL_SECONDS && *rounds < MOST_ROUNDS) {
        *rounds *= 2;
        TRY(time_rounds(t, &t->ways[0], *rounds, &seconds, &spent));
    }
    return MPI_SUCCESS;
}

static int compare_seconds(const void *a, const void *b) {
    const double left = *(const double *)a;
    const double right = *(const double *)b;
    return (left > right) - (left < right);
}

/* All ranks have the same times, and so choose the same. */
static const struct hybrid_way *fastest(struct tuning *t, int trials) {
    int best = 0;
    double median[MOST_WAYS];
    for (int i = 0; i < t->count; i++) {
        qsort(t->seconds[i], (size_t)trials, sizeof t->seconds[i][0], compare_seconds);
        median[i] = t->seconds[i][trials / 2];
        best = median[i] < median[best] ? i : best;
    }
    return &t->ways[median[best] < (1 - LEAST_GAIN) * median[0] ? best : 0];
}

static int try_ways(struct tuning *t, const struct hybrid_trials *trials, struct hybrid_way *way) {
    const struct hybrid_way first = {
        .method = trials->method_count > 0 ? trials->methods[0] : HYBRID_METHOD_AUTO,
    };
    int rounds = 0;
    int turns = 0;
    double spent = 0;
    TRY(comm_share_error(t->memory->comm->all, make_rounds(t, &first, 1)));
    TRY(find_ways(t, trials));
    if (t->count > 1) {
        TRY(find_rounds(t, &rounds));
        for (; turns < TRIALS && (turns == 0 || spent < ENOUGH_SECONDS); turns++) {
            for (int i = 0; i < t->count; i++) {
                TRY(time_rounds(t, &t->ways[i], rounds, &t->seconds[i][turns], &spent));
            }
        }
    }
    *way = t->count > 1 ? *fastest(t, turns) : t->ways[0];
    return MPI_SUCCESS;
}

int hybrid_memory_tune(hybrid_memory *memory, const struct hybrid_trials *trials, hybrid_round *round, void *context,
                       struct hybrid_way *way) {
    static const struct hybrid_trials everything = {.method_count = 0};
    const struct hybrid_trials *of = trials != NULL ? trials : &everything;
    if (memory == NULL || !handle_exists(memory)) {
        return error_set(MPI_ERR_ARG, "hybrid_memory_tune: the hybrid_memory does not exist, or was freed");
    }
    TRY(memory_check(memory, PHASE_IDLE, "hybrid_memory_tune"));
    if (round == NULL || way == NULL || (of->method_count > 0 && of->methods == NULL) || of->method_count > METHODS) {
        return error_set(MPI_ERR_ARG,
                         "hybrid_memory_tune: a round, at most %d methods and a place for the way are needed", METHODS);
    }
    for (size_t i = 0; i < of->method_count; i++) {
        TRY(reduce_check_method(of->methods[i]));
    }
    struct tuning *t = calloc(1, sizeof *t);
    int code = comm_share_error(
        memory->comm->all,
        t != NULL ? MPI_SUCCESS : error_set(MPI_ERR_NO_MEM, "hybrid_memory_tune: no memory for the times of trials"));
    if (code == MPI_SUCCESS) {
        const bool before = memory->evicts;
        t->memory = memory;
        t->round = round;
        t->context = context;
        code = try_ways(t, of, way);
        memory->evicts = code == MPI_SUCCESS ? way->evicts : before;
    }
    free(t);
    return code;
}
