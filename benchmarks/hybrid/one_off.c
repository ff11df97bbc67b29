#include "one_off.h"

#include "fail.h"
#include "fail_hybrid.h"
#include "fail_mpi.h"
#include "record.h"
#include "timer.h"

#include <stdlib.h>

enum { REPETITIONS = 9 };

/* Where the times of each kind lie, and the bytes of a memory that is made. */
enum { COMM, COMM_WITH_TABLE, GATHER, MEMORY_8_BYTES, MEMORY_64_KIB, MEMORY_1_MIB, KINDS };
static const size_t memory_bytes[KINDS] = {[MEMORY_8_BYTES] = 8, [MEMORY_64_KIB] = 65536, [MEMORY_1_MIB] = 1048576};

#define TIMES(member, sentence) FIELD_LIST_OF(struct one_off, member, count, sentence)
const struct field one_off_fields[] = {
    FIELD_MAY_LACK(struct one_off, ranks, "the first so many ranks alone; left out where all ranks measured"),
    TIMES(comm_create_ns, "making the communicators"),
    TIMES(comm_create_with_table_ns, "making them with the paper's table of all ranks"),
    TIMES(gather_create_ns, "making the parameters of an allgather whose blocks differ"),
    TIMES(memory_create_8_bytes_ns, "making a node's memory of 8 bytes"),
    TIMES(memory_create_64_kib_ns, "likewise of 64 KiB"),
    TIMES(memory_create_1_mib_ns, "likewise of 1 MiB"),
    FIELDS_END,
};

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
    HYBRID_CHECK(hybrid_comm_create(on, &settings, &comm));
    *taken = slowest(on, began);
    return comm;
}

static void time_gather(MPI_Comm on, hybrid_comm *comm, const size_t *counts, int64_t *taken) {
    hybrid_gather *gather = NULL;
    const int64_t began = start_together(on);
    HYBRID_CHECK(hybrid_gather_create(comm, counts, NULL, &gather));
    *taken = slowest(on, began);
    HYBRID_CHECK(hybrid_gather_free(&gather));
}

static void time_memory(MPI_Comm on, hybrid_comm *comm, size_t bytes, int64_t *taken) {
    hybrid_memory *memory = NULL;
    const int64_t began = start_together(on);
    HYBRID_CHECK(hybrid_memory_create(comm, bytes, 1, HYBRID_ONE, &memory));
    *taken = slowest(on, began);
    HYBRID_CHECK(hybrid_memory_free(&memory));
}

static void measure_all(MPI_Comm on, int ranks, const struct hybrid_settings *settings,
                        int64_t times[KINDS][REPETITIONS]) {
    size_t *counts = fail_alloc((size_t)ranks, sizeof *counts);
    for (int rank = 0; rank < ranks; rank++) {
        counts[rank] = (size_t)rank + 1;
    }
    for (int i = 0; i < REPETITIONS; i++) {
        hybrid_comm *with_table = time_comm(on, *settings, true, &times[COMM_WITH_TABLE][i]);
        HYBRID_CHECK(hybrid_comm_free(&with_table));
        hybrid_comm *comm = time_comm(on, *settings, false, &times[COMM][i]);
        time_gather(on, comm, counts, &times[GATHER][i]);
        for (int kind = MEMORY_8_BYTES; kind < KINDS; kind++) {
            time_memory(on, comm, memory_bytes[kind], &times[kind][i]);
        }
        HYBRID_CHECK(hybrid_comm_free(&comm));
    }
    free(counts);
}

struct one_off one_off_measure(const struct hybrid_settings *settings, int ranks) {
    int64_t (*times)[REPETITIONS] = fail_alloc(KINDS, sizeof *times);
    MPI_Comm some = MPI_COMM_WORLD;
    int rank = 0;
    int all = 0;
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &all));
    if (ranks < all) {
        MPI_CHECK(MPI_Comm_split(MPI_COMM_WORLD, rank < ranks ? 0 : MPI_UNDEFINED, rank, &some));
    }
    if (some != MPI_COMM_NULL) {
        measure_all(some, ranks, settings, times);
    }
    if (some != MPI_COMM_NULL && some != MPI_COMM_WORLD) {
        MPI_CHECK(MPI_Comm_free(&some));
    }
    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
    return (struct one_off){.ranks = ranks < all ? ranks : RECORD_UNKNOWN,
                            .count = REPETITIONS,
                            .comm_create_ns = times[COMM],
                            .comm_create_with_table_ns = times[COMM_WITH_TABLE],
                            .gather_create_ns = times[GATHER],
                            .memory_create_8_bytes_ns = times[MEMORY_8_BYTES],
                            .memory_create_64_kib_ns = times[MEMORY_64_KIB],
                            .memory_create_1_mib_ns = times[MEMORY_1_MIB],
                            .times = &times[0][0]};
}
