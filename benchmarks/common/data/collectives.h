/*
 * collectives - the table of the collectives that are measured, one entry per call: the nonblocking calls of MPI-3 and
 * the persistent calls of MPI-4. A new collective is a new entry.
 *
 * message_bytes means, for each collective:
 *
 *   Ibarrier                                      no data: always 0
 *   Ibcast, Ireduce, Iallreduce, Iscan, Iexscan   the buffer
 *   Igather, Iallgather, Ineighbor_allgather      one rank's contribution
 *   Iscatter, Ialltoall, Ineighbor_alltoall       one destination's block
 *   Ireduce_scatter, Ireduce_scatter_block        one rank's block of the result; each rank hands in one for each rank
 *   the v and w forms                             the mean of such blocks, which have half to one and a half of it
 *                                                 (blocks.h)
 *
 * A persistent form means the same as the nonblocking one. The root is rank 0. The neighbourhood is a ring as a
 * distributed graph: the ranks to the left and right of every rank, which are the same rank where there are two. In v
 * and w forms a gap lies between blocks, and received blocks lie in reverse order. In w forms the blocks are sent in
 * turn as 64-bit words and as pairs of 32-bit words.
 */
#pragma once

#include "options.h"
#include "pattern.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of an element: words and terms (pattern.h) have the same size. */
#define COLLECTIVE_ELEMENT 8

/* Where the blocks of a rank's buffer lie. The arrays have a value for each block, and only where the call takes them:
 * counts and displacements in v and w forms, the others in w forms. */
struct collective_side {
    int blocks;
    size_t extent; /* from the first element to the last, gaps included */
    int *counts;   /* elements, as displacements */
    int *displacements;
    int *byte_displacements;
    MPI_Aint *addresses; /* the byte displacements in the type that Ineighbor_alltoallw takes */
    MPI_Datatype *types;
};

/* The arguments of one call on one rank. */
struct collective_call {
    const void *send;
    void *receive;
    int count; /* elements of message_bytes */
    struct collective_side sent;
    struct collective_side received;
    int rank;
    int ranks;
    MPI_Comm comm;
    MPI_Comm ring;
    MPI_Datatype pair; /* an element as two 32-bit words */
    uint64_t seed;
    size_t first; /* pattern_first of this repetition */
};

/* Which data go where: the same for a nonblocking form and its persistent one. */
struct collective_message {
    /* Number of blocks in this rank's send and receive buffer; 0: it has no such buffer. */
    int (*send_blocks)(int rank, int ranks);
    int (*receive_blocks)(int rank, int ranks);
    /* For a received block: the rank that it comes from, and its index in that rank's send buffer (in all ranks' send
     * buffers where they are summed). */
    int (*source)(int block, int rank, int ranks);
    int (*place)(int block, int rank, int ranks);
    /* The number of ranks, from rank 0 on, whose terms are summed for this rank; NULL: words are moved, nothing is
     * summed. */
    int (*summed)(int rank, int ranks);
    bool varies; /* block lengths differ */
    bool typed;  /* each block has a datatype of its own */
};

struct collective {
    const char *name;
    const char *mpi_name;
    const struct collective_message *message;
    /* Makes the call and returns MPI's error code. For a nonblocking form this call is timed; for a persistent form it
     * makes the request, and MPI_Start is timed. */
    int (*start)(const struct collective_call *call, MPI_Request *request);
    bool persistent;
    bool available; /* the MPI library has this call */
};

enum { COLLECTIVE_COUNT = 44 };
extern const struct collective collective_table[COLLECTIVE_COUNT];

/* So many entries, the first of the table, are measured by default: the paper's (section 5.3), and Iallreduce. */
enum { COLLECTIVE_DEFAULTS = 5 };

/* Collective over world: makes the communicators and datatypes of a call. Free with collective_call_free. */
struct collective_call collective_call_create(MPI_Comm world, uint64_t seed);
void collective_call_free(struct collective_call *call);

/* Lays out the blocks of a message; count: message_bytes in elements. */
void collective_arrange(struct collective_call *call, const struct collective_message *message, size_t count);

/* Returns the number of wrong elements that this rank received, and the first in *fault, which is untouched where the
 * number is 0. Calls no MPI. */
uint64_t collective_check(const struct collective_call *call, const struct collective_message *message,
                          struct pattern_fault *fault);

/* Returns false where the collective moves no data, so that message_bytes is always 0. */
bool collective_has_message(const struct collective *collective);

/* Returns how many of the asked communication times can be different ones: all, or one where the collective has no
 * message. */
size_t collective_comm_times(const struct collective *collective, size_t asked);

/* Returns the size of all buffers of the rank with the largest, in multiples of message_bytes, rounded up. */
size_t collective_most_blocks(const struct collective *collective, int ranks);

/* Returns the largest message_bytes for which the counts and displacements of all blocks of a buffer, added up, are
 * ints: some libraries add them up as ints. */
uint64_t collective_most_bytes(const struct collective *collective, int ranks);

/* Returns the index of a name in the table; -1: there is no such name. */
int collective_find(const char *name);

/* Returns the table as the choices of an option. */
const struct option_choice *collective_choices(void);

/* Prints the names of the table, one a line; of those that this MPI library lacks, that it does. */
void collective_print_list(void);
