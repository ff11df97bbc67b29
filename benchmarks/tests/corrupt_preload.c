/*
 * A fault for tests: LD_PRELOAD this, and one byte of what a rank received is flipped when a collective has completed,
 * nonblocking or persistent, or a persistent receive, in MPI_Wait, MPI_Waitall or MPI_Test; or a blocking MPI_Alltoall;
 * or a blocking MPI_Recv that has room for CORRUPT_RECV bytes (default: none); or an MPI_Allgather in place;
 * or, of a rank that is not the root, an MPI_Bcast of CORRUPT_BCAST bytes or more (default: none); or an MPI_Allreduce
 * of doubles, not in place, of CORRUPT_ALLREDUCE bytes or more (default: none); or, of the root, an MPI_Reduce of
 * CORRUPT_REDUCE bytes or more (default: none).
 *
 * CORRUPT_RANK (default 1; -1: every rank), CORRUPT_WAIT (default 1: the rank's first completion; 0: each),
 * CORRUPT_BYTE (default 0: the first byte of the receive buffer), CORRUPT_ELEMENTS (default 1: that byte only; n: a
 * byte in each of n elements from there on). CORRUPT_BARRIER=1: a barrier is one of the calling rank alone: it waits
 * for nobody.
 */
#include "nonblocking.h"

#include <dlfcn.h>
#include <limits.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *received; /* by the collective that is open */
static long waits;

/* Persistent requests and what they receive into. */
static struct known {
    MPI_Request request;
    void *receive;
} *known;
static size_t known_count;

static long setting(const char *name, long otherwise) {
    const char *text = getenv(name);
    return text != NULL ? strtol(text, NULL, 10) : otherwise;
}

/* The library's function of this name, in a pointer to a function. */
static void find(const char *name, void *function) {
    void *found = dlsym(RTLD_NEXT, name);
    if (found == NULL) {
        fprintf(stderr, "corrupt_preload: the MPI library has no %s\n", name);
        abort();
    }
    memcpy(function, &found, sizeof found);
}

static void remember(MPI_Request request, void *receive) {
    known = realloc(known, (known_count + 1) * sizeof *known);
    if (known == NULL) {
        abort();
    }
    known[known_count++] = (struct known){request, receive};
}

static struct known *recall(MPI_Request request) {
    for (size_t i = 0; i < known_count; i++) {
        if (known[i].request == request) {
            return &known[i];
        }
    }
    return NULL;
}

