#include "collectives.h"

#include "blocks.h"
#include "fail.h"
#include "fail_mpi.h"
#include "mpi_forms.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD MPI_UINT64_T

/* Elements between blocks that vary: a cache line. */
enum { GAP = 8 };

/* ---- which data go where ---- */

static int none(int rank, int ranks) {
    return 0;
}

static int one(int rank, int ranks) {
    return 1;
}

static int one_on_root(int rank, int ranks) {
    return rank == 0 ? 1 : 0;
}

static int one_off_root(int rank, int ranks) {
    return rank == 0 ? 0 : 1;
}

static int one_per_rank(int rank, int ranks) {
    return ranks;
}

static int one_per_rank_on_root(int rank, int ranks) {
    return rank == 0 ? ranks : 0;
}

static int one_per_neighbour(int rank, int ranks) {
    return 2;
}

static int first_block(int block, int rank, int ranks) {
    return 0;
}

static int same_block(int block, int rank, int ranks) {
    return block;
}

static int own_block(int block, int rank, int ranks) {
    return rank;
}

static int root(int block, int rank, int ranks) {
    return first_block(block, rank, ranks);
}

static int rank_of_block(int block, int rank, int ranks) {
    return same_block(block, rank, ranks);
}

/* Left, then right. */
static int neighbour(int block, int rank, int ranks) {
    return block == 0 ? (rank + ranks - 1) % ranks : (rank + 1) % ranks;
}

static int all_ranks(int rank, int ranks) {
    return ranks;
}

static int ranks_up_to_this(int rank, int ranks) {
    return rank + 1;
}

static int ranks_before_this(int rank, int ranks) {
    return rank;
}

static const struct collective_message barrier = {.send_blocks = none, .receive_blocks = none};
static const struct collective_message bcast = {
    .send_blocks = one_on_root, .receive_blocks = one_off_root, .source = root, .place = first_block};
static const struct collective_message gather = {
    .send_blocks = one, .receive_blocks = one_per_rank_on_root, .source = rank_of_block, .place = first_block};
static const struct collective_message gatherv = {.send_blocks = one,
                                                  .receive_blocks = one_per_rank_on_root,
                                                  .source = rank_of_block,
                                                  .place = first_block,
                                                  .varies = true};
static const struct collective_message scatter = {
    .send_blocks = one_per_rank_on_root, .receive_blocks = one, .source = root, .place = own_block};
static const struct collective_message scatterv = {
    .send_blocks = one_per_rank_on_root, .receive_blocks = one, .source = root, .place = own_block, .varies = true};
static const struct collective_message allgather = {
    .send_blocks = one, .receive_blocks = one_per_rank, .source = rank_of_block, .place = first_block};
static const struct collective_message allgatherv = {
    .send_blocks = one, .receive_blocks = one_per_rank, .source = rank_of_block, .place = first_block, .varies = true};
static const struct collective_message alltoall = {
    .send_blocks = one_per_rank, .receive_blocks = one_per_rank, .source = rank_of_block, .place = own_block};
static const struct collective_message alltoallv = {.send_blocks = one_per_rank,
                                                    .receive_blocks = one_per_rank,
                                                    .source = rank_of_block,
                                                    .place = own_block,
                                                    .varies = true};
static const struct collective_message alltoallw = {.send_blocks = one_per_rank,
                                                    .receive_blocks = one_per_rank,
                                                    .source = rank_of_block,
                                                    .place = own_block,
                                                    .varies = true,
                                                    .typed = true};
static const struct collective_message reduce = {
    .send_blocks = one, .receive_blocks = one_on_root, .place = first_block, .summed = all_ranks};
static const struct collective_message allreduce = {
    .send_blocks = one, .receive_blocks = one, .place = first_block, .summed = all_ranks};
static const struct collective_message reduce_scatter_block = {
    .send_blocks = one_per_rank, .receive_blocks = one, .place = own_block, .summed = all_ranks};
static const struct collective_message reduce_scatter = {
    .send_blocks = one_per_rank, .receive_blocks = one, .place = own_block, .summed = all_ranks, .varies = true};
