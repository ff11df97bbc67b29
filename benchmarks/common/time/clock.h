/*
 * clock - one time for all ranks: that of rank 0 (Denis 2022, section 4.2).
 *
 * Ranks that read one clock (the same boot of the same kernel, the same time namespace, and no offset that an exchange
 * could see) form a group and are not corrected against each other, even with a network between them. The first rank of
 * every group measures its clock's offset to rank 0's: from many round trips the shortest ones, along a binomial tree
 * from rank 0, so that all is known after ceil(log2 groups) rounds; then, within a group, as many rounds verify that
 * its clock is one.
 *
 * A clock follows a line (clock_fit). Timestamps are interpolated between the two synchronisations around them;
 * deadlines are extrapolated from the latest, never further than the line's baseline is long, and not for longer than
 * the residual seen so far lets them be trusted to a microsecond: clock_due says when to synchronise again.
 *
 * A clock that goes backwards, or that steps, is refused: there is no global time from then on, and clock_quality's
 * refusal says which rank's and why.
 *
 * Times in ns, int64_t: "local" is timer_now_ns of this process, "global" is rank 0's.
 */
#ifndef CAMPAIGN_CLOCK_H
#define CAMPAIGN_CLOCK_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct clock_model clock_model;

enum clock_method {
    CLOCK_SHARED,       /* one clock: nobody is corrected */
    CLOCK_INTERPOLATED, /* several, brought together */
    CLOCK_NONE          /* refused: no global time */
};

/* "shared", "interpolated", "none": the record schema's words. */
const char *clock_method_name(enum clock_method method);

/* What the synchronisation is worth, the same on all ranks except where said. */
struct clock_quality {
    enum clock_method method;
    const char *refusal; /* why there is no clock: one line that names the rank; "" otherwise. Owned by the model */
    int clocks;          /* distinct clocks among the ranks */
    int rounds;          /* of the exchange, per synchronisation */
    int64_t synchronisations;
    double seconds;           /* that they took, all together, on this rank */
    double residual_ns;       /* of the latest: see clock_synchronise */
    double worst_residual_ns; /* since clock_forget_residual, or the beginning */
    double shortest_trip_ns;  /* the largest, over pairs, of the mean of their shortest round trips: the offset of one
                                 rank of a pair to the other is known to within half of it */
    double longest_trip_ns;   /* the largest of these since clock_create: no offset rests on a worse one */
    double baseline_seconds;  /* that the drift rests on; 0 where one clock is shared */
    double drift_ppm;         /* the largest, in size, against rank 0's clock */
};

/*
 * Collective over world. identity: equal for ranks that read one clock as far as the system tells
 * (placement_clock_identity). Synchronises; where there are several clocks, again after a second, so that there is a
 * drift to extrapolate with.
 */
clock_model *clock_create(MPI_Comm world, const char *identity);

/* No clock, for who compares no times of different ranks: as if it were refused, but nobody asks for anything. */
clock_model *clock_create_none(void);
void clock_destroy(clock_model *model);

/*
 * Collective: measures the offsets. Its residual is the largest disagreement, over ranks, between what the line
 * predicted for this moment (where there was a line: 0 before) and what was measured; between ranks that share a clock,
 * the offset that the exchange saw beyond what its round trips leave open. false on all ranks: a clock was refused, now
 * or before.
 */
bool clock_synchronise(clock_model *model);

/* Where something begins whose own worst residual is to be known. */
void clock_forget_residual(clock_model *model);

/* On rank 0, for it to tell the others: nothing should be extrapolated any further without clock_synchronise. */
bool clock_due(const clock_model *model);

/* Collective: synchronises and sleeps until the drift rests on a baseline of at least these seconds; returns at once
 * where one clock is shared. false: refused. */
bool clock_establish(clock_model *model, double baseline_seconds);

/* Largest over ranks, ns. */
struct clock_residual {
    double with_drift_ns;
    double without_drift_ns; /* had the offset been taken for constant since the latest synchronisation */
};

/* Collective: measures the offsets and changes nothing. Between ranks that share a clock: the offset that was seen, all
 * of it measurement error. Both NAN without a clock. */
struct clock_residual clock_verify(clock_model *model);

struct clock_quality clock_quality_of(const clock_model *model);

/* Global time of a local timestamp by the line as of now (for decisions while a point runs). */
int64_t clock_to_global(const clock_model *model, int64_t local);

/* Global time of a local timestamp that lies between the last two synchronisations. */
int64_t clock_interpolate(const clock_model *model, int64_t local);

/* Local time at which the global clock will show this. */
int64_t clock_to_local(const clock_model *model, int64_t global);

#endif
