#include "message.h"

#include "fail.h"
#include "fail_mpi.h"
#include "pattern.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE ((size_t)4096)

struct message {
    MPI_Comm comm;
    int rank;
    uint64_t *memory;
    size_t bytes;
    uint64_t transfers;
    size_t first; /* of the sequence: where the contents begin */
    int count;
    uint64_t faults;
    char fault_text[256];
};

message *message_create(MPI_Comm world) {
    message *m = fail_alloc(1, sizeof *m);
    MPI_CHECK(MPI_Comm_dup(world, &m->comm));
    MPI_CHECK(MPI_Comm_rank(m->comm, &m->rank));
    return m;
}

void message_destroy(message *m) {
    if (m != NULL) {
        MPI_CHECK(MPI_Comm_free(&m->comm));
        free(m->memory);
        free(m);
    }
}

/* The root holds the whole sequence, and sends from where this time's contents begin. */
void message_prepare(message *m, uint64_t bytes) {
    size_t needed = (size_t)bytes + PATTERN_PADDING * MESSAGE_ELEMENT;
    if (needed > m->bytes) {
        size_t rounded = (needed + needed / 8 + PAGE - 1) / PAGE * PAGE;
        free(m->memory);
        m->memory = aligned_alloc(PAGE, rounded);
        if (m->memory == NULL) {
            fail_die("out of memory: a message of %zu bytes; set a lower --max-message-bytes, or use smaller --sizes", rounded);
        }
        memset(m->memory, 0, rounded); /* every page touched before anything is timed */
        m->bytes = rounded;
        if (m->rank == 0) {
            pattern_fill_words(m->memory, rounded / MESSAGE_ELEMENT, MESSAGE_SEED, 0, 0);
        }
    }
    m->first = pattern_first(++m->transfers);
    m->count = (int)(bytes / MESSAGE_ELEMENT);
}

void message_transfer(message *m) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_CHECK(MPI_Ibcast(m->rank == 0 ? m->memory + m->first : m->memory, m->count, MPI_UINT64_T, 0, m->comm, &request));
    MPI_CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

uint64_t message_check(message *m) {
    struct pattern_fault fault = {0};
    MPI_CHECK(MPI_Barrier(m->comm));
    uint64_t wrong = m->rank == 0 ? 0 : pattern_check_words(m->memory, (size_t)m->count, MESSAGE_SEED, 0, m->first, &fault);
    if (wrong > 0 && m->faults == 0) {
        snprintf(m->fault_text, sizeof m->fault_text,
                 "rank %d received wrong data from MPI_Ibcast: %" PRIu64 " wrong elements, the first at position %zu of %d: got 0x%016" PRIx64
                 ", expected 0x%016" PRIx64, m->rank, wrong, fault.position, m->count, fault.got_word, fault.expected_word);
    }
    m->faults += wrong;
    return m->faults;
}

const char *message_fault_text(const message *m) {
    return m->fault_text;
}