static const struct collective_message scan = {
    .send_blocks = one, .receive_blocks = one, .place = first_block, .summed = ranks_up_to_this};
static const struct collective_message exscan = {
    .send_blocks = one, .receive_blocks = one_off_root, .place = first_block, .summed = ranks_before_this};
static const struct collective_message neighbor_allgather = {
    .send_blocks = one, .receive_blocks = one_per_neighbour, .source = neighbour, .place = first_block};
static const struct collective_message neighbor_allgatherv = {
    .send_blocks = one, .receive_blocks = one_per_neighbour, .source = neighbour, .place = first_block, .varies = true};
static const struct collective_message neighbor_alltoall = {
    .send_blocks = one_per_neighbour, .receive_blocks = one_per_neighbour, .source = neighbour, .place = same_block};
static const struct collective_message neighbor_alltoallv = {.send_blocks = one_per_neighbour,
                                                             .receive_blocks = one_per_neighbour,
                                                             .source = neighbour,
                                                             .place = same_block,
                                                             .varies = true};
static const struct collective_message neighbor_alltoallw = {.send_blocks = one_per_neighbour,
                                                             .receive_blocks = one_per_neighbour,
                                                             .source = neighbour,
                                                             .place = same_block,
                                                             .varies = true,
                                                             .typed = true};

/* ---- the calls ---- */

/* MPI takes one pointer for both roles of a broadcast; at the root it only reads. */
static void *bcast_buffer(const struct collective_call *c) {
    union {
        const void *constant;
        void *plain;
    } sent = {c->send};
    return c->rank == 0 ? sent.plain : c->receive;
}

/* start_iNAME and start_NAME_init: both forms take the same arguments, but for the info. mpi_forms.h knows what the
 * library calls them. */
#define CALLS(name, Name, ...)                                                                                         \
    static int start_i##name(const struct collective_call *c, MPI_Request *request) {                                  \
        return FORM_I##name(__VA_ARGS__, request);                                                                     \
    }                                                                                                                  \
    static int start_##name##_init(const struct collective_call *c, MPI_Request *request) {                            \
        return FORM_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, request);                                                \
    }

CALLS(barrier, Barrier, c->comm)
CALLS(bcast, Bcast, bcast_buffer(c), c->count, WORD, 0, c->comm)
CALLS(gather, Gather, c->send, c->count, WORD, c->receive, c->count, WORD, 0, c->comm)
CALLS(gatherv, Gatherv, c->send, c->sent.counts[0], WORD, c->receive, c->received.counts, c->received.displacements,
      WORD, 0, c->comm)
CALLS(scatter, Scatter, c->send, c->count, WORD, c->receive, c->count, WORD, 0, c->comm)
CALLS(scatterv, Scatterv, c->send, c->sent.counts, c->sent.displacements, WORD, c->receive, c->received.counts[0], WORD,
      0, c->comm)
CALLS(allgather, Allgather, c->send, c->count, WORD, c->receive, c->count, WORD, c->comm)
CALLS(allgatherv, Allgatherv, c->send, c->sent.counts[0], WORD, c->receive, c->received.counts,
      c->received.displacements, WORD, c->comm)
CALLS(alltoall, Alltoall, c->send, c->count, WORD, c->receive, c->count, WORD, c->comm)
CALLS(alltoallv, Alltoallv, c->send, c->sent.counts, c->sent.displacements, WORD, c->receive, c->received.counts,
      c->received.displacements, WORD, c->comm)
CALLS(alltoallw, Alltoallw, c->send, c->sent.counts, c->sent.byte_displacements, c->sent.types, c->receive,
      c->received.counts, c->received.byte_displacements, c->received.types, c->comm)
