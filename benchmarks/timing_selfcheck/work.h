/*
 * work - the section "work": measures how well fixed work can be timed here: a computation (one DGEMM per thread) and a
 * communication (MPI_Ibcast and MPI_Wait), with sizes that take a few target times (Denis 2022, section 5.1).
 *
 * A sample begins with a start at a deadline; it is thrown away where a rank was late. The time of a computation is
 * that of the slowest thread of all ranks; the time of a communication is max(end) - min(start) over ranks, or without
 * a clock the slowest rank's own time.
 */
#pragma once

#include "session.h"

/* What the record has of its points: of computations, and of communications, which have the same fields. */
extern const struct sampler_kind work_points[];

/* Sets what was left out of the options of this section. One line in error where they contradict each other. */
void work_complete(struct settings *s, char *error, size_t error_size);

/* Plans the session's work. collective: that of the communication; a single rank has none. */
void work_plan(struct session *session, const int64_t *collective);

/* Rank 0 reads the file of sizes where one was given. One line in error where it is of no use. */
void work_check_sizes(struct session *session, char *error, size_t error_size);

/* Collective: searches the sizes, or takes those of the session's table, and measures. Returns false where wrong data
 * arrived, or the record or the sizes file cannot be written; the session's reason says which. */
bool work_measure(struct session *session);
