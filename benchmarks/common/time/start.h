/*
 * start - all ranks begin at the same moment: a deadline on the global clock, agreed anew every time (Denis 2022,
 * section 4.2); or, where no clock can be had, when they leave a dissemination barrier.
 *
 * Two steps. start_agree: the ranks agree on a deadline, and at the same price learn whether any of them was late at
 * the start before. start_spin: wait for it. A rank is late that comes to the deadline after it has passed, or that
 * leaves the spin too long after it (a preemption); the repetition is then thrown away by all, that one alone. Never a
 * fixed period: one preemption would make all later starts late.
 *
 * Slack (how far ahead the deadline is) is learnt, alike on all ranks, from how long the latest starts took from the
 * last rank's coming to the slowest one's standing at the line: twice what most of them needed. The tolerance for
 * leaving late (tolerance.h) is learnt as well, by each rank, down to what start_begin was given. What it let through
 * shows in the samples' start_imbalance_ns.
 *
 * Settling: a network that has been idle is faster for a while (a token bucket has filled, queues have drained), and
 * idle it is while computation alone is timed. With a settling time every start follows one in which nothing is sent,
 * so that all timed parts find the network in one state. A barrier leaves none.
 */
#ifndef CAMPAIGN_START_H
#define CAMPAIGN_START_H

#include "clock.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct start_line start_line;

enum start_method { START_DEADLINE, START_BARRIER };

/* "deadline", "barrier": the record schema's words. */
const char *start_method_name(enum start_method method);

/* START_DEADLINE becomes START_BARRIER where the clock has been refused, also later. */
start_line *start_create(MPI_Comm world, const clock_model *clock, enum start_method method);

/* Deadlines are at least this far ahead. Alike on all ranks; 0 at first. */
void start_settle(start_line *line, int64_t settle_ns);
void start_destroy(start_line *line);

/* What the next start is. */
enum start_method start_method_of(const start_line *line);

/* tolerance_ns: how long after the deadline a rank may leave the spin on a quiet machine. Also forgets earlier
 * lateness. */
void start_begin(start_line *line, int64_t tolerance_ns);

/* Collective. false (on all ranks): some rank was late at the start before; there is no deadline then, begin the
 * repetition again. Nobody is late at a barrier. */
bool start_agree(start_line *line);

/* Spins to the deadline, or passes the barrier (collective then). Returns the local time at which it ended: the time of
 * the start. */
int64_t start_spin(start_line *line);

/* Whether this rank was late at the last start; reading it tells nobody. To end a repetition: combine it over ranks,
 * then call start_forget. */
bool start_was_late(const start_line *line);
void start_forget(start_line *line);

#endif
