/*
 * memory - the window, the buffers and the phases of a hybrid_memory.
 */
#pragma once

#include "memory_state.h"

/* Returns MPI_SUCCESS, or an error code and a line, where this is no memory or not in this phase. */
int memory_check(const hybrid_memory *m, enum phase phase, const char *function);

/* Returns MPI_ERR_BUFFER and a line where a buffer has fewer bytes. */
int memory_has(const hybrid_memory *m, size_t bytes);

/*
 * Leaders: makes m->staging at least `bytes` long. All leaders agree on whether it could be made, whenever the kind
 * changes or the unit, which is the same on all of them, grows.
 */
int memory_stage(hybrid_memory *m, const struct collective *kind, size_t unit, size_t bytes);
