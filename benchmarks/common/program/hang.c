#include "program_internal.h"

#include "fail.h"
#include "phase.h"
#include "timer.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* LINES_SECONDS: time from the ranks' lines to the end of the group, because lines of other nodes take a moment.
 * GROUP_SECONDS: time until a process ends by itself where the group does not end. */
#define LINES_SECONDS 1.0
#define GROUP_SECONDS 5.0

static void end_process(int signal) {
    _exit(PROGRAM_FAILED);
}

/* Writes the footer of a hung run: what rank 0 knows without the other ranks and without its own main thread. What it
 * does not know is left empty or null; the totals are those of the last point that was written. */
static void close_record(struct program *program, record_file *record, const char *reason) {
    const struct phase_totals totals = phase_totals_so_far();
    const bool clockless = program->kind->clockless;
    const size_t ranks = (size_t)program->ranks;
    const int64_t **times = fail_alloc(ranks, sizeof *times);
    size_t *counts = fail_alloc(ranks, sizeof *counts);
    size_t *no_helpers = fail_alloc(ranks, sizeof *no_helpers);
    int64_t *bytes = fail_alloc(ranks, sizeof *bytes);
    int64_t *own = NULL;
    counts[0] = placement_mpi_thread_cpu(program->place, &own);
    times[0] = own;
    for (size_t i = 0; i < ranks; i++) {
        bytes[i] = RECORD_UNKNOWN;
    }
    const struct record_footer footer = {.reason = reason,
                                         .points = record_points(record),
                                         .wall_seconds = (double)(timer_now_ns() - program->began) / 1e9,
                                         .measured_seconds = (double)totals.measured_ns / 1e9,
                                         .clock_residual_ns = NAN,
                                         .clock_synchronisations = clockless ? RECORD_UNKNOWN : totals.synchronisations,
                                         .clock_synchronisation_seconds =
                                             clockless ? NAN : (double)totals.synchronisation_ns / 1e9,
                                         .clock_refusal = "",
                                         .ranks = ranks,
                                         .mpi_thread_cpu_ns = times,
                                         .mpi_thread_counts = counts,
                                         .helper_thread_cpu_ns = times,
                                         .helper_thread_counts = no_helpers,
                                         .tcp_bytes_sent = bytes};
    record_write_footer(record, &footer); /* where the disk refuses, the record is cut off */
    free(bytes);
    free(no_helpers);
    free(counts);
    free(times);
    free(own);
}

/* Runs while the main thread hangs or is slow. It uses nothing that the main thread may hold: no stream, no MPI before
 * MPI_Abort. */
void program_hangs(void *context) {
    struct program *program = context;
    const int rank = atomic_load(&program->known_rank);
    char where[256];
    char line[768];
    char reason[512];
    phase_describe(where, sizeof where);
    if (rank >= 0) {
        snprintf(line, sizeof line, "%s: rank %d hangs in %s\n", program->kind->name, rank, where);
    } else {
        char host[256] = "unknown";
        if (gethostname(host, sizeof host - 1) != 0) {
            snprintf(host, sizeof host, "unknown");
        }
        snprintf(line, sizeof line, "%s: a rank on %s hangs in %s\n", program->kind->name, host, where);
    }
    if (write(STDERR_FILENO, line, strlen(line)) < 0) {
        _exit(PROGRAM_FAILED); /* standard error is closed */
    }
    record_file *record = atomic_load_explicit(&program->unfinished, memory_order_acquire);
    if (rank == 0 && record != NULL && record_seize(record, LINES_SECONDS)) {
        snprintf(reason, sizeof reason, "not over after %g s (--limit-seconds): rank 0 hangs in %s",
                 program->settings.limit_seconds, where);
        close_record(program, record, reason);
    }
    timer_sleep(rank == 0 ? LINES_SECONDS : GROUP_SECONDS);
    if (rank == 0 && phase_now() != PHASE_FINALIZE) {
        /* The whole group, with this exit code. It may hang as well: it is called while another thread is inside MPI.
         * In MPI_Finalize there is nothing left to abort; a launcher ends the group when a process of it fails. */
        if (signal(SIGALRM, end_process) == SIG_ERR) {
            _exit(PROGRAM_FAILED);
        }
        alarm((unsigned)GROUP_SECONDS);
        MPI_Abort(MPI_COMM_WORLD, PROGRAM_FAILED);
    }
    _exit(PROGRAM_FAILED);
}
