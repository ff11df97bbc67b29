/*
 * known_truth - the clock and the start, over a real MPI, on clocks whose truth is known (artificial_clock). Prints one
 * JSON object: errors against the truth, in ns, the largest over ranks. What they must be, the tests of the commands
 * know.
 *
 *     mpiexec -n 4 known_truth BASELINE_SECONDS HOLD_SECONDS STARTS
 */
#include "artificial_clock.h"
#include "clock.h"
#include "fail.h"
#include "fail_mpi.h"
#include "json.h"
#include "placement.h"
#include "start.h"
#include "timer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static double largest(double value) {
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
    return value;
}

/* How wrong the global time is that this rank believes in now. */
static double error_now(const clock_model *clock) {
    int64_t real = artificial_clock_real_ns();
    return largest(fabs((double)(clock_to_global(clock, artificial_clock_at(real)) - real)));
}

/* The reverse, for deadlines. */
static double error_of_deadline(const clock_model *clock) {
    int64_t real = artificial_clock_real_ns() + INT64_C(1000000);
    return largest(fabs((double)(clock_to_local(clock, real) - artificial_clock_at(real))));
}

struct starts {
    int64_t *imbalance; /* real ns, of those that nobody was late at */
    int count;
    int late;
};

static struct starts make_starts(clock_model *clock, int wanted) {
    struct starts starts = {.imbalance = fail_alloc((size_t)wanted + 1, sizeof(int64_t))};
    start_line *line = start_create(MPI_COMM_WORLD, clock, START_DEADLINE);
    start_begin(line, 20000);
    for (int i = 0; i < wanted; i++) {
        start_agree(line);
        start_spin(line);
        int64_t real = artificial_clock_real_ns();
        int64_t all[3] = {real, -real, start_fate_of(line)};
        start_forget(line);
        MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, all, 3, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD));
        if (all[2] == 0) {
            starts.imbalance[starts.count++] = all[0] + all[1];
        } else {
            starts.late++;
        }
    }
    start_destroy(line);
    return starts;
}

/* The shortest time, real ns, from a rank's coming to the agreement to its start, where nothing is to be sent for
 * settle_ns. */
static double shortest_wait(clock_model *clock, int64_t settle_ns) {
    enum { STARTS = 20 };
    double shortest = INFINITY;
    start_line *line = start_create(MPI_COMM_WORLD, clock, START_DEADLINE);
    start_settle(line, settle_ns);
    start_begin(line, 20000);
    for (int i = 0; i < STARTS; i++) {
        const int64_t came = artificial_clock_real_ns();
        start_agree(line);
        start_spin(line);
        shortest = fmin(shortest, (double)(artificial_clock_real_ns() - came));
    }
    start_destroy(line);
    return -largest(-shortest);
}

int main(int argc, char **argv) {
    enum { STAMPS = 1000, SETTLE_NS = 3000000 };
    int level = 0;
    int rank = 0;
    fail_setup("known_truth", -1, NULL);
    if (argc != 4) {
        fail_die("usage: known_truth BASELINE_SECONDS HOLD_SECONDS STARTS");
    }
    const double baseline = strtod(argv[1], NULL);
    const double hold = strtod(argv[2], NULL);
    const int wanted = (int)strtol(argv[3], NULL, 10);
    placement *place = placement_create();
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS) {
        fail_die("MPI_Init_thread failed");
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fail_mpi_setup("known_truth", rank);
    placement_complete(place);
    char *identity = placement_clock_identity(place);
    clock_model *clock = clock_create(MPI_COMM_WORLD, identity);
    free(identity);

    json_line *line = json_line_create();
    json_open_object(line, NULL);
    if (clock_establish(clock, baseline)) {
        json_put_real(line, "error_at_once_ns", error_now(clock));
        json_put_real(line, "error_of_deadline_ns", error_of_deadline(clock));
        struct clock_residual residual = clock_verify(clock);
        json_put_real(line, "residual_at_once_ns", residual.with_drift_ns);
        struct starts starts = make_starts(clock, wanted);
        json_put_integers(line, "start_imbalance_ns", starts.imbalance, (size_t)starts.count);
        json_put_integer(line, "late", starts.late);
        free(starts.imbalance);
        json_put_real(line, "wait_to_settle_ns", shortest_wait(clock, SETTLE_NS));
        /* A point: a synchronisation, timestamps spread over the hold, a synchronisation, interpolation. */
        int64_t real[STAMPS];
        clock_synchronise(clock);
        for (int i = 0; i < STAMPS; i++) {
            real[i] = artificial_clock_real_ns();
            timer_sleep(hold / STAMPS);
        }
        if (clock_quality_of(clock).method != CLOCK_NONE) {
            json_put_real(line, "error_after_hold_ns", error_now(clock));
            residual = clock_verify(clock);
            json_put_real(line, "residual_after_hold_ns", residual.with_drift_ns);
            json_put_real(line, "residual_without_drift_ns", residual.without_drift_ns);
        }
        if (clock_synchronise(clock)) {
            double worst = 0;
            for (int i = 0; i < STAMPS; i++) {
                worst = fmax(worst, fabs((double)(clock_interpolate(clock, artificial_clock_at(real[i])) - real[i])));
            }
            json_put_real(line, "error_of_interpolation_ns", largest(worst));
        }
    }
    struct clock_quality quality = clock_quality_of(clock);
    json_put_string(line, "method", clock_method_name(quality.method));
    json_put_string(line, "refusal", quality.refusal);
    json_put_integer(line, "clocks", quality.clocks);
    json_put_integer(line, "rounds", quality.rounds);
    json_put_integer(line, "synchronisations", quality.synchronisations);
    json_put_real(line, "seconds", quality.seconds);
    json_put_real(line, "residual_ns", quality.residual_ns);
    json_put_real(line, "worst_residual_ns", quality.worst_residual_ns);
    json_put_real(line, "longest_trip_ns", quality.longest_trip_ns);
    json_put_real(line, "drift_ppm", quality.drift_ppm);
    json_close_object(line);
    if (rank == 0) {
        printf("%s\n", json_line_text(line));
    }
    json_line_destroy(line);
    clock_destroy(clock);
    placement_destroy(place);
    MPI_CHECK(MPI_Finalize());
    return 0;
}
