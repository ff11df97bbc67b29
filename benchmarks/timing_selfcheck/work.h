/*
 * work - the section "work": how well fixed work can be timed here: a computation (one DGEMM per thread) and a
 * communication (MPI_Ibcast and MPI_Wait), of sizes that take a few target times (Denis 2022, section 5.1).
 *
 * A sample begins with a deadline start; one that a rank was late for is thrown away. Of a computation it is the
 * slowest thread of all ranks, of a communication max(end) - min(start) over ranks (without a clock: the slowest rank's
 * own time).
 */
#ifndef CAMPAIGN_WORK_H
#define CAMPAIGN_WORK_H

#include "session.h"

/* Collective. Finds the sizes, or takes those of the session's table, and measures. false: wrong data, or the record or
 * the sizes file cannot be written; reason says which. */
bool work_measure(struct session *session);

#endif
