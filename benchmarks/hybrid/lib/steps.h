/*
 * steps - where the ranks of a node wait for each other. All of them take the same steps.
 */
#pragma once

#include "error.h"
#include "memory_state.h"

/* Waits until all ranks of the node have ended their read phase in the last round with the current buffer. */
static inline int step_wait_for_readers(hybrid_memory *m) {
    const uint64_t buffers = (uint64_t)m->buffers;
    if (m->round <= m->ended + buffers) {
        return MPI_SUCCESS;
    }
    const struct flags_waiting waiting = comm_waiting(m->comm);
    uint64_t ended = UINT64_MAX;
    for (int i = 0; i < m->comm->node_ranks; i++) {
        struct flag *done = &m->flags->ranks[i].done;
        TRY(flag_wait(done, m->round - buffers, &waiting));
        const uint64_t now = flag_number(done);
        ended = now < ended ? now : ended;
    }
    m->ended = ended;
    return MPI_SUCCESS;
}

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
