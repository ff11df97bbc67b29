/*
 * work - the section "work": measures how well fixed work can be timed here: a computation (one DGEMM per thread) and a
 * communication (MPI_Ibcast and MPI_Wait), with sizes that take a few target times (Denis 2022, section 5.1).
 *
 * A sample begins with a start at a deadline; it is thrown away where a rank was late. The time of a computation is
 * that of the slowest thread of all ranks; the time of a communication is max(end) - min(start) over ranks, or without
 * a clock the slowest rank's own time.
 */
#ifndef CAMPAIGN_WORK_H
#define CAMPAIGN_WORK_H

#include "session.h"

/* Collective: searches the sizes, or takes those of the session's table, and measures. Returns false where wrong data
 * arrived, or the record or the sizes file cannot be written; the session's reason says which. */
bool work_measure(struct session *session);

#endif
