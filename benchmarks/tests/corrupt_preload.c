/*
 * A fault for tests: LD_PRELOAD this, and one byte of what a rank received is flipped after its k-th MPI_Wait of a collective.
 * CORRUPT_RANK (default 1), CORRUPT_WAIT (default 1: the first), CORRUPT_BYTE (default 0: the first byte received).
 */
#include <mpi.h>
#include <stddef.h>
#include <stdlib.h>

static void *received;
static long waits;

static long setting(const char *name, long otherwise) {
    const char *text = getenv(name);
    return text != NULL ? strtol(text, NULL, 10) : otherwise;
}

int MPI_Ibcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *request) {
    received = buffer;
    return PMPI_Ibcast(buffer, count, type, root, comm, request);
}

int MPI_Ireduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm, MPI_Request *request) {
    received = receive;
    return PMPI_Ireduce(send, receive, count, type, op, root, comm, request);
}

int MPI_Iallreduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request *request) {
    received = receive;
    return PMPI_Iallreduce(send, receive, count, type, op, comm, request);
}

int MPI_Iallgather(const void *send, int count, MPI_Datatype type, void *receive, int receive_count, MPI_Datatype receive_type, MPI_Comm comm,
                   MPI_Request *request) {
    received = receive;
    return PMPI_Iallgather(send, count, type, receive, receive_count, receive_type, comm, request);
}

int MPI_Ialltoall(const void *send, int count, MPI_Datatype type, void *receive, int receive_count, MPI_Datatype receive_type, MPI_Comm comm,
                  MPI_Request *request) {
    received = receive;
    return PMPI_Ialltoall(send, count, type, receive, receive_count, receive_type, comm, request);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status) {
    int code = PMPI_Wait(request, status);
    int rank = -1;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (received != NULL && rank == setting("CORRUPT_RANK", 1) && ++waits == setting("CORRUPT_WAIT", 1)) {
        ((unsigned char *)received)[setting("CORRUPT_BYTE", 0)] ^= 0x10;
    }
    received = NULL;
    return code;
}
