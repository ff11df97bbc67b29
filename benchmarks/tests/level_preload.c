/*
 * A fault for tests: LD_PRELOAD this, and the MPI library provides MPI_THREAD_FUNNELED, whatever was asked of it.
 */
#include <mpi.h>

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    const int code = PMPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, provided);
    *provided = MPI_THREAD_FUNNELED;
    return code;
}