CALLS(reduce, Reduce, c->send, c->receive, c->count, MPI_DOUBLE, MPI_SUM, 0, c->comm)
CALLS(allreduce, Allreduce, c->send, c->receive, c->count, MPI_DOUBLE, MPI_SUM, c->comm)
CALLS(reduce_scatter_block, Reduce_scatter_block, c->send, c->receive, c->count, MPI_DOUBLE, MPI_SUM, c->comm)
CALLS(reduce_scatter, Reduce_scatter, c->send, c->receive, c->sent.counts, MPI_DOUBLE, MPI_SUM, c->comm)
CALLS(scan, Scan, c->send, c->receive, c->count, MPI_DOUBLE, MPI_SUM, c->comm)
CALLS(exscan, Exscan, c->send, c->receive, c->count, MPI_DOUBLE, MPI_SUM, c->comm)
CALLS(neighbor_allgather, Neighbor_allgather, c->send, c->count, WORD, c->receive, c->count, WORD, c->ring)
CALLS(neighbor_allgatherv, Neighbor_allgatherv, c->send, c->sent.counts[0], WORD, c->receive, c->received.counts,
      c->received.displacements, WORD, c->ring)
CALLS(neighbor_alltoall, Neighbor_alltoall, c->send, c->count, WORD, c->receive, c->count, WORD, c->ring)
CALLS(neighbor_alltoallv, Neighbor_alltoallv, c->send, c->sent.counts, c->sent.displacements, WORD, c->receive,
      c->received.counts, c->received.displacements, WORD, c->ring)
CALLS(neighbor_alltoallw, Neighbor_alltoallw, c->send, c->sent.counts, c->sent.addresses, c->sent.types, c->receive,
      c->received.counts, c->received.addresses, c->received.types, c->ring)

