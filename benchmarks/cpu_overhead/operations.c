#include "operations.h"

#include "fail.h"

#define WORD MPI_UINT64_T

/* MPI takes one pointer for both roles of a broadcast; at the root it only reads. */
static void *bcast_buffer(const struct collective_call *c) {
    union {
        const void *constant;
        void *plain;
    } sent = {c->send};
    return c->rank == 0 ? sent.plain : c->receive;
}

#define CALL(name, ...)                                                                                                \
    static int call_##name(const struct collective_call *c, MPI_Request *request) {                                    \
        return __VA_ARGS__;                                                                                            \
    }

CALL(barrier, MPI_Barrier(c->comm))
CALL(bcast, MPI_Bcast(bcast_buffer(c), c->count, WORD, 0, c->comm))
CALL(gather, MPI_Gather(c->send, c->count, WORD, c->receive, c->count, WORD, 0, c->comm))
CALL(scatter, MPI_Scatter(c->send, c->count, WORD, c->receive, c->count, WORD, 0, c->comm))
CALL(allgather, MPI_Allgather(c->send, c->count, WORD, c->receive, c->count, WORD, c->comm))
CALL(alltoall, MPI_Alltoall(c->send, c->count, WORD, c->receive, c->count, WORD, c->comm))
CALL(reduce, MPI_Reduce(c->send, c->receive, c->count, MPI_DOUBLE, MPI_SUM, 0, c->comm))
CALL(allreduce, MPI_Allreduce(c->send, c->receive, c->count, MPI_DOUBLE, MPI_SUM, c->comm))
CALL(reduce_scatter_block, MPI_Reduce_scatter_block(c->send, c->receive, c->count, MPI_DOUBLE, MPI_SUM, c->comm))
CALL(scan, MPI_Scan(c->send, c->receive, c->count, MPI_DOUBLE, MPI_SUM, c->comm))

const struct operation operation_table[OPERATION_COUNT] = {
    {.name = "barrier",
     .mpi_name = "MPI_Barrier",
     .nonblocking = "ibarrier",
     .call = call_barrier,
     .modelled = true,
     .waits_for_all = true},
    {.name = "bcast", .mpi_name = "MPI_Bcast", .nonblocking = "ibcast", .call = call_bcast, .modelled = true},
    {.name = "gather", .mpi_name = "MPI_Gather", .nonblocking = "igather", .call = call_gather},
    {.name = "scatter", .mpi_name = "MPI_Scatter", .nonblocking = "iscatter", .call = call_scatter},
    {.name = "allgather",
     .mpi_name = "MPI_Allgather",
     .nonblocking = "iallgather",
     .call = call_allgather,
     .waits_for_all = true},
    {.name = "alltoall",
     .mpi_name = "MPI_Alltoall",
     .nonblocking = "ialltoall",
     .call = call_alltoall,
     .waits_for_all = true},
    {.name = "reduce", .mpi_name = "MPI_Reduce", .nonblocking = "ireduce", .call = call_reduce},
    {.name = "allreduce",
     .mpi_name = "MPI_Allreduce",
     .nonblocking = "iallreduce",
     .call = call_allreduce,
     .modelled = true,
     .waits_for_all = true},
    {.name = "reduce_scatter_block",
     .mpi_name = "MPI_Reduce_scatter_block",
     .nonblocking = "ireduce_scatter_block",
     .call = call_reduce_scatter_block,
     .waits_for_all = true},
    {.name = "scan", .mpi_name = "MPI_Scan", .nonblocking = "iscan", .call = call_scan},
};

OPTION_CHOICES_FROM(operation_choices, operation_table, OPERATION_COUNT, mpi_name)

struct collective operation_nonblocking(const struct operation *operation) {
    const int index = collective_find(operation->nonblocking);
    if (index < 0) {
        fail_die("there is no collective %s", operation->nonblocking);
    }
    return collective_table[index];
}

struct collective operation_collective(const struct operation *operation) {
    return (struct collective){.name = operation->name,
                               .mpi_name = operation->mpi_name,
                               .message = operation_nonblocking(operation).message,
                               .start = operation->call,
                               .available = true};
}
