/*
 * approach - the ways to send a message whose parts become ready one after the other: a table, with the MPI calls that
 * each makes at each step on each side (Gillis 2023, section 2.3, tables 1 and 2). A new approach is a new entry.
 *
 * The steps of a transfer are those of figure 3: the main thread starts it; each thread makes its partitions ready (the
 * receiver's threads consume them, where the approach lets them know what has arrived); each thread ends its own
 * requests; when all threads are done, the main thread waits for the whole.
 *
 * One thing differs from the table of the paper. There a thread of `many` waits for each partition before it begins the
 * next one. With several partitions per thread that makes overlap impossible, whatever the library does. Here a thread
 * waits when its last partition is on its way. With one partition per thread both are the same.
 */
#pragma once

#include "mpi_forms.h"
#include "options.h"

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct approach;

enum { APPROACH_MOST_NEIGHBOURS = 6 };

/* One side of a transfer, and what its approach keeps between the steps. */
struct channel {
    const struct approach *approach;
    MPI_Comm comm; /* this channel's own */
    bool sends;
    int threads;
    size_t neighbours;               /* ranks on the other side; each has an equal share of words and partitions */
    const int *peers;                /* [neighbours]: their ranks in comm; one rank may be several neighbours */
    uint64_t *words;                 /* the messages of all neighbours, one after the other */
    size_t count;                    /* words, of all neighbours */
    size_t partitions;               /* of this side, of all neighbours */
    size_t partitions_of_other_side; /* a multiple or a divisor of the former */
    size_t aggregation_bytes;        /* of the approaches that aggregate: most bytes of a message; 0: not aggregated */

    /* Consumes the words [first, first + count), which the library says have arrived. Any thread may call it. */
    void (*arrived)(void *context, size_t first, size_t count);
    void *context;

    /* What init makes. messages: the number of MPI messages, or of puts, that a transfer takes. */
    size_t messages;
    MPI_Request *requests; /* [messages], or one of a partitioned communication for each neighbour */
    size_t request_count;
    MPI_Comm *comms; /* one per thread */
#if HAS_STREAMS
    MPIX_Stream *streams; /* one per thread */
#endif
    MPI_Win *windows;
    size_t window_count;
    MPI_Group other_side;
    atomic_size_t *missing; /* [messages]: partitions that are not ready yet */
};

/* The steps of one side. NULL: there is nothing to do. */
struct approach_side {
    void (*start)(struct channel *c);                   /* the main thread, before the other threads begin */
    void (*ready)(struct channel *c, size_t partition); /* the thread that the partition belongs to */
    void (*end_thread)(struct channel *c, int thread);  /* each thread, after its last partition */
    void (*wait)(struct channel *c);                    /* the main thread, when all threads are done */
};

struct approach {
    const char *name;
    const char *what; /* for --list */
    bool partitioned; /* it makes the calls of MPI_Psend_init */
    bool regroups;    /* both sides may have different numbers of partitions */
    size_t coarser;   /* without another wish the receiver has so many times fewer partitions; 0: the same number */
    bool streams;     /* it makes the calls of MPIX_Stream_create */
    bool aggregates;  /* it has an aggregation size */
    bool polls; /* in the transfers that look for wrong data, the sender calls MPI_Iprobe while a partition is late */
    size_t neighbours; /* each sender has so many receivers, and each receiver so many senders. 0: one */
    void (*init)(struct channel *c);
    void (*close)(struct channel *c); /* before requests, windows and communicators are freed. NULL: nothing to do */
    struct approach_side send;
    struct approach_side receive;
};

enum {
    APPROACH_PART,
    APPROACH_PART_PARRIVED,
    APPROACH_PART_COARSE,
    APPROACH_PART_NEIGHBOURS,
    APPROACH_PART_NEIGHBOURS_4,
    APPROACH_PART_NEIGHBOURS_6,
    APPROACH_PART_STARTALL,
    APPROACH_PART_POLLING,
    APPROACH_SINGLE,
    APPROACH_MANY,
    APPROACH_STREAMS,
    APPROACH_PERSISTENT,
    APPROACH_LAYER,
    APPROACH_RMA_SINGLE_PASSIVE,
    APPROACH_RMA_MANY_PASSIVE,
    APPROACH_RMA_SINGLE_ACTIVE,
    APPROACH_RMA_MANY_ACTIVE,
    APPROACH_RMA_FENCE,
    APPROACH_COUNT
};
extern const struct approach approach_table[APPROACH_COUNT];

/* Returns the table as the choices of an option. */
const struct option_choice *approach_choices(void);

/* Returns the function that the approach calls and this MPI library lacks; NULL where it lacks none. */
const char *approach_lacks(const struct approach *approach);

/* Returns whether the library, as it was started, can give each of so many threads what the approach needs. One line in
 * error where it cannot. */
bool approach_started_for(const struct approach *approach, int threads, char *error, size_t error_size);

/* Returns the number of receivers of each sender. */
size_t approach_neighbours(const struct approach *approach);

/* Return the first partition of a thread, and the number of partitions that each thread has on the side that sends. A
 * receiver may have fewer partitions than threads: some threads then have none. */
size_t approach_first_partition(const struct channel *c, int thread);

/* Collective over the channel's communicator: makes the communicators, requests and windows of a channel whose other
 * fields are set. */
void approach_open(struct channel *c);

/* Collective, likewise: frees them. Every request must have been started once and be complete. */
void approach_close(struct channel *c);