const struct collective collective_table[COLLECTIVE_COUNT] = {
    {.name = "ibcast", .mpi_name = "MPI_Ibcast", .message = &bcast, .start = start_ibcast, .available = HAS_Ibcast},
    {.name = "ireduce",
     .mpi_name = "MPI_Ireduce",
     .message = &reduce,
     .start = start_ireduce,
     .available = HAS_Ireduce},
    {.name = "iallgather",
     .mpi_name = "MPI_Iallgather",
     .message = &allgather,
     .start = start_iallgather,
     .available = HAS_Iallgather},
    {.name = "ialltoall",
     .mpi_name = "MPI_Ialltoall",
     .message = &alltoall,
     .start = start_ialltoall,
     .available = HAS_Ialltoall},
    {.name = "iallreduce",
     .mpi_name = "MPI_Iallreduce",
     .message = &allreduce,
     .start = start_iallreduce,
     .available = HAS_Iallreduce},
    {.name = "ibarrier",
     .mpi_name = "MPI_Ibarrier",
     .message = &barrier,
     .start = start_ibarrier,
     .available = HAS_Ibarrier},
    {.name = "igather",
     .mpi_name = "MPI_Igather",
     .message = &gather,
     .start = start_igather,
     .available = HAS_Igather},
    {.name = "igatherv",
     .mpi_name = "MPI_Igatherv",
     .message = &gatherv,
     .start = start_igatherv,
     .available = HAS_Igatherv},
    {.name = "iscatter",
     .mpi_name = "MPI_Iscatter",
     .message = &scatter,
     .start = start_iscatter,
     .available = HAS_Iscatter},
    {.name = "iscatterv",
     .mpi_name = "MPI_Iscatterv",
     .message = &scatterv,
     .start = start_iscatterv,
     .available = HAS_Iscatterv},
    {.name = "iallgatherv",
     .mpi_name = "MPI_Iallgatherv",
     .message = &allgatherv,
     .start = start_iallgatherv,
     .available = HAS_Iallgatherv},
    {.name = "ialltoallv",
     .mpi_name = "MPI_Ialltoallv",
     .message = &alltoallv,
     .start = start_ialltoallv,
     .available = HAS_Ialltoallv},
    {.name = "ialltoallw",
     .mpi_name = "MPI_Ialltoallw",
     .message = &alltoallw,
     .start = start_ialltoallw,
     .available = HAS_Ialltoallw},
    {.name = "ireduce_scatter_block",
     .mpi_name = "MPI_Ireduce_scatter_block",
     .message = &reduce_scatter_block,
     .start = start_ireduce_scatter_block,
     .available = HAS_Ireduce_scatter_block},
    {.name = "ireduce_scatter",
     .mpi_name = "MPI_Ireduce_scatter",
     .message = &reduce_scatter,
     .start = start_ireduce_scatter,
     .available = HAS_Ireduce_scatter},
    {.name = "iscan", .mpi_name = "MPI_Iscan", .message = &scan, .start = start_iscan, .available = HAS_Iscan},
    {.name = "iexscan",
     .mpi_name = "MPI_Iexscan",
     .message = &exscan,
     .start = start_iexscan,
     .available = HAS_Iexscan},
    {.name = "ineighbor_allgather",
     .mpi_name = "MPI_Ineighbor_allgather",
     .message = &neighbor_allgather,
     .start = start_ineighbor_allgather,
     .available = HAS_Ineighbor_allgather},
    {.name = "ineighbor_allgatherv",
     .mpi_name = "MPI_Ineighbor_allgatherv",
     .message = &neighbor_allgatherv,
     .start = start_ineighbor_allgatherv,
     .available = HAS_Ineighbor_allgatherv},
    {.name = "ineighbor_alltoall",
     .mpi_name = "MPI_Ineighbor_alltoall",
     .message = &neighbor_alltoall,
     .start = start_ineighbor_alltoall,
     .available = HAS_Ineighbor_alltoall},
    {.name = "ineighbor_alltoallv",
     .mpi_name = "MPI_Ineighbor_alltoallv",
     .message = &neighbor_alltoallv,
     .start = start_ineighbor_alltoallv,
     .available = HAS_Ineighbor_alltoallv},
    {.name = "ineighbor_alltoallw",
     .mpi_name = "MPI_Ineighbor_alltoallw",
     .message = &neighbor_alltoallw,
     .start = start_ineighbor_alltoallw,
     .available = HAS_Ineighbor_alltoallw},
    {.name = "bcast_init",
     .mpi_name = "MPI_Bcast_init",
     .message = &bcast,
     .start = start_bcast_init,
     .persistent = true,
     .available = HAS_Bcast_init},
    {.name = "reduce_init",
     .mpi_name = "MPI_Reduce_init",
     .message = &reduce,
     .start = start_reduce_init,
     .persistent = true,
     .available = HAS_Reduce_init},
    {.name = "allgather_init",
     .mpi_name = "MPI_Allgather_init",
     .message = &allgather,
     .start = start_allgather_init,
     .persistent = true,
     .available = HAS_Allgather_init},
    {.name = "alltoall_init",
     .mpi_name = "MPI_Alltoall_init",
     .message = &alltoall,
     .start = start_alltoall_init,
     .persistent = true,
     .available = HAS_Alltoall_init},
    {.name = "allreduce_init",
     .mpi_name = "MPI_Allreduce_init",
     .message = &allreduce,
     .start = start_allreduce_init,
     .persistent = true,
     .available = HAS_Allreduce_init},
    {.name = "barrier_init",
     .mpi_name = "MPI_Barrier_init",
     .message = &barrier,
     .start = start_barrier_init,
     .persistent = true,
     .available = HAS_Barrier_init},
    {.name = "gather_init",
     .mpi_name = "MPI_Gather_init",
     .message = &gather,
     .start = start_gather_init,
     .persistent = true,
     .available = HAS_Gather_init},
    {.name = "gatherv_init",
     .mpi_name = "MPI_Gatherv_init",
     .message = &gatherv,
     .start = start_gatherv_init,
     .persistent = true,
     .available = HAS_Gatherv_init},
    {.name = "scatter_init",
     .mpi_name = "MPI_Scatter_init",
     .message = &scatter,
     .start = start_scatter_init,
     .persistent = true,
     .available = HAS_Scatter_init},
    {.name = "scatterv_init",
     .mpi_name = "MPI_Scatterv_init",
     .message = &scatterv,
     .start = start_scatterv_init,
     .persistent = true,
     .available = HAS_Scatterv_init},
    {.name = "allgatherv_init",
     .mpi_name = "MPI_Allgatherv_init",
     .message = &allgatherv,
     .start = start_allgatherv_init,
     .persistent = true,
     .available = HAS_Allgatherv_init},
    {.name = "alltoallv_init",
     .mpi_name = "MPI_Alltoallv_init",
     .message = &alltoallv,
     .start = start_alltoallv_init,
     .persistent = true,
     .available = HAS_Alltoallv_init},
    {.name = "alltoallw_init",
     .mpi_name = "MPI_Alltoallw_init",
     .message = &alltoallw,
     .start = start_alltoallw_init,
     .persistent = true,
     .available = HAS_Alltoallw_init},
    {.name = "reduce_scatter_block_init",
     .mpi_name = "MPI_Reduce_scatter_block_init",
     .message = &reduce_scatter_block,
     .start = start_reduce_scatter_block_init,
     .persistent = true,
     .available = HAS_Reduce_scatter_block_init},
    {.name = "reduce_scatter_init",
     .mpi_name = "MPI_Reduce_scatter_init",
     .message = &reduce_scatter,
     .start = start_reduce_scatter_init,
     .persistent = true,
     .available = HAS_Reduce_scatter_init},
    {.name = "scan_init",
     .mpi_name = "MPI_Scan_init",
     .message = &scan,
     .start = start_scan_init,
     .persistent = true,
     .available = HAS_Scan_init},
    {.name = "exscan_init",
     .mpi_name = "MPI_Exscan_init",
     .message = &exscan,
     .start = start_exscan_init,
     .persistent = true,
     .available = HAS_Exscan_init},
    {.name = "neighbor_allgather_init",
     .mpi_name = "MPI_Neighbor_allgather_init",
     .message = &neighbor_allgather,
     .start = start_neighbor_allgather_init,
     .persistent = true,
     .available = HAS_Neighbor_allgather_init},
    {.name = "neighbor_allgatherv_init",
     .mpi_name = "MPI_Neighbor_allgatherv_init",
     .message = &neighbor_allgatherv,
     .start = start_neighbor_allgatherv_init,
     .persistent = true,
     .available = HAS_Neighbor_allgatherv_init},
    {.name = "neighbor_alltoall_init",
     .mpi_name = "MPI_Neighbor_alltoall_init",
     .message = &neighbor_alltoall,
     .start = start_neighbor_alltoall_init,
     .persistent = true,
     .available = HAS_Neighbor_alltoall_init},
    {.name = "neighbor_alltoallv_init",
     .mpi_name = "MPI_Neighbor_alltoallv_init",
     .message = &neighbor_alltoallv,
     .start = start_neighbor_alltoallv_init,
     .persistent = true,
     .available = HAS_Neighbor_alltoallv_init},
    {.name = "neighbor_alltoallw_init",
     .mpi_name = "MPI_Neighbor_alltoallw_init",
     .message = &neighbor_alltoallw,
     .start = start_neighbor_alltoallw_init,
     .persistent = true,
     .available = HAS_Neighbor_alltoallw_init},
};

