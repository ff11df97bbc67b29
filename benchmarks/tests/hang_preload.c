/*
 * A fault for tests: LD_PRELOAD this, and a rank never returns from its k-th call of an MPI function.
 * HANG_RANK (default 1), HANG_CALL (MPI_Init_thread, MPI_Irecv, MPI_Wait, MPI_Test or MPI_Finalize; default MPI_Wait),
 * HANG_WAIT (k, default 1). In MPI_Init_thread, where no rank is known, all hang. HANG_MICROSECONDS: every call from
 * the k-th on takes that much longer instead. HANG_FILE: calls count only once this file exists. HANG_SPARSE: only
 * calls count of which the last but one was this many milliseconds ago or more.
 */
#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static atomic_long calls; /* MPI_Test is called by a helper thread */

static long setting(const char *name, long otherwise) {
    const char *text = getenv(name);
    return text != NULL ? strtol(text, NULL, 10) : otherwise;
}

static bool chosen(const char *call) {
    const char *name = getenv("HANG_CALL");
    return strcmp(call, name != NULL ? name : "MPI_Wait") == 0;
}

static long long milliseconds(void) {
    struct timespec now;
    return clock_gettime(CLOCK_MONOTONIC, &now) == 0 ? (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000 : 0;
}

/* Of a call of one thread's. */
static bool is_sparse(void) {
    static long long last_but_one, last;
    const long long now = milliseconds();
    const bool sparse = now - last_but_one >= setting("HANG_SPARSE", 0);
    last_but_one = last;
    last = now;
    return sparse;
}

static void enter(const char *call) {
    int rank = -1;
    if (!chosen(call) || !is_sparse()) {
        return;
    }
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char *file = getenv("HANG_FILE");
    if (rank != setting("HANG_RANK", 1) || (file != NULL && access(file, F_OK) != 0) ||
        ++calls < setting("HANG_WAIT", 1)) {
        return;
    }
    const long longer = setting("HANG_MICROSECONDS", 0);
    while (longer == 0) {
        pause();
    }
    usleep((useconds_t)longer);
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    while (chosen("MPI_Init_thread")) {
        pause();
    }
    return PMPI_Init_thread(argc, argv, required, provided);
}

int MPI_Irecv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request *request) {
    int arrived;
    enter("MPI_Irecv");
    /* What arrived meanwhile is known, as after a late start: before that, a rank is inside MPI. */
    if (chosen("MPI_Irecv")) {
        PMPI_Iprobe(source, tag, comm, &arrived, MPI_STATUS_IGNORE);
    }
    return PMPI_Irecv(buffer, count, type, source, tag, comm, request);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status) {
    enter("MPI_Wait");
    return PMPI_Wait(request, status);
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
    enter("MPI_Test");
    return PMPI_Test(request, flag, status);
}

int MPI_Finalize(void) {
    enter("MPI_Finalize");
    return PMPI_Finalize();
}
