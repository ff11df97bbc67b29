#include "approach.h"

#include "fail.h"
#include "fail_mpi.h"

#include <stdio.h>
#include <stdlib.h>

/* Tags of messages without data, which no partition has. */
enum { TAG_EXPOSED = 30001, TAG_COMPLETE = 30002 };

/* The rank on the other side, of the approaches that have one neighbour. */
static int other(const struct channel *c) {
    return c->peers[0];
}

size_t approach_first_partition(const struct channel *c, int thread) {
    return c->partitions * (size_t)thread / (size_t)c->threads;
}

static size_t partition_words(const struct channel *c) {
    return c->count / c->partitions;
}

static uint64_t *partition_begin(const struct channel *c, size_t partition) {
    return c->words + partition * partition_words(c);
}

/* The thread that a partition of the sending side belongs to. */
static int thread_of(const struct channel *c, size_t partition) {
    return (int)(partition / (c->partitions / (size_t)c->threads));
}

static void make_requests(struct channel *c, size_t count) {
    c->requests = fail_alloc(count, sizeof *c->requests);
    c->request_count = count;
    for (size_t i = 0; i < count; i++) {
        c->requests[i] = MPI_REQUEST_NULL;
    }
}

static void make_comms(struct channel *c) {
    c->comms = fail_alloc((size_t)c->threads, sizeof *c->comms);
    for (int i = 0; i < c->threads; i++) {
        MPI_CHECK(MPI_Comm_dup(c->comm, &c->comms[i]));
    }
}

static void wait_all(struct channel *c) {
    MPI_CHECK(MPI_Waitall((int)c->request_count, c->requests, MPI_STATUSES_IGNORE));
}

static void start_all(struct channel *c) {
    for (size_t i = 0; i < c->request_count; i++) {
        MPI_CHECK(MPI_Start(&c->requests[i]));
    }
}

/* A persistent request for the words [first, first + count), to or from the rank `peer` of comm. */
static void make_persistent(struct channel *c, size_t number, MPI_Comm comm, int peer, size_t first, size_t count) {
    uint64_t *words = c->words + first;
    MPI_Request *request = &c->requests[number];
    if (c->sends) {
        MPI_CHECK(MPI_Send_init(words, (int)count, MPI_UINT64_T, peer, (int)number, comm, request));
    } else {
        MPI_CHECK(MPI_Recv_init(words, (int)count, MPI_UINT64_T, peer, (int)number, comm, request));
    }
}

/* ---- partitioned communication ---- */

#if HAS_PARTITIONED
/* There is a request for each neighbour. */
static size_t partitions_of_request(const struct channel *c) {
    return c->partitions / c->request_count;
}

static void part_init(struct channel *c) {
    const MPI_Count words = (MPI_Count)partition_words(c);
    make_requests(c, c->neighbours);
    c->messages = c->partitions;
    const int partitions = (int)partitions_of_request(c);
    for (size_t i = 0; i < c->neighbours; i++) {
        uint64_t *begin = partition_begin(c, i * (size_t)partitions);
        if (c->sends) {
            MPI_CHECK(MPI_Psend_init(begin, partitions, words, MPI_UINT64_T, c->peers[i], (int)i, c->comm,
                                     MPI_INFO_NULL, &c->requests[i]));
        } else {
            MPI_CHECK(MPI_Precv_init(begin, partitions, words, MPI_UINT64_T, c->peers[i], (int)i, c->comm,
                                     MPI_INFO_NULL, &c->requests[i]));
        }
    }
}

static void part_ready(struct channel *c, size_t partition) {
    const size_t each = partitions_of_request(c);
    MPI_CHECK(MPI_Pready((int)(partition % each), c->requests[partition / each]));
}

static void part_consume(struct channel *c, size_t partition) {
    const size_t each = partitions_of_request(c);
    int there = 0;
    while (there == 0) {
        MPI_CHECK(MPI_Parrived(c->requests[partition / each], (int)(partition % each), &there));
    }
    c->arrived(c->context, partition * partition_words(c), partition_words(c));
}
#else
static void part_init(struct channel *c) {
    fail_die("this MPI library has no MPI_Psend_init");
}
#define part_ready NULL
#define part_consume NULL
#endif

static void start_together(struct channel *c) {
    MPI_CHECK(MPI_Startall((int)c->request_count, c->requests));
}

/* ---- one message to each neighbour ---- */

static void single_init(struct channel *c) {
    const size_t words = c->count / c->neighbours;
    make_requests(c, c->neighbours);
    c->messages = c->neighbours;
    for (size_t i = 0; i < c->neighbours; i++) {
        make_persistent(c, i, c->comm, c->peers[i], i * words, words);
    }
}

