/*
 * cutoff - finds up to which size the method for small messages is as fast as another one (Zhou et al. 2020,
 * section 5.2.4, figure 15).
 */
#include "comm.h"
#include "error.h"

#include <string.h>

enum { SMALLEST_BYTES = 64, LARGEST_BYTES = 65536, CALLS = 20, BATCHES = 9 };

/* A size takes no further batches after this time: where ranks share cores, a single call can take milliseconds. */
static const double ENOUGH_SECONDS = 0.25;

/* Returns in *seconds the time of so many calls on the slowest rank. */
static int time_batch(hybrid_memory *memory, MPI_Comm all, size_t bytes, enum hybrid_method method, double *seconds) {
    TRY_MPI(MPI_Barrier(all));
    const double began = MPI_Wtime();
    for (int i = 0; i < CALLS; i++) {
        void *own = NULL;
        TRY(hybrid_write_input(memory, bytes, &own));
        memset(own, 0, bytes);
        TRY(hybrid_allreduce(memory, bytes / sizeof(double), MPI_DOUBLE, MPI_SUM, method));
        TRY(hybrid_read_end(memory));
    }
    *seconds = MPI_Wtime() - began;
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, seconds, 1, MPI_DOUBLE, MPI_MAX, all));
    return MPI_SUCCESS;
}

/* The shortest of several batches of either, at least one, which take turns. All ranks see the same times, and so make
 * the same number of batches. */
static int compare(hybrid_memory *memory, MPI_Comm all, size_t bytes, enum hybrid_method other, bool *not_slower) {
    double shortest[2] = {0, 0};
    double spent = 0;
    for (int batch = 0; batch < 2 * BATCHES && (batch < 2 || spent < ENOUGH_SECONDS); batch++) {
        double seconds = 0;
        TRY(time_batch(memory, all, bytes, batch % 2 == 0 ? HYBRID_METHOD_AUTO : other, &seconds));
        double *shorter = &shortest[batch % 2];
        spent += seconds;
        *shorter = batch < 2 || seconds < *shorter ? seconds : *shorter;
    }
    *not_slower = shortest[0] <= shortest[1];
    return MPI_SUCCESS;
}

int hybrid_comm_find_cutoff(hybrid_comm *comm, enum hybrid_method other, size_t *cutoff_bytes) {
    hybrid_memory *memory = NULL;
    size_t found = 0;
    TRY(comm_check(comm));
    if (cutoff_bytes == NULL || (other != HYBRID_METHOD_REDUCE && other != HYBRID_METHOD_SLICES)) {
        return error_set(MPI_ERR_ARG,
                         "the other method is HYBRID_METHOD_REDUCE or HYBRID_METHOD_SLICES, and the cut-off "
                         "needs a place");
    }
    TRY(hybrid_memory_create(comm, LARGEST_BYTES / sizeof(double), sizeof(double), HYBRID_REDUCTION, &memory));
    bool not_slower = true;
    comm->cutoff_bytes = LARGEST_BYTES; /* METHOD_AUTO takes what it takes up to the cut-off */
    for (size_t bytes = SMALLEST_BYTES; bytes <= LARGEST_BYTES && not_slower; bytes *= 2) {
        TRY(compare(memory, comm->all, bytes, other, &not_slower));
        found = not_slower ? bytes : found;
    }
    TRY(hybrid_memory_free(&memory));
    comm->cutoff_bytes = found;
    *cutoff_bytes = found;
    return MPI_SUCCESS;
}