#define NONBLOCKING(name, receive, parameters, arguments)                                                              \
    int name(LIST parameters, MPI_Request *request) {                                                                  \
        int (*next)(LIST parameters, MPI_Request *);                                                                   \
        find(#name, &next);                                                                                            \
        received = (receive);                                                                                          \
        return next(LIST arguments, request);                                                                          \
    }

#define PERSISTENT(name, receive, parameters, arguments)                                                               \
    int name(LIST parameters, MPI_Info info, MPI_Request *request) {                                                   \
        int (*next)(LIST parameters, MPI_Info, MPI_Request *);                                                         \
        find(#name, &next);                                                                                            \
        const int code = next(LIST arguments, info, request);                                                          \
        remember(*request, (receive));                                                                                 \
        return code;                                                                                                   \
    }

/* Open MPI 4 has the persistent forms as MPIX_. */
#define FORMS(name, Name, receive, parameters, arguments)                                                              \
    NONBLOCKING(MPI_I##name, receive, parameters, arguments)                                                           \
    PERSISTENT(MPI_##Name##_init, receive, parameters, arguments)                                                      \
    PERSISTENT(MPIX_##Name##_init, receive, parameters, arguments)

static void *off_root(void *buffer, int root, MPI_Comm comm) {
    int rank = -1;
    PMPI_Comm_rank(comm, &rank);
    return rank == root ? NULL : buffer;
}

static MPI_Comm barrier_comm(MPI_Comm comm) {
    return setting("CORRUPT_BARRIER", 0) != 0 ? MPI_COMM_SELF : comm;
}

FORMS(barrier, Barrier, NULL, (MPI_Comm comm), (barrier_comm(comm)))
NONBLOCKING_COLLECTIVES(FORMS)

int MPI_Recv_init(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                  MPI_Request *request) {
    const int code = PMPI_Recv_init(buffer, count, type, source, tag, comm, request);
    remember(*request, buffer);
    return code;
}

int MPI_Start(MPI_Request *request) {
    const struct known *found = recall(*request);
    received = found != NULL ? found->receive : NULL;
    return PMPI_Start(request);
}

int MPI_Request_free(MPI_Request *request) {
    struct known *found = recall(*request);
    if (found != NULL) {
        *found = known[--known_count];
    }
    return PMPI_Request_free(request);
}

/* The open collective is over. */
static void corrupt(void) {
    const long chosen = setting("CORRUPT_RANK", 1);
    const long wait = setting("CORRUPT_WAIT", 1);
    int rank = -1;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (received != NULL && (rank == chosen || chosen < 0)) {
        waits++;
        for (long i = 0; (waits == wait || wait == 0) && i < setting("CORRUPT_ELEMENTS", 1); i++) {
            ((unsigned char *)received)[setting("CORRUPT_BYTE", 0) + 8 * i] ^= 0x10;
        }
    }
    received = NULL;
}

int MPI_Wait(MPI_Request *request, MPI_Status *status) {
    const int code = PMPI_Wait(request, status);
    corrupt();
    return code;
}

int MPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses) {
    const int code = PMPI_Waitall(count, requests, statuses);
    corrupt();
    return code;
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
    const int code = PMPI_Test(request, flag, status);
    if (*flag != 0) {
        corrupt();
    }
    return code;
}

/* Blocking calls that no program makes for its own purposes. */
int MPI_Alltoall(const void *send, int count, MPI_Datatype type, void *receive, int receive_count,
                 MPI_Datatype receive_type, MPI_Comm comm) {
    const int code = PMPI_Alltoall(send, count, type, receive, receive_count, receive_type, comm);
    received = receive;
    corrupt();
    return code;
}

/* Whether calls of so many elements are corrupted: the setting is the least number of bytes. */
static bool chosen_size(const char *name, int count, MPI_Datatype type) {
    int size = 0;
    PMPI_Type_size(type, &size);
    return (long)count * size >= setting(name, LONG_MAX);
}

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status) {
    const int code = PMPI_Recv(buffer, count, type, source, tag, comm, status);
    if (chosen_size("CORRUPT_RECV", count, type)) {
        received = buffer;
        corrupt();
    }
    return code;
}

int MPI_Sendrecv(const void *send, int count, MPI_Datatype type, int to, int send_tag, void *receive, int receive_count,
                 MPI_Datatype receive_type, int source, int tag, MPI_Comm comm, MPI_Status *status) {
    const int code =
        PMPI_Sendrecv(send, count, type, to, send_tag, receive, receive_count, receive_type, source, tag, comm, status);
    if (chosen_size("CORRUPT_RECV", receive_count, receive_type)) {
        received = receive;
        corrupt();
    }
    return code;
}

int MPI_Allgather(const void *send, int count, MPI_Datatype type, void *receive, int receive_count,
                  MPI_Datatype receive_type, MPI_Comm comm) {
    const int code = PMPI_Allgather(send, count, type, receive, receive_count, receive_type, comm);
    received = send == MPI_IN_PLACE ? receive : NULL;
    corrupt();
    return code;
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    const int code = PMPI_Bcast(buffer, count, type, root, comm);
    if (chosen_size("CORRUPT_BCAST", count, type)) {
        received = off_root(buffer, root, comm);
        corrupt();
    }
    return code;
}

int MPI_Allreduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    const int code = PMPI_Allreduce(send, receive, count, type, op, comm);
    if (send != MPI_IN_PLACE && type == MPI_DOUBLE && chosen_size("CORRUPT_ALLREDUCE", count, type)) {
        received = receive;
        corrupt();
    }
    return code;
}

int MPI_Reduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
    const int code = PMPI_Reduce(send, receive, count, type, op, root, comm);
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    if (rank == root && chosen_size("CORRUPT_REDUCE", count, type)) {
        received = receive;
        corrupt();
    }
    return code;
}
