/*
 * phase - notes what this rank is doing, for the line that a hung run ends with.
 *
 * The main thread writes the notes; another thread may read them at any time. A note is one relaxed store, which is
 * cheap enough for the timed parts. The order of the notes is not promised: a description of a rank that goes on
 * meanwhile may mix two moments. Texts are kept by reference and must be string literals or members of a static table.
 * No MPI.
 */
#pragma once

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

/* Notes the collective that is measured now, by its MPI name; NULL: none. */
void phase_collective(const char *mpi_name);

/* phase_point notes the point that is measured now: its index, and its name such as "8 ms x 16 ms", which is copied and
 * may be cut ("": it has none). phase_repetition notes how many of its repetitions have begun. Before the first point
 * the description says "calibration". */
void phase_point(int64_t index, const char *name);
void phase_repetition(int64_t repetition);

/* Totals of the run when the last point was written: the footer of a hung run has them. */
struct phase_totals {
    int64_t measured_ns;
    int64_t synchronisations;
    int64_t synchronisation_ns;
};
void phase_total(const struct phase_totals *totals);
struct phase_totals phase_totals_so_far(void);

/* Writes the description, such as "MPI_Wait of MPI_Ialltoall: point 4 (8 ms x 16 ms), repetition 7", into text, cut to
 * size - 1 characters. Any thread may call it. */
void phase_describe(char *text, size_t size);
