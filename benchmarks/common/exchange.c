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

/* A repetition's buffers. */
struct buffers {
    struct buffer send;
    struct buffer receive;
    bool filled;
    bool filled_sums; /* kind of what the send buffer holds */
};

enum { MOST_SETS = 1024 };

struct exchange {
    MPI_Comm comm;
    uint64_t cold_bytes;
    uint64_t cache_bytes; /* the largest over ranks */
    uint64_t message_bytes; /* prepared last */
    uint64_t seed;
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
    x->cold_bytes = cold_bytes;
    x->seed = seed;
    x->cache_bytes = topology_cache_bytes();
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &x->cache_bytes, 1, MPI_UINT64_T, MPI_MAX, world));
    MPI_CHECK(MPI_Comm_dup(world, &x->comm));
    MPI_CHECK(MPI_Comm_rank(x->comm, &x->call.rank));
    MPI_CHECK(MPI_Comm_size(x->comm, &x->call.ranks));
    return x;
}

/* Buffers that were made for another size: many sets of the largest would be more memory than there is. */
static void release_sets(exchange *x, size_t first) {
    for (size_t i = first; i < MOST_SETS; i++) {
        free(x->sets[i].send.memory);
        free(x->sets[i].receive.memory);
        x->sets[i] = (struct buffers){.filled = false};
    }
}

void exchange_destroy(exchange *x) {
    if (x != NULL) {
        MPI_CHECK(MPI_Comm_free(&x->comm));
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
    /* Contents repeat after so many repetitions: what a set received the last time must not be what it is to receive. */
    return (size_t)(wanted % PATTERN_PERIOD == 0 ? wanted - 1 : wanted);
}

size_t exchange_sets(const exchange *x) {
    return x->set_count > 0 ? x->set_count : 1;
}

void exchange_prepare(exchange *x, const struct collective *collective, uint64_t message_bytes) {
    if (collective != x->collective || message_bytes != x->message_bytes) {
        x->set_count = sets_for(x, collective, message_bytes);
        x->message_bytes = message_bytes;
        release_sets(x, x->set_count > 1 ? 0 : 1);
    }
    struct buffers *set = &x->sets[x->repetition % x->set_count];
    size_t count = (size_t)(message_bytes / COLLECTIVE_ELEMENT);
    size_t send_blocks = collective->send_blocks(x->call.rank, x->call.ranks);
    size_t receive_blocks = collective->receive_blocks(x->call.rank, x->call.ranks);
    bool lost = grow(&set->send, (send_blocks * count + PATTERN_PADDING) * COLLECTIVE_ELEMENT);
    if (send_blocks > 0 && (lost || !set->filled || set->filled_sums != collective->sums)) {
        collective->fill(set->send.memory, set->send.bytes / COLLECTIVE_ELEMENT, x->seed, x->call.rank);
        set->filled = true;
        set->filled_sums = collective->sums;
    } else if (lost) {
        set->filled = false;
    }
    grow(&set->receive, receive_blocks * count * COLLECTIVE_ELEMENT);
    x->repetition++;
    x->collective = collective;
    x->call.first = pattern_first(x->repetition);
    x->call.send = (const char *)set->send.memory + x->call.first * COLLECTIVE_ELEMENT;
    x->call.receive = set->receive.memory;
    x->call.count = (int)count;
    x->call.comm = x->comm;
    x->call.seed = x->seed;
}

void exchange_call(exchange *x) {
    MPI_CHECK(x->collective->start(&x->call, &x->request));
}

MPI_Request *exchange_request(exchange *x) {
    return &x->request;
}

void exchange_wait(exchange *x) {
    MPI_CHECK(MPI_Wait(&x->request, MPI_STATUS_IGNORE));
}

void exchange_check(exchange *x) {
    struct pattern_fault fault = {0};
    MPI_CHECK(MPI_Barrier(x->comm));
    uint64_t wrong = x->collective->check(&x->call, &fault);
    if (wrong > 0 && x->faults == 0) {
        int put = snprintf(x->fault_text, sizeof x->fault_text,
                           "rank %d received wrong data from %s: %" PRIu64 " wrong elements, the first at position %zu of %zu: ",
                           x->call.rank, x->collective->mpi_name, wrong, fault.position,
                           (size_t)x->call.count * x->collective->receive_blocks(x->call.rank, x->call.ranks));
        if (x->collective->sums) {
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
