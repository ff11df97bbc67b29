#include "calls.h"

#include "fail_mpi.h"
#include "timer.h"

#include <mpi.h>

enum { MOST_CALLS = 10000000, MOST_GROWTH = 16, MOST_TRIES = 20 };

/* Returns the time of so many calls, ns, on the slowest rank: the shortest of a few readings, so that one in which a
 * rank was preempted does not count. A few calls are read more often: a time slice of another process is longer than
 * they are. */
static int64_t time_calls(calls_make *make, void *context, int64_t target_ns, int64_t calls) {
    enum { FEW_CALLS = 100, READINGS_OF_FEW = 10, READINGS = 2 };
    int64_t shorter = INT64_MAX;
    for (int i = 0; i < (calls < FEW_CALLS && shorter > target_ns / 2 ? READINGS_OF_FEW : READINGS); i++) {
        MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
        const int64_t began = timer_now_ns();
        make(context, calls);
        int64_t taken = timer_now_ns() - began;
        MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &taken, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD));
        shorter = taken < shorter ? taken : shorter;
    }
    return shorter;
}

int64_t calls_search(calls_make *make, void *context, int64_t target_ns, int64_t *taken_ns) {
    int64_t calls = 1;
    make(context, 1);
    *taken_ns = time_calls(make, context, target_ns, calls);
    for (int i = 0; i < MOST_TRIES && *taken_ns < target_ns && calls < MOST_CALLS; i++) {
        const double wanted = 1.1 * (double)target_ns / (double)(*taken_ns > 0 ? *taken_ns : 1);
        const double factor = wanted < MOST_GROWTH ? wanted : MOST_GROWTH;
        const int64_t more = (int64_t)(factor * (double)calls) + 1;
        calls = more < MOST_CALLS ? more : MOST_CALLS;
        *taken_ns = time_calls(make, context, target_ns, calls);
    }
    return calls;
}
