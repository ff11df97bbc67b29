/*
 * nonblocking - the parameters of the nonblocking collectives, for preloaded libraries that intercept MPI's functions.
 *
 * NONBLOCKING_COLLECTIVES(FORM) expands FORM(name, Name, receive, parameters, arguments) for each of them but the
 * barrier. parameters and arguments leave out the request, which is always last. receive: the receive buffer, NULL on a
 * rank that receives nothing.
 */
#pragma once

#define LIST(...) __VA_ARGS__

#define BLOCKS                                                                                                         \
    const void *send, int count, MPI_Datatype type, void *receive, int receive_count, MPI_Datatype receive_type
#define BLOCKS_GIVEN send, count, type, receive, receive_count, receive_type
#define GATHERED                                                                                                       \
    const void *send, int count, MPI_Datatype type, void *receive, const int counts[], const int places[],             \
        MPI_Datatype receive_type
#define GATHERED_GIVEN send, count, type, receive, counts, places, receive_type
#define EXCHANGED                                                                                                      \
    const void *send, const int counts[], const int places[], MPI_Datatype type, void *receive,                        \
        const int receive_counts[], const int receive_places[], MPI_Datatype receive_type
#define EXCHANGED_GIVEN send, counts, places, type, receive, receive_counts, receive_places, receive_type
#define TYPED(PLACE)                                                                                                   \
    const void *send, const int counts[], const PLACE places[], const MPI_Datatype types[], void *receive,             \
        const int receive_counts[], const PLACE receive_places[], const MPI_Datatype receive_types[]
#define TYPED_GIVEN send, counts, places, types, receive, receive_counts, receive_places, receive_types
#define SUMMED const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op
#define SUMMED_GIVEN send, receive, count, type, op

#define NONBLOCKING_COLLECTIVES(FORM)                                                                                  \
    FORM(bcast, Bcast, off_root(buffer, root, comm),                                                                   \
         (void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm), (buffer, count, type, root, comm))     \
    FORM(gather, Gather, receive, (BLOCKS, int root, MPI_Comm comm), (BLOCKS_GIVEN, root, comm))                       \
    FORM(gatherv, Gatherv, receive, (GATHERED, int root, MPI_Comm comm), (GATHERED_GIVEN, root, comm))                 \
    FORM(scatter, Scatter, receive, (BLOCKS, int root, MPI_Comm comm), (BLOCKS_GIVEN, root, comm))                     \
    FORM(scatterv, Scatterv, receive,                                                                                  \
         (const void *send, const int counts[], const int places[], MPI_Datatype type, void *receive,                  \
          int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm),                                      \
         (send, counts, places, type, receive, receive_count, receive_type, root, comm))                               \
    FORM(allgather, Allgather, receive, (BLOCKS, MPI_Comm comm), (BLOCKS_GIVEN, comm))                                 \
    FORM(allgatherv, Allgatherv, receive, (GATHERED, MPI_Comm comm), (GATHERED_GIVEN, comm))                           \
    FORM(alltoall, Alltoall, receive, (BLOCKS, MPI_Comm comm), (BLOCKS_GIVEN, comm))                                   \
    FORM(alltoallv, Alltoallv, receive, (EXCHANGED, MPI_Comm comm), (EXCHANGED_GIVEN, comm))                           \
    FORM(alltoallw, Alltoallw, receive, (TYPED(int), MPI_Comm comm), (TYPED_GIVEN, comm))                              \
    FORM(reduce, Reduce, receive, (SUMMED, int root, MPI_Comm comm), (SUMMED_GIVEN, root, comm))                       \
    FORM(allreduce, Allreduce, receive, (SUMMED, MPI_Comm comm), (SUMMED_GIVEN, comm))                                 \
    FORM(reduce_scatter_block, Reduce_scatter_block, receive, (SUMMED, MPI_Comm comm), (SUMMED_GIVEN, comm))           \
    FORM(reduce_scatter, Reduce_scatter, receive,                                                                      \
         (const void *send, void *receive, const int counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm),           \
         (send, receive, counts, type, op, comm))                                                                      \
    FORM(scan, Scan, receive, (SUMMED, MPI_Comm comm), (SUMMED_GIVEN, comm))                                           \
    FORM(exscan, Exscan, receive, (SUMMED, MPI_Comm comm), (SUMMED_GIVEN, comm))                                       \
    FORM(neighbor_allgather, Neighbor_allgather, receive, (BLOCKS, MPI_Comm comm), (BLOCKS_GIVEN, comm))               \
    FORM(neighbor_allgatherv, Neighbor_allgatherv, receive, (GATHERED, MPI_Comm comm), (GATHERED_GIVEN, comm))         \
    FORM(neighbor_alltoall, Neighbor_alltoall, receive, (BLOCKS, MPI_Comm comm), (BLOCKS_GIVEN, comm))                 \
    FORM(neighbor_alltoallv, Neighbor_alltoallv, receive, (EXCHANGED, MPI_Comm comm), (EXCHANGED_GIVEN, comm))         \
    FORM(neighbor_alltoallw, Neighbor_alltoallw, receive, (TYPED(MPI_Aint), MPI_Comm comm), (TYPED_GIVEN, comm))
