#include "check.h"
#include "phase.h"

#include <stdint.h>

static void says(const char *expected) {
    char text[256];
    phase_describe(text, sizeof text);
    CHECK_TEXT(text, expected);
}

int main(void) {
    says("MPI_Init"); /* where every program begins */
    phase_enter(PHASE_SETUP);
    says("the set-up of the run");
    phase_enter(PHASE_COMPUTATION_ALONE);
    says("the computation");
    phase_enter(PHASE_WAIT);
    says("MPI_Wait: calibration");
    phase_collective("MPI_Ialltoall");
    says("MPI_Wait of MPI_Ialltoall: calibration");
    phase_point(4, "8 ms x 0.5 ms");
    phase_repetition(7);
    says("MPI_Wait of MPI_Ialltoall: point 4 (8 ms x 0.5 ms), repetition 7");
    phase_point(5, "8 ms x 16 ms");
    says("MPI_Wait of MPI_Ialltoall: point 5 (8 ms x 16 ms), repetition 0");
    phase_point(6, "");
    says("MPI_Wait of MPI_Ialltoall: point 6, repetition 0");
    phase_enter(PHASE_FINALIZE); /* no point any more */
    says("MPI_Finalize");
    CHECK(phase_now() == PHASE_FINALIZE);
    char little[4];
    phase_describe(little, sizeof little);
    CHECK_TEXT(little, "MPI");

    CHECK(phase_totals_so_far().measured_ns == 0);
    phase_total(&(struct phase_totals){.measured_ns = 3, .synchronisations = 2, .synchronisation_ns = 1});
    const struct phase_totals totals = phase_totals_so_far();
    CHECK(totals.measured_ns == 3 && totals.synchronisations == 2 && totals.synchronisation_ns == 1);
    return 0;
}
