/*
 * guard - finds violations of the contract for the one copy. In the library hybrid_collectives_checked each process
 * makes the pages of a buffer inaccessible, readable or writable by phase, and the ranks of a node compare what they
 * have named and called. In hybrid_collectives the functions do nothing.
 */
#pragma once

#include "memory_state.h"

#ifdef HYBRID_CHECKED

/* The alignment of buffers: that of pages. */
size_t guard_alignment(void);

/* The bytes that a memory has for what its ranks name and call, behind the flags. */
size_t guard_bytes(int node_ranks);

/* A new memory: nothing of it is accessible. */
int guard_add(hybrid_memory *m);
void guard_remove(hybrid_memory *m);

/* Sets what this process may do with the current buffer, by the memory's phase. */
int guard_set(hybrid_memory *m);

/* Between start and wait this process touches the buffer only where it leads. */
int guard_hide(hybrid_memory *m);

/*
 * Before a collective, when all ranks have named what they write; name: of the collective; code: what this rank found
 * wrong with its call.
 * Returns the first rank's error, on all ranks: that code; MPI_ERR_RMA_CONFLICT where two ranks of a node have named
 * the same bytes; MPI_ERR_ARG where they call different things.
 */
int guard_compare(hybrid_memory *m, const struct call *call, const char *name, int code);

#else

static inline size_t guard_alignment(void) {
    return FLAGS_LINE;
}
static inline size_t guard_bytes(int node_ranks) {
    (void)node_ranks;
    return 0;
}
static inline int guard_add(hybrid_memory *m) {
    (void)m;
    return MPI_SUCCESS;
}
static inline void guard_remove(hybrid_memory *m) {
    (void)m;
}
static inline int guard_set(hybrid_memory *m) {
    (void)m;
    return MPI_SUCCESS;
}
static inline int guard_hide(hybrid_memory *m) {
    (void)m;
    return MPI_SUCCESS;
}
static inline int guard_compare(hybrid_memory *m, const struct call *call, const char *name, int code) {
    (void)name;
    (void)m;
    (void)call;
    return code;
}

#endif