/* ---- the layout ---- */

/* Room for what the call takes: a side whose blocks are all alike needs no arrays, however many ranks there are. */
static void make_room(struct collective_side *side, const struct collective_message *message) {
    const size_t blocks = (size_t)side->blocks;
    const size_t varied = message->varies ? blocks : 0;
    const size_t typed = message->typed ? blocks : 0;
    side->counts = fail_realloc(side->counts, varied, sizeof *side->counts);
    side->displacements = fail_realloc(side->displacements, varied, sizeof *side->displacements);
    side->byte_displacements = fail_realloc(side->byte_displacements, typed, sizeof *side->byte_displacements);
    side->addresses = fail_realloc(side->addresses, typed, sizeof *side->addresses);
    side->types = fail_realloc(side->types, typed, sizeof *side->types);
}

static void free_room(struct collective_side *side) {
    free(side->counts);
    free(side->displacements);
    free(side->byte_displacements);
    free(side->addresses);
    free(side->types);
}

struct collective_call collective_call_create(MPI_Comm world, uint64_t seed) {
    struct collective_call call = {.seed = seed};
    MPI_CHECK(MPI_Comm_dup(world, &call.comm));
    MPI_CHECK(MPI_Comm_rank(call.comm, &call.rank));
    MPI_CHECK(MPI_Comm_size(call.comm, &call.ranks));
    /* The block for the right neighbour is sent first, and received first, from the left: edge by edge, two ranks that
     * are each other's neighbour on both sides included. */
    const int sources[] = {neighbour(0, call.rank, call.ranks), neighbour(1, call.rank, call.ranks)};
    const int destinations[] = {sources[1], sources[0]};
    const int weights[] = {1, 1};
    MPI_CHECK(MPI_Dist_graph_create_adjacent(call.comm, 2, sources, weights, 2, destinations, weights, MPI_INFO_NULL, 0,
                                             &call.ring));
    MPI_CHECK(MPI_Type_contiguous(2, MPI_UINT32_T, &call.pair));
    MPI_CHECK(MPI_Type_commit(&call.pair));
    return call;
}

