/*
 * loggp - the points of the program loggp: from which the parameters of the LogGP model are computed, for messages
 * between rank 0 and one other rank.
 *
 * Each repetition makes these parts, one after the other, each of many exchanges so that the clock resolves them:
 *
 *   round trip     PRTT(1, 0, s): a message there and one back
 *   train          PRTT(n, 0, s): n messages there, one after the other, and one back
 *   delayed train  PRTT(n, d, s): the same with work of the time d between them, longer than a round trip
 *   delay          that work alone
 *   receive        MPI_Recv of a message that has arrived already; and on the other rank MPI_Send of that message,
 *                  whose receiver is late: where it takes as long as the receiver is late, it waits for the receiver
 *   reduction      MPI_Reduce_local, of operands that are in a cache, and of operands that are not
 *
 * Between sizes of which one is sent without waiting for the receiver and the other is not, more sizes are measured,
 * until two are neighbours: the eager threshold.
 *
 * Round trips and trains begin when the network is in its lasting state. A network whose rate a token bucket limits is
 * faster after a pause; what a part of few exchanges took of that would depend on how many there are. So with a
 * settling time (start.h) the pair first sends for twice that time, which is not timed.
 *
 * Sources: T. Hoefler, A. Lichei, W. Rehm, "Low-Overhead LogGP Parameter Assessment for Modern Interconnection
 * Networks", 2007 (PRTT, o of the sender, g, G); T. Kielmann, H. E. Bal, K. Verstoep, "Fast Measurement of LogP
 * Parameters for Message Passing Platforms", 2000 (o of the receiver).
 */
#pragma once

#include "changes.h"
#include "program.h"

#include <mpi.h>
#include <stdint.h>

enum { LOGGP_PAIR, LOGGP_MESSAGE, LOGGP_AXES };
enum loggp_pair { LOGGP_WITHIN, LOGGP_BETWEEN, LOGGP_PAIRS };

/* Messages of a train: n. */
enum { LOGGP_TRAIN = 16 };

/* A message that only keeps the network busy. */
enum { LOGGP_FILLER_BYTES = 65536 };

struct loggp {
    struct program *program;
    const int64_t *message_bytes;
    size_t message_count;
    int64_t pairs[LOGGP_PAIRS]; /* those that are measured */
    int partners[LOGGP_PAIRS];  /* the rank that rank 0 exchanges messages with */
    size_t pair_count;
    size_t pair;                 /* on rank 0: the one that is being measured, by index */
    changes *changes;            /* on rank 0: its sizes; NULL before the first point and after the last one */
    MPI_Comm comms[LOGGP_PAIRS]; /* MPI_COMM_NULL: this rank is not of the pair */
    unsigned char *filler;       /* LOGGP_FILLER_BYTES; see end_fast_beginning */
    unsigned char *sent;
    unsigned char *received;
    double *operands; /* of reductions: larger than the caches */
    size_t operand_count;
    size_t next_operand;
    int64_t wrong; /* messages that arrived with other contents */
    struct {
        MPI_Comm comm;
        int message_bytes;
        int rank;            /* in comm: 0 begins, 1 answers */
        int64_t round_trips; /* of a part */
        int64_t trains;
        int64_t units; /* of the work of a delay */
        int64_t reductions;
        unsigned char mark; /* of this repetition: the first and the last byte of its messages */
    } point;
};

extern const struct option_choice loggp_pair_choices[];

/* Collective: finds the ranks that rank 0 can exchange messages with, of the pairs that were asked for (an empty list:
 * all). Needs two ranks. */
void loggp_find_pairs(struct loggp *o, const struct option_list *asked);

extern const struct sampler_kind loggp_points;

/* For struct program_kind; the context is a struct loggp. */
bool loggp_begin(struct program *program, void *context, sampler *s, char *reason, size_t reason_size);
bool loggp_end(struct program *program, void *context, char *reason, size_t reason_size);
