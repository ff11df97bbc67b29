#include "exchange.h"

#include "fail.h"
#include "fail_mpi.h"
#include "topology.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE ((size_t)4096)

struct buffer {
    void *memory;
    size_t bytes;
};

/* A persistent request belongs to one window of the send buffer: fewer windows take turns, each with a request of its
 * own. */
enum { PERSISTENT_PERIOD = 5 };

/* A repetition's buffers. */
struct buffers {
    struct buffer send;
    struct buffer receive;
    bool filled;
    bool filled_sums; /* kind of what the send buffer holds */
    MPI_Request requests[PERSISTENT_PERIOD];
};

/* Each persistent set has several requests at a time, and a library has a limited number of tags for them. */
enum { MOST_SETS = 8192, MOST_PERSISTENT_SETS = 1024 };

/* What all sets of a rank may take where its memory is not known. */
#define UNKNOWN_MEMORY_BYTES (UINT64_C(1) << 30)

struct exchange {
    bool cold;
    uint64_t memory_bytes;  /* memory that the sets of a rank may take */
    uint64_t cache_bytes;   /* the largest over ranks */
    uint64_t message_bytes; /* prepared last */
    uint64_t repetition;
    uint64_t turn; /* number of the repetition with this size */
    const struct collective *collective;
    struct buffers *sets; /* MOST_SETS of them, most unused */
    size_t set_count;
    struct collective_call call;
    MPI_Request request;
    uint64_t faults;
    char fault_text[512];
};

exchange *exchange_create(MPI_Comm world, uint64_t seed, bool cold, uint64_t memory_bytes) {
    exchange *x = fail_alloc(1, sizeof *x);
    x->sets = fail_alloc(MOST_SETS, sizeof *x->sets);
    for (size_t i = 0; i < MOST_SETS; i++) {
        for (size_t j = 0; j < PERSISTENT_PERIOD; j++) {
            x->sets[i].requests[j] = MPI_REQUEST_NULL;
        }
    }
    x->cold = cold;
    x->memory_bytes = memory_bytes > 0 ? memory_bytes : UNKNOWN_MEMORY_BYTES;
    x->cache_bytes = topology_cache_bytes();
    x->request = MPI_REQUEST_NULL;
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &x->cache_bytes, 1, MPI_UINT64_T, MPI_MAX, world));
    x->call = collective_call_create(world, seed);
    return x;
}

/* Persistent requests know the buffers and the layout that they were made with. */
static void release_requests(exchange *x) {
    x->request = MPI_REQUEST_NULL;
    for (size_t i = 0; i < x->set_count; i++) {
        for (size_t j = 0; j < PERSISTENT_PERIOD; j++) {
            if (x->sets[i].requests[j] != MPI_REQUEST_NULL) {
                MPI_CHECK(MPI_Request_free(&x->sets[i].requests[j]));
            }
        }
    }
}

static void free_buffer(struct buffer *buffer) {
    free(buffer->memory);
    *buffer = (struct buffer){.memory = NULL};
}

/* Buffers that were made for another size: many sets of the largest would be more memory than there is. */
static void release_sets(exchange *x, size_t first) {
    for (size_t i = first; i < MOST_SETS; i++) {
        free_buffer(&x->sets[i].send);
        free_buffer(&x->sets[i].receive);
        x->sets[i].filled = false;
    }
}

void exchange_destroy(exchange *x) {
    if (x != NULL) {
        release_requests(x);
        collective_call_free(&x->call);
        release_sets(x, 0);
        free(x->sets);
        free(x);
    }
}

/* Memory of a buffer: a little more than is asked for, so that not every longer message needs new memory. */
static size_t room_for(size_t bytes) {
    return (bytes + bytes / 8 + PAGE - 1) / PAGE * PAGE;
}

/* Makes a buffer at least so large. Returns true where the memory is new and the contents are lost. */
static bool grow(struct buffer *buffer, size_t bytes) {
    if (bytes <= buffer->bytes) {
        return false;
    }
    const size_t rounded = room_for(bytes);
    free(buffer->memory);
    buffer->memory = aligned_alloc(PAGE, rounded);
    if (buffer->memory == NULL) {
        fail_die("out of memory: a buffer of %zu bytes; set a lower --max-message-bytes, or use smaller --sizes",
                 rounded);
    }
    memset(buffer->memory, 0, rounded); /* every page touched before anything is timed */
    buffer->bytes = rounded;
    return true;
}

/* After so many repetitions the contents repeat. */
static size_t period_of(const struct collective *collective) {
    return collective->persistent ? PERSISTENT_PERIOD : PATTERN_PERIOD;
}

static size_t send_bytes(const struct collective_call *call) {
    return call->sent.blocks > 0 ? (call->sent.extent + PATTERN_PADDING) * COLLECTIVE_ELEMENT : 0;
}

static size_t receive_bytes(const struct collective_call *call) {
    return call->received.extent > 0 ? call->received.extent * COLLECTIVE_ELEMENT : 1; /* some libraries refuse NULL */
}

/* Collective: the same on all ranks, although their buffers may differ in size. The rank with the smallest ones needs
 * most sets, and the one with the largest must have the memory for them. A rank without data, as all are in a barrier,
 * has nothing that could be in a cache. */
