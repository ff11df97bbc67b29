/*
 * A slower library for tests: LD_PRELOAD this, and every MPI_Wait takes SLOW_PERCENT (default 10) longer than it did: the CPU spins.
 * Of known size, it shows which slowdowns a comparison finds.
 */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

static long long now_ns(void) {
    struct timespec now;
    return clock_gettime(CLOCK_MONOTONIC, &now) == 0 ? (long long)now.tv_sec * 1000000000 + now.tv_nsec : 0;
}

int MPI_Wait(MPI_Request *request, MPI_Status *status) {
    const char *text = getenv("SLOW_PERCENT");
    const long long began = now_ns();
    const int result = PMPI_Wait(request, status);
    const long long ended = now_ns();
    const long long until = ended + (long long)((double)(ended - began) * (text != NULL ? strtod(text, NULL) : 10) / 100);
    while (now_ns() < until) {
        /* as a library that does more work */
    }
    return result;
}
