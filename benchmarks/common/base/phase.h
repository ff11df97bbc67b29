/*
 * phase - a note of what this rank is doing, for the line that a hung run ends with.
 *
 * The main thread takes notes, another one may read them at any time. A note is one relaxed store: cheap enough for the
 * timed parts, and no order is promised between notes, so that a description of a rank that goes on meanwhile may mix
 * two moments. Texts are kept by reference: string literals, or members of a static table. No MPI.
 */
#ifndef CAMPAIGN_PHASE_H
#define CAMPAIGN_PHASE_H

#include <stddef.h>
#include <stdint.h>

enum phase {
    PHASE_INIT, /* MPI_Init, where every program begins */
    PHASE_SETUP,
    PHASE_CLOCK,
    PHASE_START,
    PHASE_CALL,
    PHASE_COMPUTATION, /* beside communication */
    PHASE_COMPUTATION_ALONE,
    PHASE_TEST,
    PHASE_WAIT,
    PHASE_HELPER,
    PHASE_CHECK,
    PHASE_GATHER,
    PHASE_RECORD,
    PHASE_FINALIZE
};

void phase_enter(enum phase phase);
enum phase phase_now(void);

/* The collective at hand, by its MPI name; NULL: none. */
void phase_collective(const char *mpi_name);

/* The point at hand: its index, and what it is, such as "8 ms x 16 ms", which is copied and may be cut; "": nothing to
 * say. How many repetitions of it were begun. Before the first point there is calibration. */
void phase_point(int64_t index, const char *name);
void phase_repetition(int64_t repetition);

/* What was done when the last point was written: what the footer of a hung run says of it. */
struct phase_totals {
    int64_t measured_ns;
    int64_t synchronisations;
    int64_t synchronisation_ns;
};
void phase_total(const struct phase_totals *totals);
struct phase_totals phase_totals_so_far(void);

/* "MPI_Wait of MPI_Ialltoall: point 4 (8 ms x 16 ms), repetition 7", at most size - 1 characters. Any thread. */
void phase_describe(char *text, size_t size);

#endif
