/*
 * A fault for tests: LD_PRELOAD this, and a rank never returns from its k-th MPI_Wait.
 * HANG_RANK (default 1), HANG_WAIT (default 1: the first).
 */
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

static long waits;

static long setting(const char *name, long otherwise) {
    const char *text = getenv(name);
    return text != NULL ? strtol(text, NULL, 10) : otherwise;
}

int MPI_Wait(MPI_Request *request, MPI_Status *status) {
    int rank = -1;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == setting("HANG_RANK", 1) && ++waits == setting("HANG_WAIT", 1)) {
        for (;;) {
            pause();
        }
    }
    return PMPI_Wait(request, status);
}