void collective_call_free(struct collective_call *call) {
    MPI_CHECK(MPI_Type_free(&call->pair));
    MPI_CHECK(MPI_Comm_free(&call->ring));
    MPI_CHECK(MPI_Comm_free(&call->comm));
    free_room(&call->sent);
    free_room(&call->received);
}

/* Blocks that are summed must have the same layout on all ranks, without gaps. */
static int row_of(const struct collective_message *message, int rank) {
    return message->summed != NULL ? 0 : rank;
}

static size_t gap_of(const struct collective_message *message) {
    return message->varies && message->summed == NULL ? GAP : 0;
}

/* Elements of a rank's block, and where it begins in that rank's send buffer. */
static size_t length_of(const struct collective_message *message, size_t count, int rank, int block, int ranks) {
    return message->varies ? blocks_share(count, (size_t)(row_of(message, rank) + block), (size_t)ranks) : count;
}

static size_t begin_of(const struct collective_message *message, size_t count, int rank, int block, int ranks) {
    const size_t before = message->varies
                              ? blocks_sum(count, (size_t)row_of(message, rank), (size_t)block, (size_t)ranks)
                              : (size_t)block * count;
    return before + (size_t)block * gap_of(message);
}

static int source_of(const struct collective_message *message, int block, int rank, int ranks) {
    return message->summed != NULL ? 0 : message->source(block, rank, ranks);
}

static void put_block(struct collective_side *side, int block, size_t length, size_t begin,
                      const struct collective_message *message, MPI_Datatype type) {
    if (message->varies) {
        side->counts[block] = (int)length;
        side->displacements[block] = (int)begin;
    }
    if (message->typed) { /* others may begin further off than an int counts bytes */
        side->types[block] = type;
        side->byte_displacements[block] = (int)(begin * COLLECTIVE_ELEMENT);
        side->addresses[block] = (MPI_Aint)(begin * COLLECTIVE_ELEMENT);
    }
    side->extent = begin + length > side->extent ? begin + length : side->extent;
}

/* Returns the datatype of a block of a rank's send buffer: sender and receiver compute the same. */
static MPI_Datatype type_of(const struct collective_call *call, int rank, int block) {
    return (rank + block) % 2 == 0 ? WORD : call->pair;
}

void collective_arrange(struct collective_call *call, const struct collective_message *message, size_t count) {
    const int rank = call->rank;
    const int ranks = call->ranks;
    struct collective_side *sent = &call->sent;
    struct collective_side *received = &call->received;
    call->count = (int)count;
    sent->blocks = message->send_blocks(rank, ranks);
    received->blocks = message->receive_blocks(rank, ranks);
    sent->extent = 0;
    received->extent = 0;
    make_room(sent, message);
    make_room(received, message);
    for (int block = 0; block < sent->blocks; block++) {
        put_block(sent, block, length_of(message, count, rank, block, ranks),
                  begin_of(message, count, rank, block, ranks), message, type_of(call, rank, block));
    }
    size_t begin = 0;
    for (int i = 0; i < received->blocks; i++) {
        const int block = message->varies ? received->blocks - 1 - i : i;
        const int source = source_of(message, block, rank, ranks);
        const int place = message->place(block, rank, ranks);
        const size_t length = length_of(message, count, source, place, ranks);
        put_block(received, block, length, begin, message, type_of(call, source, place));
        begin += length + gap_of(message);
    }
}

