/*
 * start - lets all ranks begin at the same moment: at a deadline on the global clock that they agree on before every
 * start (Denis 2022, section 4.2), or, where there is no common clock, when they leave a dissemination barrier.
 *
 * A start has two steps. In start_agree the ranks agree on a deadline and learn, with the same message, whether any of
 * them was late at the start before. In start_spin they wait for the deadline. A rank is late when it reaches
 * start_spin after the deadline, or when it leaves the spin too long after the deadline because it was preempted. The
 * caller marks that repetition; its times run from the deadline, so that what made the rank late counts. There is no
 * fixed period: with one, a single preemption would make all later starts late.
 *
 * The slack, which is how far ahead the deadline is, is learnt, and is the same on all ranks: twice the time that most
 * of the latest starts took from the moment when the last rank came to the agreement until the slowest rank stood
 * ready. Each rank also learns its tolerance for leaving late (tolerance.h), down to the value given to start_begin.
 * The samples' start_imbalance_ns shows what the tolerance let through.
 *
 * Settling: a network that was idle is faster for a while (a token bucket has filled, queues have drained), and it is
 * idle while computation alone is timed. With a settling time nothing is sent for that long before every start, so that
 * all timed parts find the network in the same state. At a barrier there is no settling time.
 */
#pragma once

#include "clock.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct start_line start_line;

enum start_method { START_DEADLINE, START_BARRIER };

/* Returns the record schema's word: "deadline" or "barrier". */
const char *start_method_name(enum start_method method);

/* Collective over world: creates a start line. START_DEADLINE becomes START_BARRIER from the moment when the clock is
 * refused. */
start_line *start_create(MPI_Comm world, const clock_model *clock, enum start_method method);

/* Sets the settling time, ns: deadlines are at least this far ahead. It must be the same on all ranks; 0 at first. */
void start_settle(start_line *line, int64_t settle_ns);
void start_destroy(start_line *line);

/* Returns the method of the next start. */
enum start_method start_method_of(const start_line *line);

/* Begins a sequence of starts and forgets earlier lateness. tolerance_ns: how long after the deadline a rank may leave
 * the spin on a quiet machine. */
void start_begin(start_line *line, int64_t tolerance_ns);

/* What became of a start, the same on all ranks. */
enum start_fate {
    START_PUNCTUAL,
    START_LATE,  /* a rank was late */
    START_SPOILT /* start_spoil: what began there must be done again */
};

/* Collective: agrees on the next deadline. Returns the fate of the start before; at a barrier nobody is late. */
enum start_fate start_agree(start_line *line);

/* Spins to the deadline, or passes the barrier, which is collective. Returns the time of the start: the local time when
 * the spin or the barrier ended. */
int64_t start_spin(start_line *line);

/* Collective: all ranks begin something that is not timed, after a barrier and the settling time. Starts know nothing
 * of it. */
void start_untimed(start_line *line);

/* Returns the moment of the last start that all ranks agreed on, local time: the deadline. A rank may have begun later,
 * by as much as the tolerance allowed. At a barrier: when this rank left it. */
int64_t start_moment(const start_line *line);

/* Notes that what began at the last start went another way than planned on this rank, so that its times mean nothing.
 */
void start_spoil(start_line *line);

/* Returns the last start's fate on this rank; other ranks do not learn it by this. After the last start of a
 * repetition: take the largest over ranks, then call start_forget. */
enum start_fate start_fate_of(const start_line *line);
void start_forget(start_line *line);
