#include "phase.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

/* What a rank hangs in; of: the collective is named after it, and the point. */
static const struct {
    const char *text;
    bool of;
} phases[] = {
    [PHASE_INIT] = {"MPI_Init", false},
    [PHASE_SETUP] = {"the set-up of the run", false},
    [PHASE_CLOCK] = {"the synchronisation of the clocks", false},
    [PHASE_START] = {"the common start", true},
    [PHASE_CALL] = {"the call", true},
    [PHASE_COMPUTATION] = {"the computation beside", true},
    [PHASE_COMPUTATION_ALONE] = {"the computation", false},
    [PHASE_TEST] = {"MPI_Test", true},
    [PHASE_WAIT] = {"MPI_Wait", true},
    [PHASE_HELPER] = {"the helper thread's MPI_Test", true},
    [PHASE_CHECK] = {"the check of the data", true},
    [PHASE_GATHER] = {"bringing the ranks' results together", false},
    [PHASE_RECORD] = {"writing the record", false},
    [PHASE_FINALIZE] = {"MPI_Finalize", false},
};

static struct {
    _Atomic(int) phase;
    _Atomic(const char *) collective;
    _Atomic(int64_t) index;
    _Atomic(int64_t) comm_target_ns;
    _Atomic(int64_t) comp_target_ns;
    _Atomic(int64_t) repetition;
    _Atomic(int64_t) measured_ns;
    _Atomic(int64_t) synchronisations;
    _Atomic(int64_t) synchronisation_ns;
} note = {.index = -1};

#define NOTE(member, value) atomic_store_explicit(&note.member, (value), memory_order_relaxed)
#define NOTED(member) atomic_load_explicit(&note.member, memory_order_relaxed)

void phase_enter(enum phase phase) {
    NOTE(phase, (int)phase);
}

enum phase phase_now(void) {
    return (enum phase)NOTED(phase);
}

void phase_collective(const char *mpi_name) {
    NOTE(collective, mpi_name);
}

void phase_point(int64_t index, int64_t comm_target_ns, int64_t comp_target_ns) {
    NOTE(index, index);
    NOTE(comm_target_ns, comm_target_ns);
    NOTE(comp_target_ns, comp_target_ns);
    NOTE(repetition, 0);
}

void phase_repetition(int64_t repetition) {
    NOTE(repetition, repetition);
}

void phase_total(const struct phase_totals *totals) {
    NOTE(measured_ns, totals->measured_ns);
    NOTE(synchronisations, totals->synchronisations);
    NOTE(synchronisation_ns, totals->synchronisation_ns);
}

struct phase_totals phase_totals_so_far(void) {
    return (struct phase_totals){
        .measured_ns = NOTED(measured_ns), .synchronisations = NOTED(synchronisations), .synchronisation_ns = NOTED(synchronisation_ns)};
}

void phase_describe(char *text, size_t size) {
    const int phase = NOTED(phase);
    const char *collective = NOTED(collective);
    if (!phases[phase].of) {
        snprintf(text, size, "%s", phases[phase].text);
        return;
    }
    char what[128];
    snprintf(what, sizeof what, "%s%s%s", phases[phase].text, collective != NULL ? " of " : "", collective != NULL ? collective : "");
    const int64_t index = NOTED(index);
    if (index < 0) {
        snprintf(text, size, "%s: calibration", what);
    } else {
        snprintf(text, size, "%s: point %" PRId64 " (%g ms x %g ms), repetition %" PRId64, what, index, (double)NOTED(comm_target_ns) / 1e6,
                 (double)NOTED(comp_target_ns) / 1e6, NOTED(repetition));
    }
}