/* ---- what arrived ---- */

/* Returns where a received block begins, in elements. */
static size_t received_begin(const struct collective_call *call, const struct collective_message *message, int block) {
    return message->varies ? (size_t)call->received.displacements[block] : (size_t)block * (size_t)call->count;
}

static uint64_t check_block(const struct collective_call *call, const struct collective_message *message, int block,
                            struct pattern_fault *fault) {
    const int source = source_of(message, block, call->rank, call->ranks);
    const int place = message->place(block, call->rank, call->ranks);
    const size_t begin = call->first + begin_of(message, (size_t)call->count, source, place, call->ranks);
    const size_t length = message->varies ? (size_t)call->received.counts[block] : (size_t)call->count;
    const char *received = (const char *)call->receive + received_begin(call, message, block) * COLLECTIVE_ELEMENT;
    if (message->summed != NULL) {
        return pattern_check_sums((const void *)received, length, call->seed, message->summed(call->rank, call->ranks),
                                  begin, fault);
    }
    return pattern_check_words((const void *)received, length, call->seed, source, begin, fault);
}

uint64_t collective_check(const struct collective_call *call, const struct collective_message *message,
                          struct pattern_fault *fault) {
    uint64_t faults = 0;
    for (int block = 0; block < call->received.blocks; block++) {
        struct pattern_fault found = {0};
        const uint64_t wrong = check_block(call, message, block, &found);
        found.position += received_begin(call, message, block);
        if (wrong > 0 && (faults == 0 || found.position < fault->position)) {
            *fault = found;
        }
        faults += wrong;
    }
    if (faults > 0) {
        fault->count = faults;
    }
    return faults;
}

/* ---- bounds ---- */

/* Root or not: there are no other roles. */
enum { ROLES = 2 };

/* Shares that follow each other have less than one count more than so many regular blocks. */
static size_t multiples(const struct collective_message *message, int blocks) {
    return (size_t)blocks + (message->varies && blocks > 0 ? 1 : 0);
}

bool collective_has_message(const struct collective *collective) {
    return collective->message != &barrier;
}

size_t collective_comm_times(const struct collective *collective, size_t asked) {
    return collective_has_message(collective) || asked == 0 ? asked : 1;
}

size_t collective_most_blocks(const struct collective *collective, int ranks) {
    const struct collective_message *message = collective->message;
    size_t most = 1;
    for (int rank = 0; rank < ROLES; rank++) {
        const size_t own = multiples(message, message->send_blocks(rank, ranks)) +
                           multiples(message, message->receive_blocks(rank, ranks));
        most = own > most ? own : most;
    }
    return most;
}

uint64_t collective_most_bytes(const struct collective *collective, int ranks) {
    const struct collective_message *message = collective->message;
    size_t longest = 1;
    for (int rank = 0; rank < ROLES; rank++) {
        const size_t send = multiples(message, message->send_blocks(rank, ranks));
        const size_t receive = multiples(message, message->receive_blocks(rank, ranks));
        longest = send > longest ? send : longest;
        longest = receive > longest ? receive : longest;
    }
    const uint64_t most = message->typed ? INT_MAX / COLLECTIVE_ELEMENT : INT_MAX;
    return (most - longest * gap_of(message)) / longest * COLLECTIVE_ELEMENT;
}

OPTION_CHOICES_FROM(collective_choices, collective_table, COLLECTIVE_COUNT, mpi_name)

int collective_find(const char *name) {
    for (int i = 0; i < COLLECTIVE_COUNT; i++) {
        if (strcmp(collective_table[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

void collective_print_list(void) {
    for (int i = 0; i < COLLECTIVE_COUNT; i++) {
        const struct collective *collective = &collective_table[i];
        if (collective->available) {
            printf("%s\n", collective->name);
        } else {
            printf("%-26s this MPI library has no %s\n", collective->name, collective->mpi_name);
        }
    }
}
