#include "memory.h"

#include "error.h"
#include "eviction.h"
#include "gather.h"
#include "guard.h"
#include "steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

/* ---- sizes ---- */

/* Returns whether the product fits. */
static bool multiply(size_t a, size_t b, size_t *product) {
    return !__builtin_mul_overflow(a, b, product);
}

/* Sets the bytes of a buffer. Returns whether they can be counted. */
static bool shape_bytes(const hybrid_comm *comm, size_t block, enum hybrid_shape shape, size_t *bytes) {
    const size_t ranks = (size_t)comm->ranks;
    const size_t node_ranks = (size_t)comm->node_ranks;
    if (block > SIZE_MAX / 4) {
        return false;
    }
    switch (shape) {
    case HYBRID_ONE:
        *bytes = block;
        return true;
    case HYBRID_PER_RANK:
        return multiply(block, ranks, bytes);
    case HYBRID_REDUCTION:
        return multiply(memory_stride(block), node_ranks + 2, bytes);
    case HYBRID_PAIRS:
        return multiply(block, ranks, bytes) && *bytes <= SIZE_MAX / 4 &&
               multiply(memory_stride(*bytes), 2 * node_ranks, bytes);
    }
    return false;
}

/* Whether ranks may give each other notes: in a broadcast, and where each rank reduces for itself. */
static bool has_notes(enum hybrid_shape shape) {
    return shape == HYBRID_ONE || shape == HYBRID_REDUCTION;
}

/* Returns the bytes of the window up to the notes. */
static size_t flags_and_guard_bytes(const hybrid_comm *comm) {
    return flags_bytes(comm->node_ranks) + guard_bytes(comm->node_ranks);
}

/* Returns the bytes of the window up to the buffers. */
static size_t head_bytes(const hybrid_comm *comm, enum hybrid_shape shape) {
    return flags_and_guard_bytes(comm) + (has_notes(shape) ? notes_bytes(comm->node_ranks) : 0);
}

/* Sets the bytes of the buffers and of the window. */
static int plan_window(hybrid_memory *m, size_t count, size_t element_bytes, enum hybrid_shape shape) {
    const hybrid_comm *comm = m->comm;
    const size_t alignment = guard_alignment();
    size_t block = 0;
    size_t bytes = 0;
    if (!multiply(count, element_bytes, &block) || !shape_bytes(comm, block, shape, &bytes) ||
        bytes > (SIZE_MAX / 2 - head_bytes(comm, shape)) / MOST_BUFFERS - 2 * alignment) {
        return error_set(MPI_ERR_COUNT, "%zu elements of %zu bytes: the size of the node's memory cannot be counted",
                         count, element_bytes);
    }
    m->buffer_bytes = bytes;
    m->buffer_stride = (bytes + alignment - 1) / alignment * alignment;
    m->window_bytes = head_bytes(comm, shape) + alignment + (size_t)m->buffers * m->buffer_stride;
    return MPI_SUCCESS;
}

/* Leaders: whether the node has room for the window. A page that is touched and does not fit would end the process. */
static int check_room(const hybrid_memory *m) {
    struct statvfs shm;
    if (!comm_leads(m->comm) || statvfs("/dev/shm", &shm) != 0) {
        return MPI_SUCCESS;
    }
    const unsigned long long room = (unsigned long long)shm.f_bavail * shm.f_frsize;
    return m->window_bytes <= room
               ? MPI_SUCCESS
               : error_set(
                     MPI_ERR_NO_MEM,
                     "the window of node %d has %zu bytes, and its shared memory (/dev/shm) has room for %llu bytes",
                     m->comm->node_index, m->window_bytes, room);
}

/* ---- making and freeing ---- */

static int allocate(hybrid_memory *m, enum hybrid_shape shape) {
    const hybrid_comm *comm = m->comm;
    char *base = NULL;
    MPI_Aint bytes = 0;
    int unit = 0;
    const int *model = NULL;
    int has_model = 0;
    TRY_MPI(MPI_Win_allocate_shared(comm_leads(comm) ? (MPI_Aint)m->window_bytes : 0, 1, MPI_INFO_NULL, comm->node,
                                    &base, &m->win));
    TRY_MPI(MPI_Win_set_errhandler(m->win, MPI_ERRORS_RETURN));
    TRY_MPI(MPI_Win_shared_query(m->win, 0, &bytes, &unit, &base));
    TRY_MPI(MPI_Win_get_attr(m->win, MPI_WIN_MODEL, &model, &has_model));
    if (!has_model || *model != MPI_WIN_UNIFIED) {
        return error_set(MPI_ERR_WIN, "the MPI library's windows have no unified memory model");
    }
    const uintptr_t begin = ((uintptr_t)base + FLAGS_LINE - 1) / FLAGS_LINE * FLAGS_LINE;
    const size_t alignment = guard_alignment();
    m->flags = (struct node_flags *)begin;
    m->notes = has_notes(shape) ? (struct note_line *)(begin + flags_and_guard_bytes(comm)) : NULL;
    m->data = (char *)((begin + head_bytes(comm, shape) + alignment - 1) / alignment * alignment);
    TRY_MPI(MPI_Win_lock_all(MPI_MODE_NOCHECK, m->win));
    if (comm_leads(comm)) {
        flags_clear(m->flags, comm->node_ranks);
        if (m->notes != NULL) {
            notes_clear(m->notes, comm->node_ranks);
        }
    }
    TRY_MPI(MPI_Win_sync(m->win));
    TRY_MPI(MPI_Barrier(comm->node));
    TRY_MPI(MPI_Win_sync(m->win));
    return guard_add(m);
}

