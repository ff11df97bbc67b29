#include "delay.h"

#include "fail_mpi.h"
#include "phase.h"
#include "timer.h"

#include <math.h>

enum { UNIT_NS = 200000, READINGS = 15, TRIES = 4 };

/* Returns the shortest of a few times of the work, ns: those in which the thread was preempted do not count. */
static int64_t shortest(compute_team *team, uint64_t work_size) {
    int64_t least = INT64_MAX;
    compute_reserve(team, work_size);
    for (int i = 0; i < READINGS; i++) {
        const int64_t taken = compute_run(team, work_size, NULL);
        least = taken < least ? taken : least;
    }
    return least > 0 ? least : 1;
}

/* Returns the work that takes UNIT_NS if `size` takes `taken`. */
static uint64_t scaled(const struct compute_kernel *kernel, uint64_t size, int64_t taken) {
    const double wanted = (double)size * pow((double)UNIT_NS / (double)taken, 1 / kernel->exponent);
    const double steps = round((wanted - (double)kernel->least) / (double)kernel->step);
    return kernel->least + (uint64_t)fmax(steps, 0) * kernel->step;
}

struct delay delay_create(const struct program *program) {
    const struct compute_kernel *kernel = &compute_kernels[program->computation];
    struct delay delay = {.team = program->team, .work_size = kernel->first_guess};
    phase_enter(PHASE_COMPUTATION_ALONE);
    for (int i = 0; i < TRIES; i++) {
        delay.work_size = scaled(kernel, delay.work_size, shortest(delay.team, delay.work_size));
        MPI_CHECK(MPI_Bcast(&delay.work_size, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD));
    }
    delay.unit_ns = shortest(delay.team, delay.work_size);
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &delay.unit_ns, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD));
    return delay;
}

int64_t delay_units(const struct delay *delay, int64_t time_ns) {
    return time_ns / delay->unit_ns + 1;
}

void delay_compute(const struct delay *delay, int64_t units) {
    for (int64_t i = 0; i < units; i++) {
        compute_run(delay->team, delay->work_size, NULL);
    }
}
