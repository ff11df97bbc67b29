/*
 * collectives - what is measured: one table entry per nonblocking collective. A new one is a new entry.
 *
 * message_bytes means what one rank hands to the collective: the buffer of Ibcast, Ireduce and Iallreduce, one rank's contribution to
 * Iallgather, one destination's block of Ialltoall. Root is rank 0.
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

/* One call on one rank. */
struct collective_call {
    const void *send;
    void *receive;
    int count;        /* elements of message_bytes */
    int rank;
    int ranks;
    MPI_Comm comm;
    uint64_t seed;
    size_t first;     /* pattern_first of this repetition */
};

struct collective {
    const char *name;
    const char *mpi_name;
    bool sums; /* terms under MPI_SUM; otherwise words */
    /* Buffers in multiples of message_bytes. */
    size_t (*send_blocks)(int rank, int ranks);
    size_t (*receive_blocks)(int rank, int ranks);
    /* Fills the send buffer's window of elements [0, count) of this rank's sequence. */
    void (*fill)(void *send, size_t count, uint64_t seed, int rank);
    /* The nonblocking call. Returns MPI's code. */
    int (*start)(const struct collective_call *call, MPI_Request *request);
    /* Wrong elements in what this rank received. */
    uint64_t (*check)(const struct collective_call *call, struct pattern_fault *fault);
};

#define COLLECTIVE_COUNT 5
extern const struct collective collective_table[COLLECTIVE_COUNT];

/* Buffers, in multiples of message_bytes, of the rank that has most of them. */
size_t collective_most_blocks(const struct collective *collective, int ranks);

/* Largest message whose counts, those of all blocks of a buffer together, are ints: some libraries add them up as such. */
uint64_t collective_most_bytes(const struct collective *collective, int ranks);

/* Index in the table; -1: there is none of this name. */
int collective_find(const char *name);

/* The table's names in its order, NULL-terminated: for the options. */
const char *const *collective_names(void);

#endif