static size_t sets_for(const exchange *x, const struct collective *collective) {
    if (!x->cold) {
        return 1;
    }
    const int64_t used = (int64_t)((x->call.sent.extent + x->call.received.extent) * COLLECTIVE_ELEMENT);
    int64_t all[2] = {(int64_t)(room_for(send_bytes(&x->call)) + room_for(receive_bytes(&x->call))),
                      used > 0 ? -used : -INT64_MAX};
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, all, 2, MPI_INT64_T, MPI_MAX, x->call.comm));
    const uint64_t most = collective->persistent ? MOST_PERSISTENT_SETS : MOST_SETS;
    const uint64_t fits = x->memory_bytes / (uint64_t)all[0];
    uint64_t sets = 2 * x->cache_bytes / (uint64_t)-all[1] + 2;
    sets = sets < fits ? sets : fits;
    sets = sets < 2 ? 2 : sets > most ? most : sets;
    /* A set must not expect the data that it received the last time. */
    return (size_t)(sets % period_of(collective) == 0 ? sets - 1 : sets);
}

size_t exchange_sets(const exchange *x) {
    size_t made = 0;
    while (made < x->set_count && x->sets[made].receive.memory != NULL) {
        made++;
    }
    return made > 0 ? made : 1;
}

static void fill(const struct collective_call *call, bool sums, const struct buffer *send) {
    const size_t count = send->bytes / COLLECTIVE_ELEMENT;
    if (sums) {
        pattern_fill_summands(send->memory, count, call->seed, call->rank, 0);
    } else {
        pattern_fill_words(send->memory, count, call->seed, call->rank, 0);
    }
}

static void make(const struct collective_call *call, bool sums, struct buffers *set) {
    const bool lost = grow(&set->send, send_bytes(call));
    if (call->sent.blocks > 0 && (lost || !set->filled || set->filled_sums != sums)) {
        fill(call, sums, &set->send);
        set->filled = true;
        set->filled_sums = sums;
    }
    grow(&set->receive, receive_bytes(call));
}

/* Collective. All sets are made at once, in the order in which they come to use: a set that was made just before its
 * use would be in the caches, and the first one has left them when the last one is made. */
static void change_size(exchange *x, const struct collective *collective, uint64_t message_bytes) {
    release_requests(x);
    collective_arrange(&x->call, collective->message, (size_t)(message_bytes / COLLECTIVE_ELEMENT));
    x->set_count = sets_for(x, collective);
    x->collective = collective;
    x->message_bytes = message_bytes;
    x->turn = 0;
    release_sets(x, x->set_count > 1 ? 0 : 1);
    for (size_t i = 0; i < x->set_count; i++) {
        make(&x->call, collective->message->summed != NULL, &x->sets[i]);
    }
}

void exchange_prepare(exchange *x, const struct collective *collective, uint64_t message_bytes) {
    struct collective_call *call = &x->call;
    if (collective != x->collective || message_bytes != x->message_bytes) {
        change_size(x, collective, message_bytes);
    }
    struct buffers *set = &x->sets[x->turn % x->set_count];
    x->turn++;
    x->repetition++;
    const size_t window = (size_t)(x->repetition % period_of(collective));
    call->first = pattern_first(window);
    call->send = call->sent.blocks > 0 ? (const char *)set->send.memory + call->first * COLLECTIVE_ELEMENT : NULL;
    call->receive = set->receive.memory;
    if (collective->persistent) {
        if (set->requests[window] == MPI_REQUEST_NULL) {
            fail_mpi_check(collective->start(call, &set->requests[window]), collective->mpi_name, __FILE__, __LINE__);
        }
        x->request = set->requests[window];
    }
}

void exchange_call(exchange *x) {
    const struct collective *called = x->collective;
    const int code = called->persistent ? MPI_Start(&x->request) : called->start(&x->call, &x->request);
    fail_mpi_check(code, called->persistent ? "MPI_Start" : called->mpi_name, __FILE__, __LINE__);
}

MPI_Request *exchange_request(exchange *x) {
    return &x->request;
}

void exchange_wait(exchange *x) {
    MPI_CHECK(MPI_Wait(&x->request, MPI_STATUS_IGNORE));
}

void exchange_check(exchange *x) {
    struct pattern_fault fault = {0};
    MPI_CHECK(MPI_Barrier(x->call.comm));
    uint64_t wrong = collective_check(&x->call, x->collective->message, &fault);
    if (wrong > 0 && x->faults == 0) {
        int put = snprintf(x->fault_text, sizeof x->fault_text,
                           "rank %d received wrong data from %s: %" PRIu64
                           " wrong elements, the first at position %zu of %zu: ",
                           x->call.rank, x->collective->mpi_name, wrong, fault.position, x->call.received.extent);
        if (x->collective->message->summed != NULL) {
            snprintf(x->fault_text + put, sizeof x->fault_text - (size_t)put, "got %.17g, expected %.17g",
                     fault.got_sum, fault.expected_sum);
        } else {
            snprintf(x->fault_text + put, sizeof x->fault_text - (size_t)put,
                     "got 0x%016" PRIx64 ", expected 0x%016" PRIx64, fault.got_word, fault.expected_word);
        }
    }
    x->faults += wrong;
}

uint64_t exchange_faults(const exchange *x) {
    return x->faults;
}

const char *exchange_fault_text(const exchange *x) {
    return x->fault_text;
}
