#include "one_off.h"

#include "fail.h"
#include "fail_mpi.h"
#include "timer.h"

#include <mpi.h>
#include <stdlib.h>

enum { REPETITIONS = 9, MEMORIES = 3 };
static const struct {
    const char *name;
    size_t bytes;
} memories[MEMORIES] = {
    {"memory_create_8_bytes_ns", 8}, {"memory_create_64_kib_ns", 65536}, {"memory_create_1_mib_ns", 1048576}};

struct times {
    int64_t comm[REPETITIONS];
    int64_t comm_table[REPETITIONS];
    int64_t gather[REPETITIONS];
    int64_t memory[MEMORIES][REPETITIONS];
};

static void check(int code) {
    if (code != MPI_SUCCESS) {
        char reason[512];
        hybrid_last_error(reason, sizeof reason);
        fail_die("%s", reason);
    }
}

/* The ranks of `on` measure. */
static int64_t start_together(MPI_Comm on) {
    MPI_CHECK(MPI_Barrier(on));
    return timer_now_ns();
}

static int64_t slowest(MPI_Comm on, int64_t began) {
    int64_t taken = timer_now_ns() - began;
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &taken, 1, MPI_INT64_T, MPI_MAX, on));
    return taken;
}

static hybrid_comm *time_comm(MPI_Comm on, struct hybrid_settings settings, bool table, int64_t *taken) {
    hybrid_comm *comm = NULL;
    settings.rank_table = table;
    const int64_t began = start_together(on);
    check(hybrid_comm_create(on, &settings, &comm));
    *taken = slowest(on, began);
    return comm;
}

static void time_gather(MPI_Comm on, hybrid_comm *comm, const size_t *counts, int64_t *taken) {
    hybrid_gather *gather = NULL;
    const int64_t began = start_together(on);
    check(hybrid_gather_create(comm, counts, NULL, &gather));
    *taken = slowest(on, began);
    check(hybrid_gather_free(&gather));
}

static void time_memory(MPI_Comm on, hybrid_comm *comm, size_t bytes, int64_t *taken) {
    hybrid_memory *memory = NULL;
    const int64_t began = start_together(on);
    check(hybrid_memory_create(comm, bytes, 1, HYBRID_ONE, &memory));
    *taken = slowest(on, began);
    check(hybrid_memory_free(&memory));
}

static void measure_all(MPI_Comm on, int ranks, const struct hybrid_settings *settings, struct times *t) {
    size_t *counts = fail_alloc((size_t)ranks, sizeof *counts);
    for (int rank = 0; rank < ranks; rank++) {
        counts[rank] = (size_t)rank + 1;
    }
    for (int i = 0; i < REPETITIONS; i++) {
        hybrid_comm *with_table = time_comm(on, *settings, true, &t->comm_table[i]);
        check(hybrid_comm_free(&with_table));
        hybrid_comm *comm = time_comm(on, *settings, false, &t->comm[i]);
        time_gather(on, comm, counts, &t->gather[i]);
        for (int j = 0; j < MEMORIES; j++) {
            time_memory(on, comm, memories[j].bytes, &t->memory[j][i]);
        }
        check(hybrid_comm_free(&comm));
    }
    free(counts);
}

static void put(json_line *line, const struct times *t, size_t count) {
    json_put_integers(line, "comm_create_ns", t->comm, count);
    json_put_integers(line, "comm_create_with_table_ns", t->comm_table, count);
    json_put_integers(line, "gather_create_ns", t->gather, count);
    for (int j = 0; j < MEMORIES; j++) {
        json_put_integers(line, memories[j].name, t->memory[j], count);
    }
}

/* Collective over MPI_COMM_WORLD: the first `ranks` ranks measure, the others wait. Rank 0 writes it. */
static void measure_some(int ranks, const struct hybrid_settings *settings, struct times *t, json_line *line) {
    MPI_Comm some = MPI_COMM_NULL;
    int rank = 0;
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MPI_CHECK(MPI_Comm_split(MPI_COMM_WORLD, rank < ranks ? 0 : MPI_UNDEFINED, rank, &some));
    if (some != MPI_COMM_NULL) {
        measure_all(some, ranks, settings, t);
        MPI_CHECK(MPI_Comm_free(&some));
    }
    json_open_object(line, NULL);
    json_put_integer(line, "ranks", ranks);
    put(line, t, REPETITIONS);
    json_close_object(line);
    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
}

void one_off_measure(const struct hybrid_settings *settings, bool measure, json_line *line) {
    struct times *t = fail_alloc(1, sizeof *t);
    int ranks = 0;
    MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    json_open_array(line, "one_off_of_fewer");
    for (int fewer = 2; measure && fewer < ranks; fewer *= 2) {
        measure_some(fewer, settings, t, line);
    }
    json_close_array(line);
    if (measure) {
        measure_all(MPI_COMM_WORLD, ranks, settings, t);
    }
    json_open_object(line, "one_off");
    put(line, t, measure ? REPETITIONS : 0);
    json_close_object(line);
    free(t);
}
