#include "phase.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

/* The phases as a description names them; of: the collective follows, as in "MPI_Wait of MPI_Ialltoall". */
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
    _Atomic(const char *) point;
    _Atomic(int64_t) repetition;
    _Atomic(int64_t) measured_ns;
    _Atomic(int64_t) synchronisations;
    _Atomic(int64_t) synchronisation_ns;
} note = {.index = -1, .point = ""};

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

/* A name is overwritten only after so many further points: a thread that reads it has finished by then. */
enum { NAMES = 8, MOST_NAME = 96 };

void phase_point(int64_t index, const char *name) {
    static char names[NAMES][MOST_NAME];
    char *own = names[(uint64_t)index % NAMES];
    snprintf(own, MOST_NAME, "%s", name);
    atomic_store_explicit(&note.point, own, memory_order_release);
    NOTE(index, index);
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
    return (struct phase_totals){.measured_ns = NOTED(measured_ns),
                                 .synchronisations = NOTED(synchronisations),
                                 .synchronisation_ns = NOTED(synchronisation_ns)};
}

void phase_describe(char *text, size_t size) {
    const int phase = NOTED(phase);
    const char *collective = NOTED(collective);
    if (!phases[phase].of) {
        snprintf(text, size, "%s", phases[phase].text);
        return;
    }
    char what[128];
    snprintf(what, sizeof what, "%s%s%s", phases[phase].text, collective != NULL ? " of " : "",
             collective != NULL ? collective : "");
    const int64_t index = NOTED(index);
    if (index < 0) {
        snprintf(text, size, "%s: calibration", what);
        return;
    }
    const char *point = atomic_load_explicit(&note.point, memory_order_acquire);
    const bool named = point[0] != '\0';
    snprintf(text, size, "%s: point %" PRId64 "%s%s%s, repetition %" PRId64, what, index, named ? " (" : "", point,
             named ? ")" : "", NOTED(repetition));
}
