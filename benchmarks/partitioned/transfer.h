/*
 * transfer - sends one message of a pair of ranks in partitions that become ready one after the other, as figure 3 of
 * Gillis 2023 has it, and times it.
 *
 * Each thread of the sender takes its partitions in order. It computes for a partition, then makes it ready. The
 * computation is a fixed amount of work, and not until a clock runs out, unless `spins` asks for the paper's delay. Its
 * time is measured and given beside the others, because the time of a transfer is without it (section 2.1).
 */
#pragma once

#include "approach.h"
#include "compute.h"
#include "helper.h"
#include "start.h"

#include <stdbool.h>
#include <stdint.h>

/* What a rank computes, and who makes progress meanwhile. */
struct transfer_means {
    compute_team *team;
    const uint64_t *work_sizes; /* sender, [partitions]: work before each partition; 0: it is ready at once */
    bool spins;                 /* the sizes are nanoseconds, until which a thread reads the clock */
    bool polls;                 /* with spins: the thread calls MPI_Iprobe meanwhile */
    helper *helper;             /* NULL: there is none */
    MPI_Comm probed;            /* what is probed, by the helper or by a thread that polls; nothing is sent there */
    bool accounts;              /* what threads do with the time of their computation is read, too */
};

/* Times of this rank, ns. A receiver has a start and an end only. */
struct transfer_times {
    int64_t began;      /* local time */
    int64_t start;      /* local time: the agreed moment; without a common start, `began` */
    int64_t end;        /* local time: the receiver has the whole message, the sender may use its buffer again */
    int64_t last_ready; /* local time: the last partition is ready */
    int64_t computed;   /* longest time that a thread has computed */
    int64_t delay;      /* D: from the first to the last partition that is ready, counting computation alone */
    /* Where they are asked for, of the thread that computed longest, while it computed. */
    int64_t computing_cpu;     /* its CPU time */
    int64_t computing_waiting; /* the time that it waited for a CPU */
};

/* Starts with the other ranks (line NULL: at once) and sends or receives the message. */
struct transfer_times transfer_run(struct channel *c, const struct transfer_means *means, start_line *line);
