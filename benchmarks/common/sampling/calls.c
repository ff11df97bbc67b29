#include "calls.h"

#include "fail_mpi.h"
#include "timer.h"

enum { MOST_GROWTH = 16, MOST_TRIES = 20 };

int64_t calls_time(MPI_Comm comm, calls_make *make, void *context, int64_t target_ns, int64_t calls) {
    enum { FEW_CALLS = 100, READINGS_OF_FEW = 10, READINGS = 2 };
    int64_t shorter = INT64_MAX;
    for (int i = 0; i < (calls < FEW_CALLS && shorter > target_ns / 2 ? READINGS_OF_FEW : READINGS); i++) {
        MPI_CHECK(MPI_Barrier(comm));
        const int64_t began = timer_now_ns();
        make(context, calls);
        int64_t taken = timer_now_ns() - began;
        MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &taken, 1, MPI_INT64_T, MPI_MAX, comm));
        shorter = taken < shorter ? taken : shorter;
    }
    return shorter;
}

int64_t calls_search(MPI_Comm comm, calls_make *make, void *context, int64_t target_ns, int64_t *taken_ns) {
    int64_t calls = 1;
    make(context, 1);
    *taken_ns = calls_time(comm, make, context, target_ns, calls);
    for (int i = 0; i < MOST_TRIES && *taken_ns < target_ns && calls < CALLS_MOST; i++) {
        const double wanted = 1.1 * (double)target_ns / (double)(*taken_ns > 0 ? *taken_ns : 1);
        const double factor = wanted < MOST_GROWTH ? wanted : MOST_GROWTH;
        const int64_t more = (int64_t)(factor * (double)calls) + 1;
        calls = more < CALLS_MOST ? more : CALLS_MOST;
        *taken_ns = calls_time(comm, make, context, target_ns, calls);
    }
    return calls;
}
