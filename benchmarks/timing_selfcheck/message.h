/*
 * message - the communication that is timed: MPI_Ibcast from rank 0, followed at once by MPI_Wait (Denis 2022, section 5.1).
 *
 * What is sent changes every time, and every receiver checks all of it after the timed part.
 */
#ifndef CAMPAIGN_MESSAGE_H
#define CAMPAIGN_MESSAGE_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sizes are multiples of this, and at most that. */
#define MESSAGE_ELEMENT 8
#define MESSAGE_MOST_BYTES ((uint64_t)INT32_MAX * MESSAGE_ELEMENT)

/* Of the contents. */
#define MESSAGE_SEED 1

typedef struct message message;

message *message_create(MPI_Comm world);
void message_destroy(message *m);

/* Room for this size, every page touched; the next contents. */
void message_prepare(message *m, uint64_t bytes);

/* Collective, timed: call and wait. */
void message_transfer(message *m);

/* Collective (a barrier first: a rank that is done must not load the memory of one that is not). Wrong elements so far, here. */
uint64_t message_check(message *m);

/* One line about the first of them. */
const char *message_fault_text(const message *m);

#endif