static void start_and_wait(struct channel *c) {
    start_all(c);
    wait_all(c);
}

/* ---- a message per partition ---- */

static void init_per_partition(struct channel *c, bool comm_per_thread) {
    make_requests(c, c->partitions);
    c->messages = c->partitions;
    for (size_t i = 0; i < c->partitions; i++) {
        make_persistent(c, i, comm_per_thread ? c->comms[thread_of(c, i)] : c->comm, other(c), i * partition_words(c),
                        partition_words(c));
    }
}

static void many_init(struct channel *c) {
    make_comms(c);
    init_per_partition(c, true);
}

static void persistent_init(struct channel *c) {
    init_per_partition(c, false);
}

static void start_partition(struct channel *c, size_t partition) {
    MPI_CHECK(MPI_Start(&c->requests[partition]));
}

static void wait_for_own(struct channel *c, int thread) {
    const size_t first = approach_first_partition(c, thread);
    const size_t end = approach_first_partition(c, thread + 1);
    MPI_CHECK(MPI_Waitall((int)(end - first), c->requests + first, MPI_STATUSES_IGNORE));
}

/* ---- a communicator of a stream per thread ---- */

/* With MPICH 5.0.2 a persistent request on such a communicator never completes, so each message has a new request. */
static void streams_receive(struct channel *c) {
    for (size_t i = 0; i < c->partitions; i++) {
        MPI_CHECK(MPI_Irecv(partition_begin(c, i), (int)partition_words(c), MPI_UINT64_T, other(c), (int)i,
                            c->comms[thread_of(c, i)], &c->requests[i]));
    }
}

static void streams_send(struct channel *c, size_t partition) {
    MPI_CHECK(MPI_Isend(partition_begin(c, partition), (int)partition_words(c), MPI_UINT64_T, other(c), (int)partition,
                        c->comms[thread_of(c, partition)], &c->requests[partition]));
}

#if HAS_STREAMS
static void streams_init(struct channel *c) {
    c->comms = fail_alloc((size_t)c->threads, sizeof *c->comms);
    c->streams = fail_alloc((size_t)c->threads, sizeof *c->streams);
    for (int i = 0; i < c->threads; i++) {
        MPI_CHECK(MPIX_Stream_create(MPI_INFO_NULL, &c->streams[i]));
        MPI_CHECK(MPIX_Stream_comm_create(c->comm, c->streams[i], &c->comms[i]));
    }
    make_requests(c, c->partitions);
    c->messages = c->partitions;
}

/* After the communicators. */
static void free_streams(struct channel *c) {
    for (int i = 0; c->streams != NULL && i < c->threads; i++) {
        MPI_CHECK(MPIX_Stream_free(&c->streams[i]));
    }
    free(c->streams);
}

bool approach_started_for(const struct approach *approach, int threads, char *error, size_t error_size) {
    MPIX_Stream *streams = fail_alloc((size_t)threads, sizeof *streams);
    int made = 0;
    while (approach->streams && made < threads && MPIX_Stream_create(MPI_INFO_NULL, &streams[made]) == MPI_SUCCESS) {
        made++;
    }
    for (int i = 0; i < made; i++) {
        MPI_CHECK(MPIX_Stream_free(&streams[i]));
    }
    free(streams);
    if (approach->streams && made < threads) {
        snprintf(
            error, error_size,
            "approach %s: MPIX_Stream_create makes %d of %d streams, one per thread; virtual interfaces to reserve: %d",
            approach->name, made, threads, threads);
        return false;
    }
    return true;
}
#else
static void streams_init(struct channel *c) {
    fail_die("this MPI library has no MPIX_Stream_create");
}

static void free_streams(struct channel *c) {
}

bool approach_started_for(const struct approach *approach, int threads, char *error, size_t error_size) {
    return true;
}
#endif

/* ---- a partitioned layer of our own ---- */

static size_t greatest_common_divisor(size_t a, size_t b) {
    return b == 0 ? a : greatest_common_divisor(b, a % b);
}

/* As in section 3.2.1: a partition of either side belongs to one message; then as many of these messages are sent as
 * one as fit within the aggregation size. */
static size_t layer_messages(const struct channel *c) {
    const size_t fine = greatest_common_divisor(c->partitions, c->partitions_of_other_side);
    const size_t fine_bytes = c->count / fine * sizeof *c->words;
    size_t together = 1;
    for (size_t i = 2; i <= fine && i * fine_bytes <= c->aggregation_bytes; i++) {
        together = fine % i == 0 ? i : together;
    }
    return fine / together;
}

