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

/* A persistent request belongs to one window of the send buffer: fewer windows take turns, each with a request of its own. */
enum { PERSISTENT_PERIOD = 5 };

/* A repetition's buffers. */
struct buffers {
    struct buffer send;
    struct buffer receive;
    bool filled;
    bool filled_sums; /* kind of what the send buffer holds */
    MPI_Request requests[PERSISTENT_PERIOD];
};

enum { MOST_SETS = 1024 };

struct exchange {
    uint64_t cold_bytes;
    uint64_t cache_bytes; /* the largest over ranks */
    uint64_t message_bytes; /* prepared last */
    uint64_t repetition;
    const struct collective *collective;
    struct buffers *sets; /* MOST_SETS of them, most unused */
    size_t set_count;
    struct collective_call call;
    MPI_Request request;
    uint64_t faults;
    char fault_text[512];
};

exchange *exchange_create(MPI_Comm world, uint64_t seed, uint64_t cold_bytes) {
    exchange *x = fail_alloc(1, sizeof *x);
    x->sets = fail_alloc(MOST_SETS, sizeof *x->sets);
    for (size_t i = 0; i < MOST_SETS; i++) {
        for (size_t j = 0; j < PERSISTENT_PERIOD; j++) {
            x->sets[i].requests[j] = MPI_REQUEST_NULL;
        }
    }
    x->cold_bytes = cold_bytes;
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

/* true: new memory, its contents are lost. */
static bool grow(struct buffer *buffer, size_t bytes) {
    if (bytes <= buffer->bytes) {
        return false;
    }
    size_t rounded = (bytes + bytes / 8 + PAGE - 1) / PAGE * PAGE;
    free(buffer->memory);
    buffer->memory = aligned_alloc(PAGE, rounded);
    if (buffer->memory == NULL) {
        fail_die("out of memory: a buffer of %zu bytes; set a lower --max-message-bytes, or use smaller --sizes", rounded);
    }
    memset(buffer->memory, 0, rounded); /* every page touched before anything is timed */
    buffer->bytes = rounded;
    return true;
}

/* After so many repetitions the contents repeat. */
static size_t period_of(const struct collective *collective) {
    return collective->persistent ? PERSISTENT_PERIOD : PATTERN_PERIOD;
}

/* The same on all ranks, although their buffers may differ in size: what the rank with most of them needs. */
static size_t sets_for(const exchange *x, const struct collective *collective, uint64_t message_bytes) {
    if (x->cold_bytes == 0) {
        return 1;
    }
    uint64_t each = message_bytes * collective_most_blocks(collective, x->call.ranks) + 1;
    uint64_t wanted = 2 * x->cache_bytes / each + 2;
    uint64_t fits = x->cold_bytes / each;
    wanted = wanted < fits ? wanted : fits;
    wanted = wanted < 2 ? 2 : wanted > MOST_SETS ? MOST_SETS : wanted;
    /* What a set received the last time must not be what it is to receive. */
    return (size_t)(wanted % period_of(collective) == 0 ? wanted - 1 : wanted);
}

size_t exchange_sets(const exchange *x) {
    return x->set_count > 0 ? x->set_count : 1;
}

static void fill(const struct collective_call *call, bool sums, const struct buffer *send) {
    const size_t count = send->bytes / COLLECTIVE_ELEMENT;
    if (sums) {
        pattern_fill_terms(send->memory, count, call->seed, call->rank, 0);
    } else {
        pattern_fill_words(send->memory, count, call->seed, call->rank, 0);
    }
}

void exchange_prepare(exchange *x, const struct collective *collective, uint64_t message_bytes) {
    const bool sums = collective->message->summed != NULL;
    struct collective_call *call = &x->call;
    if (collective != x->collective || message_bytes != x->message_bytes) {
        release_requests(x);
        x->set_count = sets_for(x, collective, message_bytes);
        x->collective = collective;
        x->message_bytes = message_bytes;
        release_sets(x, x->set_count > 1 ? 0 : 1);
        collective_arrange(call, collective->message, (size_t)(message_bytes / COLLECTIVE_ELEMENT));
    }
    struct buffers *set = &x->sets[x->repetition % x->set_count];
    const bool sends = call->sent.blocks > 0;
    const bool lost = grow(&set->send, sends ? (call->sent.extent + PATTERN_PADDING) * COLLECTIVE_ELEMENT : 0);
    if (sends && (lost || !set->filled || set->filled_sums != sums)) {
        fill(call, sums, &set->send);
        set->filled = true;
        set->filled_sums = sums;
    }
    grow(&set->receive, call->received.extent > 0 ? call->received.extent * COLLECTIVE_ELEMENT : 1); /* some libraries refuse NULL */
    x->repetition++;
    const size_t window = (size_t)(x->repetition % period_of(collective));
    call->first = pattern_first(window);
    call->send = sends ? (const char *)set->send.memory + call->first * COLLECTIVE_ELEMENT : NULL;
    call->receive = set->receive.memory;
    if (collective->persistent) {
        if (set->requests[window] == MPI_REQUEST_NULL) {
            MPI_CHECK(collective->start(call, &set->requests[window]));
        }
        x->request = set->requests[window];
    }
}

void exchange_call(exchange *x) {
    if (x->collective->persistent) {
        MPI_CHECK(MPI_Start(&x->request));
    } else {
        MPI_CHECK(x->collective->start(&x->call, &x->request));
    }
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
                           "rank %d received wrong data from %s: %" PRIu64 " wrong elements, the first at position %zu of %zu: ",
                           x->call.rank, x->collective->mpi_name, wrong, fault.position, x->call.received.extent);
        if (x->collective->message->summed != NULL) {
            snprintf(x->fault_text + put, sizeof x->fault_text - (size_t)put, "got %.17g, expected %.17g", fault.got_sum,
                     fault.expected_sum);
        } else {
            snprintf(x->fault_text + put, sizeof x->fault_text - (size_t)put, "got 0x%016" PRIx64 ", expected 0x%016" PRIx64,
                     fault.got_word, fault.expected_word);
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
