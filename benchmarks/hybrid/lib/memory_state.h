/*
 * memory_state - what the library keeps of a hybrid_memory, and of the call that is going on.
 */
#pragma once

#include "comm.h"

#include <stdint.h>

struct collective;

/* A call that is going on. */
struct call {
    const struct collective *kind;
    size_t count;
    size_t element_bytes;
    MPI_Datatype type;
    MPI_Op op;
    int root;
    enum hybrid_method method;
    hybrid_gather *gather;
};

enum phase { PHASE_IDLE, PHASE_WRITE, PHASE_STARTED, PHASE_READ };

enum { USUAL_BUFFERS = 2, MOST_BUFFERS = 8 };

struct hybrid_memory {
    hybrid_comm *comm;
    MPI_Win win;
    struct node_flags *flags;
    struct note_line *notes; /* of all ranks of the node; NULL: the memory is of a shape that has none */
    int buffers;             /* 1 to MOST_BUFFERS */
    char *data;              /* where the first buffer begins */
    size_t buffer_bytes;
    size_t buffer_stride; /* from the begin of one buffer to that of the next */
    size_t window_bytes;
    uint64_t round; /* the current one, from 1 */
    uint64_t step;  /* the last one at which ranks waited for each other */
    uint64_t ended; /* the last round of which this rank knows that all of the node have ended their read phase */
    enum phase phase;
    size_t written_offset; /* what this rank has named in hybrid_write_begin */
    size_t written_bytes;
    enum hybrid_sync sync; /* of the call that is going on */
    struct call call;
    MPI_Request request;    /* of the leader's call */
    int status;             /* an error of the call that is going on */
    bool evicts;            /* ranks evict what they have read */
    const char *result;     /* where the last result begins */
    size_t result_bytes;    /* of the node's one copy; 0: the result is another */
    struct call last;       /* type and operation were found good for this one */
    hybrid_gather *regular; /* parameters of the last hybrid_allgather */
    char *own_result;       /* of HYBRID_METHOD_EACH */
    char *own_memory;       /* for it, where the window has none; own_bytes long */
    size_t own_bytes;
    /* The message of a short broadcast, which came with its flag. */
    alignas(max_align_t) char note[NOTE_BYTES];
    /* The leader's private memory for data that must be put into another order. */
    char *staging;
    size_t staging_unit;
    const struct collective *staging_kind;
};

/* The buffer of the current round. */
static inline char *memory_buffer(const hybrid_memory *m) {
    return m->data + m->round % (uint64_t)m->buffers * m->buffer_stride;
}

/* Rows of a buffer begin at multiples of a cache line. Returns the distance of rows of so many bytes. */
static inline size_t memory_stride(size_t bytes) {
    return (bytes + FLAGS_LINE - 1) / FLAGS_LINE * FLAGS_LINE;
}
