/*
 * memory - what the library keeps of a hybrid_memory: the window, the buffers, the phases of a round, and the steps at
 * which the ranks of a node wait for each other.
 */
#ifndef HYBRID_MEMORY_H
#define HYBRID_MEMORY_H

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

/* Returns MPI_SUCCESS, or an error code and a line, where this is no memory or not in this phase. */
int memory_check(const hybrid_memory *m, enum phase phase, const char *function);

/* The buffer of the current round. */
static inline char *memory_buffer(const hybrid_memory *m) {
    return m->data + m->round % (uint64_t)m->buffers * m->buffer_stride;
}

/* Returns MPI_ERR_BUFFER and a line where a buffer has fewer bytes. */
int memory_has(const hybrid_memory *m, size_t bytes);

/* Rows of a buffer begin at multiples of a cache line. Returns the distance of rows of so many bytes. */
size_t memory_stride(size_t bytes);

/*
 * Leaders: makes m->staging at least `bytes` long. All leaders agree on whether it could be made, whenever the kind
 * changes or the unit, which is the same on all of them, grows.
 */
int memory_stage(hybrid_memory *m, const struct collective *kind, size_t unit, size_t bytes);

/* ---- steps; all ranks of a node take the same ones ---- */

/* Returns on the leader when all ranks of the node have come; on the others at once, where they spin. */
int step_gather(hybrid_memory *m);

/* Returns when all ranks of the node have come. */
int step_all(hybrid_memory *m);

/* Notes of at most NOTE_BYTES bytes, where ranks spin and the memory has notes: this rank gives one to the ranks of the
 * node; it waits for that of another one and copies it. A rank gives one note in a round. */
int step_give_note(hybrid_memory *m, const void *own, size_t bytes);
int step_take_note(hybrid_memory *m, int from, void *note, size_t bytes);

/* All ranks of the node give a note, and take those of all: notes[node_rank * NOTE_STRIDE]. */
enum { NOTE_STRIDE = 64 };
int step_notes(hybrid_memory *m, const void *own, size_t bytes, char *notes);

/* The rank `from` of the node has come; the ranks that call step_wait_for wait for it. Without spinning all ranks wait
 * in step_from. */
int step_from(hybrid_memory *m, int from);
int step_wait_for(hybrid_memory *m, int from);

/* The leader lets all ranks go on. Returns the rank's own status; on the others the leader's, where that is an error: a
 * leader's error is for ever. */
int step_release(hybrid_memory *m, int status);

#endif
