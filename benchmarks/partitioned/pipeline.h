/*
 * pipeline - what `partitioned` measures (Gillis 2023, section 2.1): a message that one rank of each pair sends to the
 * other in partitions, by the approach under test, and in the same repetition by one message when all is ready, which
 * is the reference.
 *
 * Rank r of the first half of the ranks sends to rank r of the second half; with d neighbours also to the next d - 1
 * ranks there, so that each receiver has d senders, like the red and the black points of a periodic grid. Sizes of
 * messages and numbers of partitions are those of one neighbour. The time of a transfer runs from the common start to
 * the completion at the receiver, without the computation of the sender.
 */
#pragma once

#include "delays.h"
#include "network.h"
#include "points.h"
#include "program.h"
#include "sampler.h"
#include "transfer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pipeline {
    const struct points_plan *plan;
    const struct program *program;
    start_line *line;
    MPI_Comm pair;   /* of this rank and the one that it sends to or receives from */
    MPI_Comm all;    /* of all ranks: several neighbours are in no pair */
    MPI_Comm probed; /* what the helper probes, and a sender that makes progress itself */
    int number;      /* of the pair */
    int pairs;
    int partner;                           /* the other rank of the pair */
    int peers[APPROACH_MOST_NEIGHBOURS];   /* the neighbours, ranks of `all` */
    int writers[APPROACH_MOST_NEIGHBOURS]; /* the senders of the neighbours' messages, by the number of their pair */
    bool sends;
    uint64_t *words;      /* the messages; as long as the longest ones */
    uint64_t *work_sizes; /* [most partitions]: of the next transfer */
    char *other_data;     /* with cold caches: what is read before each transfer */
    size_t other_bytes;
    struct delays delays;
    struct network network;       /* readings of the whole launch */
    int64_t reading_ns;           /* the time that they took on this rank */
    struct channel short_message; /* one message, as the reference sends it */
    struct channel long_message;
    struct network_estimate planned; /* alpha and beta before the points, by which the delays were planned */
    struct {
        struct channel tested;
        struct channel reference;
        const struct delay *delay;
    } point;                     /* the point that is being measured */
    struct channel *one_message; /* what is timed as one message: the point's reference, or a reading's */
    /* The last transfer: its number, from which its contents follow, its channel and its times. */
    uint64_t transfer;
    bool provokes; /* the transfers are made to find wrong data, and not timed */
    bool leads_in; /* the transfer precedes a timed one, and nothing is late in it */
    const struct channel *current;
    struct transfer_times times;
    struct {
        pthread_mutex_t lock;
        _Atomic(int64_t) count; /* words that arrived wrong */
        char text[256];         /* about the first one */
        int64_t early;          /* as count, of those that MPI_Parrived had announced */
    } faults;
};

/* What sampler_measure measures. The context of its hooks is a struct pipeline. */
extern const struct sampler_kind pipeline_points;

/* The `check`, `begin` and `end` of the struct program_kind. pipeline_check reads the delays where there is a sizes
 * file. pipeline_begin makes the pairs, reads alpha and beta, and searches the delays that were not read. */
void pipeline_check(struct program *program, void *context, char *error, size_t error_size);
bool pipeline_begin(struct program *program, void *context, sampler *s, char *reason, size_t reason_size);
bool pipeline_end(struct program *program, void *context, char *reason, size_t reason_size);
