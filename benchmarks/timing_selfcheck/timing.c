#include "timing.h"

#include "fail_mpi.h"
#include "timer.h"

#include <inttypes.h>
#include <stdio.h>

/* That must ascend: about 50 ms. */
enum { READINGS = 2000000 };

struct row {
    const char *section;
    const char *name;
    int64_t resolution_ns;
    double overhead_ns;
    int64_t backwards_ns;
};

static const struct field parameter_fields[] = {
    SESSION_SECTION(struct row, "timer"),
    FIELDS_END,
};

static const struct field own_fields[] = {
    FIELD(struct row, name, "the local clock, as POSIX calls it; the others are of the rank where each is worst"),
    FIELD(struct row, resolution_ns, "the smallest step between two readings"),
    FIELD(struct row, overhead_ns, "the mean cost of one reading, in the best of a few series"),
    FIELD(struct row, backwards_ns, "the largest fall from one reading to the next; 0: it never fell"),
    FIELDS_END,
};

const struct sampler_kind timing_points = {.parameters = parameter_fields, .own = own_fields};

bool timing_measure(struct session *session) {
    int64_t backwards_ns = 0;
    timer_runs_backwards(READINGS, &backwards_ns);
    int64_t whole[2] = {timer_resolution_ns(), backwards_ns};
    double overhead_ns = timer_overhead_ns();
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, whole, 2, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD));
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &overhead_ns, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));

    const struct row row = {"timer", TIMER_NAME, whole[0], overhead_ns, whole[1]};
    const bool good = session_write_point(session, &timing_points, &row, (struct record_point){0});
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
