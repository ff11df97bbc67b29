#include "operations.h"

#include <mpi.h>

static int library_allgather(const void *sent, void *received, int count) {
    return MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, received, count, MPI_UINT64_T, MPI_COMM_WORLD);
}

static int library_bcast(const void *sent, void *received, int count) {
    return MPI_Bcast(received, count, MPI_UINT64_T, ROOT, MPI_COMM_WORLD);
}

static int library_allreduce(const void *sent, void *received, int count) {
    return MPI_Allreduce(sent, received, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static int library_reduce_scatter_block(const void *sent, void *received, int count) {
    return MPI_Reduce_scatter_block(sent, received, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static int library_alltoall(const void *sent, void *received, int count) {
    return MPI_Alltoall(sent, count, MPI_UINT64_T, received, count, MPI_UINT64_T, MPI_COMM_WORLD);
}

static int write_message(hybrid_memory *memory, size_t contributed_bytes, void **own) {
    return hybrid_write_message(memory, contributed_bytes, ROOT, own);
}

/* NAME and NAME_start of the hybrid library, which take the same arguments. */
#define HYBRID(operation, name, ...)                                                                                   \
    static int hybrid_of_##operation(hybrid_memory *memory, size_t count, enum hybrid_method method) {                 \
        return hybrid_##name(memory, count, __VA_ARGS__);                                                              \
    }                                                                                                                  \
    static int start_of_##operation(hybrid_memory *memory, size_t count, enum hybrid_method method) {                  \
        return hybrid_##name##_start(memory, count, __VA_ARGS__);                                                      \
    }

HYBRID(allgather, allgather, MPI_UINT64_T)
HYBRID(bcast, broadcast, MPI_UINT64_T, ROOT)
HYBRID(allreduce, allreduce, MPI_DOUBLE, MPI_SUM, method)
HYBRID(reduce_scatter_block, reduce_scatter, MPI_DOUBLE, MPI_SUM, method)
HYBRID(alltoall, alltoall, MPI_UINT64_T)

const struct operation operation_table[OPERATIONS] = {
    {.name = "allgather",
     .mpi_name = "MPI_Allgather",
     .shape = HYBRID_PER_RANK,
     .in_paper = true,
     .library = library_allgather,
     .write = hybrid_write_block,
     .hybrid = hybrid_of_allgather,
     .start = start_of_allgather},
    {.name = "bcast",
     .mpi_name = "MPI_Bcast",
     .shape = HYBRID_ONE,
     .in_paper = true,
     .from_root = true,
     .library = library_bcast,
     .write = write_message,
     .hybrid = hybrid_of_bcast,
     .start = start_of_bcast},
    {.name = "allreduce",
     .mpi_name = "MPI_Allreduce",
     .shape = HYBRID_REDUCTION,
     .in_paper = true,
     .reduces = true,
     .library = library_allreduce,
     .write = hybrid_write_input,
     .hybrid = hybrid_of_allreduce,
     .start = start_of_allreduce},
    {.name = "reduce_scatter_block",
     .mpi_name = "MPI_Reduce_scatter_block",
     .shape = HYBRID_REDUCTION,
     .scatters = true,
     .reduces = true,
     .library = library_reduce_scatter_block,
     .write = hybrid_write_input,
     .hybrid = hybrid_of_reduce_scatter_block,
     .start = start_of_reduce_scatter_block},
    {.name = "alltoall",
     .mpi_name = "MPI_Alltoall",
     .shape = HYBRID_PAIRS,
     .scatters = true,
     .library = library_alltoall,
     .write = hybrid_write_input,
     .hybrid = hybrid_of_alltoall,
     .start = start_of_alltoall},
};

OPTION_CHOICES_FROM(operation_choices, operation_table, OPERATIONS, mpi_name)

size_t operation_contributed_blocks(const struct operation *operation, int ranks) {
    return operation->scatters ? (size_t)ranks : 1;
}

size_t operation_read_blocks(const struct operation *operation, int ranks) {
    return operation->from_root || operation->reduces ? 1 : (size_t)ranks;
}

size_t operation_memory_count(const struct operation *operation, int ranks, size_t count) {
    return operation->shape == HYBRID_REDUCTION ? count * operation_contributed_blocks(operation, ranks) : count;
}

bool operation_in_place(const struct operation *operation) {
    return !operation->scatters && !operation->reduces;
}