static void layer_init(struct channel *c) {
    c->messages = layer_messages(c);
    make_requests(c, c->messages);
    c->missing = fail_alloc(c->messages, sizeof *c->missing);
    const size_t words = c->count / c->messages;
    for (size_t i = 0; i < c->messages; i++) {
        make_persistent(c, i, c->comm, other(c), i * words, words);
    }
}

static void layer_start(struct channel *c) {
    for (size_t i = 0; i < c->messages; i++) {
        atomic_store_explicit(&c->missing[i], c->partitions / c->messages, memory_order_relaxed);
    }
}

/* The thread whose partition is the last one of a message sends it. Acquire and release: what the other threads wrote
 * into their partitions is seen by the thread that sends. */
static void layer_ready(struct channel *c, size_t partition) {
    const size_t message = partition / (c->partitions / c->messages);
    if (atomic_fetch_sub_explicit(&c->missing[message], 1, memory_order_acq_rel) == 1) {
        MPI_CHECK(MPI_Start(&c->requests[message]));
    }
}

/* ---- one-sided communication ---- */

static void make_windows(struct channel *c, size_t count) {
    const MPI_Aint bytes = c->sends ? 0 : (MPI_Aint)(c->count * sizeof *c->words);
    MPI_Group pair = MPI_GROUP_NULL;
    const int rank = other(c);
    c->windows = fail_alloc(count, sizeof *c->windows);
    c->window_count = count;
    c->messages = c->partitions;
    for (size_t i = 0; i < count; i++) {
        MPI_CHECK(MPI_Win_create(c->words, bytes, (int)sizeof *c->words, MPI_INFO_NULL, c->comm, &c->windows[i]));
        MPI_CHECK(MPI_Win_set_errhandler(c->windows[i], MPI_ERRORS_RETURN));
    }
    MPI_CHECK(MPI_Comm_group(c->comm, &pair));
    MPI_CHECK(MPI_Group_incl(pair, 1, &rank, &c->other_side));
    MPI_CHECK(MPI_Group_free(&pair));
}

static MPI_Win window_of(const struct channel *c, size_t partition) {
    return c->windows[c->window_count == 1 ? 0 : thread_of(c, partition)];
}

static void put(struct channel *c, size_t partition) {
    const int words = (int)partition_words(c);
    MPI_CHECK(MPI_Put(partition_begin(c, partition), words, MPI_UINT64_T, other(c),
                      (MPI_Aint)(partition * partition_words(c)), words, MPI_UINT64_T, window_of(c, partition)));
}

static void send_nothing(struct channel *c, int tag) {
    MPI_CHECK(MPI_Send(NULL, 0, MPI_BYTE, other(c), tag, c->comm));
}

static void receive_nothing(struct channel *c, int tag) {
    MPI_CHECK(MPI_Recv(NULL, 0, MPI_BYTE, other(c), tag, c->comm, MPI_STATUS_IGNORE));
}

/* The rank of the receiver in the communicator of the pair. */
static int receiver(const struct channel *c) {
    int rank = 0;
    MPI_CHECK(MPI_Comm_rank(c->comm, &rank));
    return c->sends ? other(c) : rank;
}

/* Passive: the windows stay locked as long as the channel is open, and messages without data say when the receiver's
 * buffer may be written and when it is. The receiver locks its own window, so that it may call MPI_Win_sync. */
static void passive_init(struct channel *c, size_t windows) {
    make_windows(c, windows);
    for (size_t i = 0; i < windows; i++) {
        MPI_CHECK(MPI_Win_lock(MPI_LOCK_SHARED, receiver(c), MPI_MODE_NOCHECK, c->windows[i]));
    }
}

static void single_passive_init(struct channel *c) {
    passive_init(c, 1);
}

static void many_passive_init(struct channel *c) {
    passive_init(c, (size_t)c->threads);
}

static void passive_close(struct channel *c) {
    for (size_t i = 0; i < c->window_count; i++) {
        MPI_CHECK(MPI_Win_unlock(receiver(c), c->windows[i]));
    }
}

static void sync_windows(struct channel *c) {
    for (size_t i = 0; i < c->window_count; i++) {
        MPI_CHECK(MPI_Win_sync(c->windows[i]));
    }
}

static void expose(struct channel *c) {
    sync_windows(c);
    send_nothing(c, TAG_EXPOSED);
}

static void await_exposure(struct channel *c) {
    receive_nothing(c, TAG_EXPOSED);
}

static void flush_own(struct channel *c, int thread) {
    MPI_CHECK(MPI_Win_flush(other(c), c->windows[thread]));
}