/* In a broadcast nobody waits for the readers of this round, so a root may run ahead as far as there are buffers. Short
 * messages then follow each other without a way back: with eight buffers instead of two, one of 4 KiB, written and
 * read, took 0.5 to 0.6 times as long between cores that share no cache. All together stay in a usual second cache. */
static int usual_buffers(size_t count, size_t element_bytes, enum hybrid_shape shape) {
    enum { TOGETHER_BYTES = 131072 };
    size_t bytes = 0;
    if (shape != HYBRID_ONE || !multiply(count, element_bytes, &bytes) || bytes > TOGETHER_BYTES / USUAL_BUFFERS) {
        return USUAL_BUFFERS;
    }
    return bytes > TOGETHER_BYTES / MOST_BUFFERS ? (int)(TOGETHER_BYTES / bytes) : MOST_BUFFERS;
}

int hybrid_memory_create(hybrid_comm *comm, size_t count, size_t element_bytes, enum hybrid_shape shape,
                         hybrid_memory **memory) {
    return hybrid_memory_create_buffers(comm, count, element_bytes, shape, usual_buffers(count, element_bytes, shape),
                                        memory);
}

int hybrid_memory_create_buffers(hybrid_comm *comm, size_t count, size_t element_bytes, enum hybrid_shape shape,
                                 int buffers, hybrid_memory **memory) {
    if (memory == NULL) {
        return error_set(MPI_ERR_ARG, "there is no place for the hybrid_memory");
    }
    *memory = NULL;
    TRY(comm_check(comm));
    hybrid_memory *m = calloc(1, sizeof *m);
    int code = m == NULL || !handle_add(m) ? error_set(MPI_ERR_NO_MEM, "no memory for a hybrid_memory") : MPI_SUCCESS;
    if (m != NULL) {
        *m = (hybrid_memory){.comm = comm, .buffers = buffers, .win = MPI_WIN_NULL, .request = MPI_REQUEST_NULL};
    }
    if (code == MPI_SUCCESS && (buffers < 1 || buffers > MOST_BUFFERS)) {
        code = error_set(MPI_ERR_ARG, "%d buffers: a memory has 1 to %d", buffers, MOST_BUFFERS);
    }
    if (code == MPI_SUCCESS) {
        code = plan_window(m, count, element_bytes, shape);
    }
    if (code == MPI_SUCCESS) {
        code = check_room(m);
    }
    code = comm_share_error(comm->all, code);
    if (code == MPI_SUCCESS) {
        code = comm_share_error(comm->all, allocate(m, shape));
    }
    if (code != MPI_SUCCESS) {
        /* A window that was made on some ranks only cannot be freed: that is collective. */
        handle_remove(m);
        free(m);
        return code;
    }
    comm->memories++;
    *memory = m;
    return MPI_SUCCESS;
}

int hybrid_memory_free(hybrid_memory **memory) {
    if (memory == NULL || *memory == NULL || !handle_exists(*memory)) {
        return error_set(MPI_ERR_ARG, "the hybrid_memory does not exist, or was freed");
    }
    hybrid_memory *m = *memory;
    if (m->phase == PHASE_STARTED) {
        return error_set(MPI_ERR_RMA_SYNC, "a collective was started on this memory, and hybrid_wait was not called");
    }
    TRY_MPI(MPI_Barrier(m->comm->node)); /* nobody reads any more */
    guard_remove(m);
    TRY_MPI(MPI_Win_unlock_all(m->win));
    TRY_MPI(MPI_Win_free(&m->win));
    if (m->regular != NULL) {
        TRY(hybrid_gather_free(&m->regular));
    }
    m->comm->memories--;
    handle_remove(m);
    free(m->own_memory);
    free(m->staging);
    free(m);
    *memory = NULL;
    return MPI_SUCCESS;
}

int hybrid_memory_bytes(const hybrid_memory *memory, size_t *buffer_bytes, size_t *window_bytes) {
    if (memory == NULL || !handle_exists(memory)) {
        return error_set(MPI_ERR_ARG, "the hybrid_memory does not exist, or was freed");
    }
    *buffer_bytes = memory->buffer_bytes;
    *window_bytes = memory->window_bytes;
    return MPI_SUCCESS;
}

