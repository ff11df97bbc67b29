/*
 * A library that starts a thread when it needs one, for tests: LD_PRELOAD this, and every rank's first call of
 * LATE_CALL (MPI_Comm_split_type, the first after MPI_Init, or MPI_Ibcast) starts a thread named `late` that uses a CPU
 * for ever.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *spin(void *unused) {
    volatile unsigned long turns = 0;
    for (;;) {
        turns++;
    }
    return NULL;
}

static void enter(const char *call) {
    static int started;
    const char *chosen = getenv("LATE_CALL");
    pthread_t thread;
    if (started || chosen == NULL || strcmp(call, chosen) != 0) {
        return;
    }
    started = 1;
    if (pthread_create(&thread, NULL, spin, NULL) != 0 || pthread_setname_np(thread, "late") != 0 ||
        pthread_detach(thread) != 0) {
        fprintf(stderr, "late_preload: no thread\n");
        abort();
    }
}

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made) {
    enter("MPI_Comm_split_type");
    return PMPI_Comm_split_type(comm, type, key, info, made);
}

int MPI_Ibcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *request) {
    enter("MPI_Ibcast");
    return PMPI_Ibcast(buffer, count, type, root, comm, request);
}
