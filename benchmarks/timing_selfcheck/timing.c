#include "timing.h"

#include "fail_mpi.h"
#include "timer.h"

#include <inttypes.h>
#include <stdio.h>

/* That must ascend: about 50 ms. */
enum { READINGS = 2000000 };

bool timing_measure(struct session *session) {
    int64_t backwards_ns = 0;
    timer_runs_backwards(READINGS, &backwards_ns);
    int64_t whole[2] = {timer_resolution_ns(), backwards_ns};
    double overhead_ns = timer_overhead_ns();
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, whole, 2, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD));
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &overhead_ns, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));

    struct session_point point = session_open_point("timer");
    json_put_string(point.own, "name", TIMER_NAME);
    json_put_integer(point.own, "resolution_ns", whole[0]);
    json_put_real(point.own, "overhead_ns", overhead_ns);
    json_put_integer(point.own, "backwards_ns", whole[1]);
    const bool good = session_write_point(session, &point);
    if (session_prints(session)) {
        printf("timer          " TIMER_NAME ": resolution %" PRId64 " ns, a reading takes %.1f ns, ", whole[0],
               overhead_ns);
        if (whole[1] > 0) {
            printf("GOES BACKWARDS, by up to %" PRId64 " ns\n", whole[1]);
        } else {
            printf("never goes backwards\n");
        }
        fflush(stdout);
    }
    return good;
}