static void tell_complete(struct channel *c) {
    send_nothing(c, TAG_COMPLETE);
}

static void flush_and_tell(struct channel *c) {
    MPI_CHECK(MPI_Win_flush(other(c), c->windows[0]));
    tell_complete(c);
}

static void await_complete(struct channel *c) {
    receive_nothing(c, TAG_COMPLETE);
    sync_windows(c);
}

/* Active: the library synchronises origin and target. */
static void single_active_init(struct channel *c) {
    make_windows(c, 1);
}

static void many_active_init(struct channel *c) {
    make_windows(c, (size_t)c->threads);
}

static void post_all(struct channel *c) {
    for (size_t i = 0; i < c->window_count; i++) {
        MPI_CHECK(MPI_Win_post(c->other_side, 0, c->windows[i]));
    }
}

static void wait_for_windows(struct channel *c) {
    for (size_t i = 0; i < c->window_count; i++) {
        MPI_CHECK(MPI_Win_wait(c->windows[i]));
    }
}

static void open_epoch(struct channel *c) {
    MPI_CHECK(MPI_Win_start(c->other_side, 0, c->windows[0]));
}

static void complete_epoch(struct channel *c) {
    MPI_CHECK(MPI_Win_complete(c->windows[0]));
}

/* A thread opens the epoch of its window with its first partition. */
static void open_own_and_put(struct channel *c, size_t partition) {
    const int thread = thread_of(c, partition);
    if (partition == approach_first_partition(c, thread)) {
        MPI_CHECK(MPI_Win_start(c->other_side, 0, c->windows[thread]));
    }
    put(c, partition);
}

static void complete_own(struct channel *c, int thread) {
    MPI_CHECK(MPI_Win_complete(c->windows[thread]));
}

static void fence_begin(struct channel *c) {
    MPI_CHECK(MPI_Win_fence(MPI_MODE_NOPRECEDE, c->windows[0]));
}

static void fence_end(struct channel *c) {
    MPI_CHECK(MPI_Win_fence(MPI_MODE_NOSUCCEED, c->windows[0]));
}

/* ---- the table ---- */

#define PARTITIONED(start_, consume)                                                                                   \
    .partitioned = true, .init = part_init, .send = {.start = start_, .ready = part_ready, .wait = wait_all},          \
    .receive = {.start = start_, .ready = consume, .wait = wait_all}

