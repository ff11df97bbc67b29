/*
 * cutoff - finds up to which size what METHOD_AUTO or METHOD_PAPER takes for small messages is not slower than what it
 * takes for larger ones (Zhou et al. 2020, section 5.2.4, figure 15).
 */
#include "collective.h"
#include "error.h"

#include <string.h>

enum { SMALLEST_BYTES = 64, LARGEST_BYTES = 65536, CALLS = 20, BATCHES = 9 };

/* A size takes no further batches after this time: where ranks share cores, a single call can take milliseconds. */
static const double ENOUGH_SECONDS = 0.25;

static int make_calls(hybrid_memory *memory, size_t bytes, enum hybrid_method method) {
    for (int i = 0; i < CALLS; i++) {
        void *own = NULL;
        TRY(hybrid_write_input(memory, bytes, &own));
        memset(own, 0, bytes);
        TRY(hybrid_allreduce(memory, bytes / sizeof(double), MPI_DOUBLE, MPI_SUM, method));
        TRY(hybrid_read_end(memory));
    }
    return MPI_SUCCESS;
}

/* Returns in *seconds the time of so many calls on the slowest rank. */
static int time_batch(hybrid_memory *memory, size_t bytes, enum hybrid_method method, double *seconds) {
    MPI_Comm all = memory->comm->all;
    TRY_MPI(MPI_Barrier(all));
    const double began = MPI_Wtime();
    const int code = make_calls(memory, bytes, method);
    *seconds = MPI_Wtime() - began;
    TRY(comm_share_error(all, code));
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, seconds, 1, MPI_DOUBLE, MPI_MAX, all));
    return MPI_SUCCESS;
}

/* The shortest of several batches of either, at least one, which take turns. All ranks see the same times, and so make
 * the same number of batches. */
static int compare(hybrid_memory *memory, size_t bytes, enum hybrid_method small, enum hybrid_method large,
                   bool *not_slower) {
    double shortest[2] = {0, 0};
    double spent = 0;
    for (int batch = 0; batch < 2 * BATCHES && (batch < 2 || spent < ENOUGH_SECONDS); batch++) {
        double seconds = 0;
        TRY(time_batch(memory, bytes, batch % 2 == 0 ? small : large, &seconds));
        double *shorter = &shortest[batch % 2];
        spent += seconds;
        *shorter = batch < 2 || seconds < *shorter ? seconds : *shorter;
    }
    *not_slower = shortest[0] <= shortest[1];
    return MPI_SUCCESS;
}

/* Returns in *found the largest size up to which the small method is not slower; 0 where it is at the smallest. */
static int find(hybrid_memory *memory, enum hybrid_method small, enum hybrid_method large, size_t *found) {
    bool not_slower = true;
    *found = 0;
    for (size_t bytes = SMALLEST_BYTES; bytes <= LARGEST_BYTES && not_slower; bytes *= 2) {
        TRY(compare(memory, bytes, small, large, &not_slower));
        *found = not_slower ? bytes : *found;
    }
    return MPI_SUCCESS;
}

int hybrid_comm_find_cutoff(hybrid_comm *comm, enum hybrid_method method, size_t *cutoff_bytes) {
    hybrid_memory *memory = NULL;
    TRY(comm_check(comm));
    if (cutoff_bytes == NULL || (method != HYBRID_METHOD_AUTO && method != HYBRID_METHOD_PAPER)) {
        return error_set(MPI_ERR_ARG, "hybrid_comm_find_cutoff: the methods with a cut-off are HYBRID_METHOD_AUTO and "
                                      "HYBRID_METHOD_PAPER, and the cut-off needs a place");
    }
    const enum hybrid_method small = reduce_divided(comm, &collective_allreduce, method, true);
    const enum hybrid_method large = reduce_divided(comm, &collective_allreduce, method, false);
    size_t found = comm->cutoff_bytes;
    if (small != large) {
        TRY(hybrid_memory_create(comm, LARGEST_BYTES / sizeof(double), sizeof(double), HYBRID_REDUCTION, &memory));
        const int code = find(memory, small, large, &found);
        const int freed = hybrid_memory_free(&memory);
        TRY(code);
        TRY(freed);
    }
    comm->cutoff_bytes = found;
    *cutoff_bytes = found;
    return MPI_SUCCESS;
}
