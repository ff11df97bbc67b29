/*
 * exchange_truth - every collective that the library has, over a real MPI. Prints a JSON object for each: the elements
 * that each rank receives in a repetition, the bytes of its buffers, and the wrong elements that were found in all
 * repetitions; of those without data, how often a rank left before the last had come; and the sets of buffers that
 * there were in the first repetition and in the last.
 *
 *     mpiexec -n 3 exchange_truth MESSAGE_BYTES REPETITIONS wait|test [cold [MEMORY_BYTES [COLLECTIVE]]]
 *
 * test: MPI_Test until it is complete, then MPI_Wait. cold: buffers take turns, in 1 MiB or so many bytes, 0: nobody
 * knows how many.
 */
#include "collectives.h"
#include "exchange.h"
#include "fail.h"
#include "fail_mpi.h"
#include "json.h"
#include "timer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* How long a rank comes late to a barrier. */
#define LATE_NS 3000000

static int rank;
static int ranks;

struct truth {
    int64_t *received; /* of each rank, at rank 0 */
    int64_t *faults;
    int64_t *buffers;
    int64_t left_early;
    int64_t sets[2];
};

static void complete(exchange *x, bool test) {
    for (int done = !test; !done;) {
        MPI_CHECK(MPI_Test(exchange_request(x), &done, MPI_STATUS_IGNORE));
    }
    exchange_wait(x);
}

/* One repetition; with late a rank that comes last. Whether a rank left before that one had come. */
static bool repeat(exchange *x, const struct collective *collective, uint64_t bytes, bool test, int late) {
    exchange_prepare(x, collective, bytes);
    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == late) {
        nanosleep(&(struct timespec){.tv_nsec = LATE_NS}, NULL);
    }
    int64_t came = timer_now_ns();
    exchange_call(x);
    complete(x, test);
    int64_t left = timer_now_ns();
    exchange_check(x);
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &came, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD));
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &left, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD));
    return left < came;
}

static void gather(int64_t own, int64_t *all) {
    MPI_CHECK(MPI_Gather(&own, 1, MPI_INT64_T, all, 1, MPI_INT64_T, 0, MPI_COMM_WORLD));
}

static struct truth measure(exchange *x, const struct collective *collective, uint64_t bytes, int repetitions,
                            bool test) {
    struct truth truth = {.received = fail_alloc((size_t)ranks, sizeof(int64_t)),
                          .faults = fail_alloc((size_t)ranks, sizeof(int64_t)),
                          .buffers = fail_alloc((size_t)ranks, sizeof(int64_t))};
    const bool data = collective_has_message(collective);
    const uint64_t before = exchange_faults(x);
    for (int i = 0; i < repetitions; i++) {
        truth.left_early += repeat(x, collective, data ? bytes : 0, test, data ? -1 : i % ranks) && !data;
        truth.sets[i > 0] = (int64_t)exchange_sets(x);
    }
    struct collective_call call = collective_call_create(MPI_COMM_WORLD, 0);
    collective_arrange(&call, collective->message, data ? (size_t)bytes / COLLECTIVE_ELEMENT : 0);
    int64_t received = 0;
    for (int i = 0; i < call.received.blocks; i++) {
        received += collective->message->varies ? call.received.counts[i] : call.count;
    }
    gather((int64_t)((call.sent.extent + call.received.extent) * COLLECTIVE_ELEMENT), truth.buffers);
    collective_call_free(&call);
    gather(received, truth.received);
    gather((int64_t)(exchange_faults(x) - before), truth.faults);
    return truth;
}

static void print(const struct collective *collective, const struct truth *truth) {
    json_line *line = json_line_create();
    json_open_object(line, NULL);
    json_put_string(line, "collective", collective->name);
    json_put_integers(line, "received", truth->received, (size_t)ranks);
    json_put_integers(line, "faults", truth->faults, (size_t)ranks);
    json_put_integers(line, "buffers", truth->buffers, (size_t)ranks);
    json_put_integer(line, "left_early", truth->left_early);
    json_put_integers(line, "sets", truth->sets, 2);
    json_close_object(line);
    printf("%s\n", json_line_text(line));
    json_line_destroy(line);
}

int main(int argc, char **argv) {
    fail_setup("exchange_truth", -1, NULL);
    int level = 0;
    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS) {
        fail_die("MPI_Init_thread failed");
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fail_mpi_setup("exchange_truth", rank);
    MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    if (argc < 4) {
        fail_die("usage: exchange_truth MESSAGE_BYTES REPETITIONS wait|test [cold [MEMORY_BYTES [COLLECTIVE]]]");
    }
    const uint64_t bytes = strtoull(argv[1], NULL, 10);
    const int repetitions = atoi(argv[2]);
    const bool test = strcmp(argv[3], "test") == 0;
    const uint64_t memory = argc > 5 ? strtoull(argv[5], NULL, 10) : UINT64_C(1) << 20;
    exchange *x = exchange_create(MPI_COMM_WORLD, 7, argc > 4, memory);
    for (int i = 0; i < COLLECTIVE_COUNT; i++) {
        if (!collective_table[i].available || (argc > 6 && strcmp(argv[6], collective_table[i].name) != 0)) {
            continue;
        }
        const struct truth truth = measure(x, &collective_table[i], bytes, repetitions, test);
        if (rank == 0) {
            print(&collective_table[i], &truth);
        }
        free(truth.received);
        free(truth.faults);
        free(truth.buffers);
    }
    exchange_destroy(x);
    MPI_CHECK(MPI_Finalize());
    return 0;
}