int memory_stage(hybrid_memory *m, const struct collective *kind, size_t unit, size_t bytes) {
    if (m->staging_kind == kind && unit <= m->staging_unit) {
        return MPI_SUCCESS;
    }
    free(m->staging);
    m->staging = malloc(bytes > 0 ? bytes : 1);
    const int made =
        m->staging != NULL ? MPI_SUCCESS : error_set(MPI_ERR_NO_MEM, "no memory for %zu bytes on a leader", bytes);
    m->staging_kind = kind;
    m->staging_unit = unit;
    const int code = comm_share_error(m->comm->bridge, made);
    if (code != MPI_SUCCESS) {
        m->staging_kind = NULL;
    }
    return code;
}

/* ---- phases ---- */

static const char *const phase_texts[] = {
    [PHASE_IDLE] = "hybrid_write_begin has not been called",
    [PHASE_WRITE] = "it is in its write phase, which a collective ends",
    [PHASE_STARTED] = "a collective was started, and hybrid_wait has not been called",
    [PHASE_READ] = "it is in its read phase, which hybrid_read_end ends",
};

int memory_check(const hybrid_memory *m, enum phase phase, const char *function) {
#ifdef HYBRID_CHECKED
    const bool exists = m != NULL && handle_exists(m);
#else
    const bool exists = m != NULL;
#endif
    if (!exists) {
        return error_set(MPI_ERR_ARG, "%s: the hybrid_memory does not exist, or was freed", function);
    }
    return m->phase == phase
               ? MPI_SUCCESS
               : error_set(MPI_ERR_RMA_SYNC, "%s: the memory is in another phase: %s", function, phase_texts[m->phase]);
}

int memory_has(const hybrid_memory *m, size_t bytes) {
    return bytes <= m->buffer_bytes
               ? MPI_SUCCESS
               : error_set(MPI_ERR_BUFFER, "%zu bytes are needed, and the memory has buffers of %zu", bytes,
                           m->buffer_bytes);
}

int hybrid_write_begin(hybrid_memory *memory, size_t offset, size_t bytes, void **own) {
    TRY(memory_check(memory, PHASE_IDLE, "hybrid_write_begin"));
    if (own != NULL) {
        *own = NULL;
    }
    if (offset > memory->buffer_bytes || bytes > memory->buffer_bytes - offset) {
        return error_set(MPI_ERR_BUFFER, "%zu bytes from byte %zu: the memory has buffers of %zu bytes", bytes, offset,
                         memory->buffer_bytes);
    }
    memory->round++;
    /* The leader may write what comes from other nodes. Whatever else ranks write during a collective they write when
     * all have come to it. */
    if (bytes > 0 || comm_leads(memory->comm)) {
        TRY(step_wait_for_readers(memory));
    }
    memory->written_offset = offset;
    memory->written_bytes = bytes;
    memory->phase = PHASE_WRITE;
    if (own != NULL && bytes > 0) {
        *own = memory_buffer(memory) + offset;
    }
    return guard_set(memory);
}

int hybrid_write_block(hybrid_memory *memory, size_t block_bytes, void **own) {
    TRY(memory_check(memory, PHASE_IDLE, "hybrid_write_block"));
    size_t offset = 0;
    if (!multiply(block_bytes, (size_t)memory->comm->rank, &offset)) {
        return error_set(MPI_ERR_COUNT, "%zu bytes for each rank cannot be counted", block_bytes);
    }
    return hybrid_write_begin(memory, offset, block_bytes, own);
}

int hybrid_write_message(hybrid_memory *memory, size_t bytes, int root, void **own) {
    TRY(memory_check(memory, PHASE_IDLE, "hybrid_write_message"));
    if (root < 0 || root >= memory->comm->ranks) {
        return error_set(MPI_ERR_ROOT, "root %d: the parent has ranks 0 to %d", root, memory->comm->ranks - 1);
    }
    return hybrid_write_begin(memory, 0, root == memory->comm->rank ? bytes : 0, own);
}

int hybrid_write_input(hybrid_memory *memory, size_t bytes, void **own) {
    TRY(memory_check(memory, PHASE_IDLE, "hybrid_write_input"));
    TRY(memory_has(memory, bytes));
    return hybrid_write_begin(memory, (size_t)memory->comm->node_rank * memory_stride(bytes), bytes, own);
}

int hybrid_read(const hybrid_memory *memory, const void **result) {
    TRY(memory_check(memory, PHASE_READ, "hybrid_read"));
    *result = memory->result;
    return MPI_SUCCESS;
}

int hybrid_read_end(hybrid_memory *memory) {
    TRY(memory_check(memory, PHASE_READ, "hybrid_read_end"));
    eviction_of_result(memory);
    memory->phase = PHASE_IDLE;
    TRY(guard_set(memory));
    flag_set(&memory->flags->ranks[memory->comm->node_rank].done, memory->round);
    return MPI_SUCCESS;
}
