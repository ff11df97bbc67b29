/*
 * Ranks that come late to starts, for tests: LD_PRELOAD this, and every rank above 0 pauses after some of the
 * agreements on a start (MPI_Allreduce of three 64-bit integers). The pause is longer than any slack, and it comes
 * after so many agreements in a row that a repetition has only late starts.
 */
#include <mpi.h>
#include <time.h>

enum { AGREED_VALUES = 3, PERIOD = 40, PAUSES = 8, PAUSE_NS = 40000000 };

int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    static int agreements;
    int rank = 0;
    const int code = PMPI_Allreduce(from, to, count, type, op, comm);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank > 0 && count == AGREED_VALUES && type == MPI_INT64_T && agreements++ % PERIOD < PAUSES) {
        const struct timespec pause = {.tv_nsec = PAUSE_NS};
        nanosleep(&pause, NULL);
    }
    return code;
}
