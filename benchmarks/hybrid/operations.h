/*
 * operations - the table of the collectives that are measured: who contributes what, what each rank reads, and how
 * either library makes the call. A new one is a new entry.
 *
 * A block has message_bytes. A rank contributes one block or, of a collective that scatters, one for each rank. It
 * reads the sum of what all ranks contributed, or a block from each rank that contributes.
 */
#pragma once

#include "hybrid_collectives.h"
#include "options.h"

enum { ROOT = 0 };

struct operation {
    const char *name; /* as the MPI function has it: bcast */
    const char *mpi_name;
    enum hybrid_shape shape;
    bool in_paper;  /* Zhou et al. 2020 measure it, and so does every grid; others are of the grid `full` */
    bool from_root; /* ROOT alone contributes; else every rank does */
    bool scatters;  /* a rank reads only what was contributed for it; else all ranks read the same */
    bool reduces;
    /* The MPI library's call. sent: what the rank contributes; where neither `scatters` nor `reduces`, it lies at its
     * place in `received`. count: the elements of a block. */
    int (*library)(const void *sent, void *received, int count);
    /* The hybrid library's write phase and call. */
    int (*write)(hybrid_memory *memory, size_t contributed_bytes, void **own);
    int (*hybrid)(hybrid_memory *memory, size_t count, enum hybrid_method method);
    /* The same in two steps, of which hybrid_wait is the second. */
    int (*start)(hybrid_memory *memory, size_t count, enum hybrid_method method);
};

enum { OPERATIONS = 5 };
extern const struct operation operation_table[OPERATIONS];

/* Returns the table as the choices of an option. */
const struct option_choice *operation_choices(void);

/* Of `ranks` ranks: how many blocks a contribution has, how many a rank reads, and how many elements of `count` each
 * the hybrid library's memory must be made for. */
size_t operation_contributed_blocks(const struct operation *operation, int ranks);
size_t operation_read_blocks(const struct operation *operation, int ranks);
size_t operation_memory_count(const struct operation *operation, int ranks, size_t count);

/* Whether the MPI library gets one buffer for what a rank contributes and what it reads. */
bool operation_in_place(const struct operation *operation);
