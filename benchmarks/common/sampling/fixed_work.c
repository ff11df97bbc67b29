#include "fixed_work.h"

#include "fail_mpi.h"
#include "phase.h"
#include "timer.h"

#include <math.h>

enum { READINGS = 15, TRIES = 4 };

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

/* Returns the work that takes unit_ns if `size` takes `taken`. */
static uint64_t scaled(const struct compute_kernel *kernel, int64_t unit_ns, uint64_t size, int64_t taken) {
    const double wanted = (double)size * pow((double)unit_ns / (double)taken, 1 / kernel->exponent);
    const double steps = round((wanted - (double)kernel->least) / (double)kernel->step);
    return kernel->least + (uint64_t)fmax(steps, 0) * kernel->step;
}

struct fixed_work fixed_work_create(compute_team *team, enum compute_kind kind, int64_t unit_ns) {
    const struct compute_kernel *kernel = &compute_kernels[kind];
    struct fixed_work work = {.team = team, .work_size = kernel->first_guess};
    phase_enter(PHASE_COMPUTATION_ALONE);
    for (int i = 0; i < TRIES; i++) {
        work.work_size = scaled(kernel, unit_ns, work.work_size, shortest(team, work.work_size));
        MPI_CHECK(MPI_Bcast(&work.work_size, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD));
    }
    work.unit_ns = shortest(team, work.work_size);
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &work.unit_ns, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD));
    return work;
}

int64_t fixed_work_units(const struct fixed_work *work, int64_t time_ns) {
    return time_ns / work->unit_ns + 1;
}

void fixed_work_do(const struct fixed_work *work, int64_t units) {
    for (int64_t i = 0; i < units; i++) {
        compute_run(work->team, work->work_size, NULL);
    }
}
