/*
 * clock - gives all ranks one common time, that of rank 0's clock (Denis 2022, section 4.2).
 *
 * Ranks that read one clock (same boot of the same kernel, same time namespace, and no offset that an exchange of
 * messages could see) form a group and are not corrected against each other, even with a network between them. The
 * first rank of every group measures the offset of its clock to rank 0's: from the shortest of many round trips, along
 * a binomial tree from rank 0, so that ceil(log2 groups) rounds are enough. The trips go through sockets, stamped by
 * the kernel (echo.h), because a progress thread may delay messages of MPI by milliseconds; only where no socket
 * connects they are such messages. Within a group as many rounds verify that its ranks read one clock.
 *
 * The offset of a clock is modelled as a line (clock_fit.h). Timestamps are interpolated between the synchronisation
 * before and the one after them. Deadlines are extrapolated from the latest synchronisation: at most as far ahead as
 * the line's baseline is long, and only as long as the residual seen so far keeps the error within a microsecond.
 * clock_due says when to synchronise again.
 *
 * A clock that goes backwards or steps, or whose drift is not credible, is refused: from then on there is no global
 * time, and clock_quality's refusal says which rank's clock and why.
 *
 * Times are int64_t in ns. A "local" time is timer_now_ns of this process, a "global" time is that of rank 0's clock.
 */
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct clock_model clock_model;

enum clock_method {
    CLOCK_SHARED,       /* all ranks read one clock: no rank is corrected */
    CLOCK_INTERPOLATED, /* several clocks, corrected to rank 0's */
    CLOCK_NONE          /* refused: no global time */
};

/* "shared", "interpolated", "none": the record schema's words. */
const char *clock_method_name(enum clock_method method);

/* How good the synchronisation is. The values are the same on all ranks except where a comment says otherwise. */
struct clock_quality {
    enum clock_method method;
    const char *refusal; /* why there is no clock: one line that names the rank; "" otherwise. Owned by the model */
    int clocks;          /* distinct clocks among the ranks */
    int rounds;          /* of messages, per synchronisation */
    int64_t synchronisations;
    double seconds;           /* time that all synchronisations took, on this rank */
    double residual_ns;       /* of the latest synchronisation: see clock_synchronise */
    double worst_residual_ns; /* the largest since clock_forget_residual or clock_create */
    double shortest_trip_ns;  /* the largest, over pairs, of the mean of their shortest round trips: the offset of one
                                 rank of a pair to the other is known to within half of it */
    double longest_trip_ns;   /* the largest shortest_trip_ns since clock_create */
    double baseline_seconds;  /* over which the drift was measured; 0 where one clock is shared */
    double drift_ppm;         /* the largest drift of a clock against rank 0's, by magnitude */
};

/*
 * Collective over world: creates the model and synchronises; where there are several clocks, synchronises again after a
 * second to know their drift. identity: a text that is equal on ranks that read one clock as far as the system tells
 * (placement_clock_identity).
 */
clock_model *clock_create(MPI_Comm world, const char *identity);

/* Creates a model without a clock, for a program that never compares times of different ranks: its method is CLOCK_NONE
 * and its refusal is "". */
clock_model *clock_create_none(void);
void clock_destroy(clock_model *model);

/*
 * Collective: measures the offsets and updates the model. The residual is the largest disagreement, over ranks, between
 * the offset that the line predicted for this moment (0 where there was no line yet) and the measured offset; between
 * ranks that share a clock it is the offset that the exchange saw beyond the uncertainty of its round trips. Returns
 * false on all ranks where a clock is refused, now or before.
 */
bool clock_synchronise(clock_model *model);

/* Resets worst_residual_ns, at the beginning of a part of the run whose own worst residual is to be known. */
void clock_forget_residual(clock_model *model);

/* Returns in how many seconds the clock must be synchronised; infinity: never. Valid on rank 0, like clock_due. */
double clock_left_seconds(const clock_model *model);

/* Returns whether the clock must be synchronised before anything more is extrapolated. Valid on rank 0, which tells the
 * others. */
bool clock_due(const clock_model *model);

/* Collective: synchronises and sleeps in turn until the drift is measured over at least so many seconds; returns at
 * once where one clock is shared. A drift beyond 500 ppm is measured anew, and refused in the end. Returns false where
 * a clock is refused. */
bool clock_establish(clock_model *model, double baseline_seconds);

/* How far the common time was off: the largest value over ranks, ns. */
struct clock_residual {
    double with_drift_ns;
    double without_drift_ns; /* if the offset were constant since the latest synchronisation */
};

/* Collective: measures the offsets and compares them with the model, which stays as it is. Between ranks that share a
 * clock the whole offset seen is measurement error. Both values are NAN without a clock. */
struct clock_residual clock_verify(clock_model *model);

struct clock_quality clock_quality_of(const clock_model *model);

/* Converts a local timestamp to global time by the line as it is now: for decisions while a point runs. */
int64_t clock_to_global(const clock_model *model, int64_t local);

/* Converts a local timestamp that lies between the last two synchronisations to global time. */
int64_t clock_interpolate(const clock_model *model, int64_t local);

/* Converts a global time to this rank's local time. */
int64_t clock_to_local(const clock_model *model, int64_t global);
