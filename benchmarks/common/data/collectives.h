/*
 * collectives - what is measured: one table entry per collective call, the nonblocking ones of MPI-3 and the persistent
 * ones of MPI-4. A new one is a new entry.
 *
 * message_bytes means what one rank hands to the collective:
 *
 *   Ibarrier                                      nothing: it is 0
 *   Ibcast, Ireduce, Iallreduce, Iscan, Iexscan   the buffer
 *   Igather, Iallgather, Ineighbor_allgather      one rank's contribution
 *   Iscatter, Ialltoall, Ineighbor_alltoall       one destination's block
 *   Ireduce_scatter, Ireduce_scatter_block        one rank's block of the result; every rank hands in one for each rank
 *   the v and w forms                             the mean of such blocks, each half of it to one and a half (blocks.h)
 *
 * A persistent form means the same as the nonblocking one. Root is rank 0. The neighbourhood is a ring, left and right
 * of every rank, as a distributed graph: for two ranks both neighbours are the same one. In v and w forms a gap lies
 * between blocks, and what is received lies in the reverse order. In w forms blocks are sent as 64-bit words or as
 * pairs of 32-bit words, in turn.
 */
#ifndef CAMPAIGN_COLLECTIVES_H
#define CAMPAIGN_COLLECTIVES_H

#include "pattern.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of an element, words and terms alike. */
#define COLLECTIVE_ELEMENT 8

/* Where the blocks of a rank's buffer lie, in elements; of w forms also in bytes, and as what they are sent. */
struct collective_side {
    int blocks;
    size_t extent; /* from the first element to the last, gaps included */
    int *counts;
    int *displacements;
    int *byte_displacements;
    MPI_Aint *addresses; /* the same, as the neighbourhood's w form wants them */
    MPI_Datatype *types;
};

/* One call on one rank. */
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

/* Which data go where: what a nonblocking form and its persistent one have in common. */
struct collective_message {
    /* Blocks of this rank's buffers; 0: it has none. */
    int (*send_blocks)(int rank, int ranks);
    int (*receive_blocks)(int rank, int ranks);
    /* A received block: which rank's it is, and the how manieth of that rank's send buffer (of all ranks' where they
     * are summed). */
    int (*source)(int block, int rank, int ranks);
    int (*place)(int block, int rank, int ranks);
    /* Terms are summed, those of so many ranks, 0 first; NULL: words are moved. */
    int (*summed)(int rank, int ranks);
    bool varies; /* block lengths do */
    bool typed;  /* a datatype for each block */
};

struct collective {
    const char *name;
    const char *mpi_name;
    const struct collective_message *message;
    /* Returns MPI's code. The call that is timed; of a persistent form the one that makes its request, and MPI_Start is
     * timed. */
    int (*start)(const struct collective_call *call, MPI_Request *request);
    bool persistent;
    bool available; /* the MPI library has it */
};

enum { COLLECTIVE_COUNT = 44 };
extern const struct collective collective_table[COLLECTIVE_COUNT];

/* The first so many are measured where none is asked for: those of the paper (section 5.3), and Iallreduce. */
enum { COLLECTIVE_DEFAULTS = 5 };

/* Collective: communicators and room for a call; free it. */
struct collective_call collective_call_create(MPI_Comm world, uint64_t seed);
void collective_call_free(struct collective_call *call);

/* Lays out the blocks of a message of so many elements. */
void collective_arrange(struct collective_call *call, const struct collective_message *message, size_t count);

/* Wrong elements in what this rank received; 0: all is well, and fault is left alone. Calls no MPI. */
uint64_t collective_check(const struct collective_call *call, const struct collective_message *message,
                          struct pattern_fault *fault);

/* false: no data at all, message_bytes is always 0. */
bool collective_has_message(const struct collective *collective);

/* Of so many communication times that are asked for, those that differ: without a message there is one, whatever is
 * asked for. */
size_t collective_comm_times(const struct collective *collective, size_t asked);

/* Buffers of the rank that has most of them, in multiples of message_bytes, rounded up. */
size_t collective_most_blocks(const struct collective *collective, int ranks);

/* Largest message whose counts and displacements, those of all blocks of a buffer together, are ints: some libraries
 * add them up as such. */
uint64_t collective_most_bytes(const struct collective *collective, int ranks);

/* Index in the table; -1: there is none of this name. */
int collective_find(const char *name);

/* The table's names in its order, NULL-terminated: for the options. */
const char *const *collective_names(void);

#endif