const struct approach approach_table[APPROACH_COUNT] = {
    [APPROACH_PART] = {.name = "part",
                       .what = "partitioned communication: MPI_Psend_init, MPI_Pready",
                       .regroups = true,
                       PARTITIONED(start_all, NULL)},
    [APPROACH_PART_PARRIVED] = {.name = "part_parrived",
                                .what = "the same, and the receiving threads consume each partition when MPI_Parrived "
                                        "says that it is there",
                                .regroups = true,
                                PARTITIONED(start_all, part_consume)},
    [APPROACH_PART_COARSE] = {.name = "part_coarse",
                              .what = "part_parrived with half of the sender's partitions on the receiving side",
                              .regroups = true,
                              .coarser = 2,
                              PARTITIONED(start_all, part_consume)},
    [APPROACH_PART_NEIGHBOURS] = {.name = "part_neighbours",
                                  .what = "part to 2 neighbours, with a request for each, started one by one",
                                  .neighbours = 2,
                                  PARTITIONED(start_all, NULL)},
    [APPROACH_PART_NEIGHBOURS_4] = {.name = "part_neighbours_4",
                                    .what = "the same to 4 neighbours",
                                    .neighbours = 4,
                                    PARTITIONED(start_all, NULL)},
    [APPROACH_PART_NEIGHBOURS_6] = {.name = "part_neighbours_6",
                                    .what = "the same to 6 neighbours",
                                    .neighbours = 6,
                                    PARTITIONED(start_all, NULL)},
    [APPROACH_PART_STARTALL] = {.name = "part_startall",
                                .what = "part to 2 neighbours, with the requests started by one MPI_Startall",
                                .neighbours = 2,
                                PARTITIONED(start_together, NULL)},
    [APPROACH_PART_POLLING] = {.name = "part_polling",
                               .what =
                                   "part; in transfers before the measured ones the last partition is late, and the "
                                   "sender calls MPI_Iprobe meanwhile",
                               .polls = true,
                               PARTITIONED(start_all, NULL)},
    [APPROACH_SINGLE] = {.name = "single",
                         .what = "one message when all partitions are ready: the reference",
                         .init = single_init,
                         .send = {.wait = start_and_wait},
                         .receive = {.start = start_all, .wait = wait_all}},
    [APPROACH_MANY] = {.name = "many",
                       .what = "a message per partition, a communicator per thread",
                       .init = many_init,
                       .send = {.ready = start_partition, .end_thread = wait_for_own},
                       .receive = {.start = start_all, .end_thread = wait_for_own}},
    [APPROACH_STREAMS] = {.name = "streams",
                          .what = "many, with a communicator of MPIX_Stream_comm_create per thread",
                          .streams = true,
                          .init = streams_init,
                          .send = {.ready = streams_send, .end_thread = wait_for_own},
                          .receive = {.start = streams_receive, .end_thread = wait_for_own}},
    [APPROACH_PERSISTENT] = {.name = "persistent",
                             .what = "a message per partition, one communicator for all threads",
                             .init = persistent_init,
                             .send = {.ready = start_partition, .wait = wait_all},
                             .receive = {.start = start_all, .wait = wait_all}},
    [APPROACH_LAYER] = {.name = "layer",
                        .what = "a partitioned layer of our own over persistent messages, which aggregates partitions",
                        .regroups = true,
                        .aggregates = true,
                        .init = layer_init,
                        .send = {.start = layer_start, .ready = layer_ready, .wait = wait_all},
                        .receive = {.start = start_all, .wait = wait_all}},
    [APPROACH_RMA_SINGLE_PASSIVE] = {.name = "rma_single_passive",
                                     .what = "MPI_Put into one window, passive synchronisation",
                                     .init = single_passive_init,
                                     .close = passive_close,
                                     .send = {.start = await_exposure, .ready = put, .wait = flush_and_tell},
                                     .receive = {.start = expose, .wait = await_complete}},
    [APPROACH_RMA_MANY_PASSIVE] =
        {.name = "rma_many_passive",
         .what = "MPI_Put into a window per thread, passive synchronisation",
         .init = many_passive_init,
         .close = passive_close,
         .send = {.start = await_exposure, .ready = put, .end_thread = flush_own, .wait = tell_complete},
         .receive = {.start = expose, .wait = await_complete}},
    [APPROACH_RMA_SINGLE_ACTIVE] = {.name = "rma_single_active",
                                    .what = "MPI_Put into one window, active synchronisation",
                                    .init = single_active_init,
                                    .send = {.start = open_epoch, .ready = put, .wait = complete_epoch},
                                    .receive = {.start = post_all, .wait = wait_for_windows}},
    [APPROACH_RMA_MANY_ACTIVE] = {.name = "rma_many_active",
                                  .what = "MPI_Put into a window per thread, active synchronisation",
                                  .init = many_active_init,
                                  .send = {.ready = open_own_and_put, .end_thread = complete_own},
                                  .receive = {.start = post_all, .wait = wait_for_windows}},
    [APPROACH_RMA_FENCE] = {.name = "rma_fence",
                            .what = "MPI_Put into one window, between fences",
                            .init = single_active_init,
                            .send = {.start = fence_begin, .ready = put, .wait = fence_end},
                            .receive = {.start = fence_begin, .wait = fence_end}},
};

OPTION_CHOICES_FROM(approach_choices, approach_table, APPROACH_COUNT, what)

const char *approach_lacks(const struct approach *approach) {
    if (approach->partitioned && !HAS_PARTITIONED) {
        return "MPI_Psend_init";
    }
    return approach->streams && !HAS_STREAMS ? "MPIX_Stream_create" : NULL;
}

size_t approach_neighbours(const struct approach *approach) {
    return approach->neighbours > 0 ? approach->neighbours : 1;
}

void approach_open(struct channel *c) {
    c->other_side = MPI_GROUP_NULL;
    c->approach->init(c);
}

void approach_close(struct channel *c) {
    if (c->approach->close != NULL) {
        c->approach->close(c);
    }
    for (size_t i = 0; i < c->request_count; i++) {
        if (c->requests[i] != MPI_REQUEST_NULL) {
            MPI_CHECK(MPI_Request_free(&c->requests[i]));
        }
    }
    for (size_t i = 0; i < c->window_count; i++) {
        MPI_CHECK(MPI_Win_free(&c->windows[i]));
    }
    for (int i = 0; c->comms != NULL && i < c->threads; i++) {
        MPI_CHECK(MPI_Comm_free(&c->comms[i]));
    }
    free_streams(c);
    if (c->other_side != MPI_GROUP_NULL) {
        MPI_CHECK(MPI_Group_free(&c->other_side));
    }
    free(c->requests);
    free(c->windows);
    free(c->comms);
    free(c->missing);
    *c = (struct channel){.approach = NULL};
}
