/*
 * hybrid_collectives - MPI collectives that keep one copy of the data per node, in shared memory.
 *
 * H. Zhou, J. Gracia, N. Zhou, R. Schneider, "Collectives in hybrid MPI+MPI code: design, practice and performance",
 * Parallel Computing 99 (2020), section 4. docs/hybrid-collectives.md maps the paper's wrappers to these functions, and
 * says where its pseudo-code fails.
 *
 * All functions return MPI_SUCCESS or an MPI error code. hybrid_last_error then has one line about the reason. Unless
 * "local" is said, a function is collective over the parent communicator, and all ranks must give it the same values.
 * Call the functions from the thread that may call MPI. A memory in which a collective has failed can only be freed.
 *
 * The contract for the one copy. A memory has buffers, which take turns. One turn is a round, and each rank makes these
 * calls in each round:
 *
 *   hybrid_write_begin   begins the write phase: the rank may write the bytes that it has named, and no others
 *   a collective         ends the write phase and begins the read phase
 *   hybrid_read          returns where the result lies; the rank may read all of the buffer, and write nothing
 *   hybrid_read_end      ends the read phase: from now on the rank neither reads nor writes
 *
 * To a rank that names bytes, hybrid_write_begin returns only when every rank of the node has ended its read phase in
 * the last round that used the same buffer. So a slow reader can never see its data overwritten, however far the others
 * are ahead. With two buffers one whole round of skew costs no waiting, with eight buffers seven; with one buffer a
 * rank waits for the readers of the last round. Calls out of this order return MPI_ERR_RMA_SYNC. What a rank does
 * through its pointers is checked by the library hybrid_collectives_checked, which has the same functions: it makes
 * pages inaccessible outside of their phase, so that a wrong access ends the process with one line that names the rank
 * and the phase, and it compares what the ranks of a node have named and called.
 */
#ifndef HYBRID_COLLECTIVES_H
#define HYBRID_COLLECTIVES_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Local: copies one line about the calling process's last error, "" without one. */
void hybrid_last_error(char *text, size_t text_size);

/* ---- communicators ---- */

/* The communicators of a node and between nodes, made from one parent. The lowest rank of each node is its leader. */
typedef struct hybrid_comm hybrid_comm;

/* How ranks of a node wait for each other. */
enum hybrid_sync {
    HYBRID_SPIN,   /* on 64-bit sequence numbers in shared memory, each in a cache line of its own */
    HYBRID_BARRIER /* in MPI_Barrier */
};

/* What a node is: the ranks that share one copy. */
enum hybrid_split {
    HYBRID_NODES,       /* ranks that can share memory (MPI_COMM_TYPE_SHARED) */
    HYBRID_NUMA_DOMAINS /* those of them in one NUMA domain: one copy and one leader per domain. A rank is in the domain
                           of the first CPU that it may use */
};

/* How node memory is reduced before the leaders meet. */
enum hybrid_method {
    HYBRID_METHOD_AUTO, /* up to the cut-off EACH where there is one node of few ranks, else LEADER; above it SLICES, or
                           EACH where there are two ranks on one node */
    HYBRID_METHOD_PAPER,  /* LEADER up to the cut-off, REDUCE above (section 5.2.4) */
    HYBRID_METHOD_REDUCE, /* the paper's method 1: MPI_Reduce within the node */
    HYBRID_METHOD_LEADER, /* the paper's method 2: the leader reduces */
    HYBRID_METHOD_SLICES, /* each rank reduces a slice of the elements, in rank order */
    HYBRID_METHOD_EACH    /* each rank reduces all elements, in rank order, into memory of its own: one wait instead of
                             two. Where there are several nodes: LEADER */
};

/* Zero or false is the default of every setting. */
struct hybrid_settings {
    enum hybrid_sync sync;
    enum hybrid_split split;
    int ranks_per_node;  /* 0: all; else nodes are divided further into virtual nodes of at most so many ranks */
    bool round_robin;    /* ranks are dealt out to the virtual nodes in turn, not in blocks */
    bool rank_table;     /* keep the paper's table of all ranks (section 4.3) even where ranks are in blocks */
    size_t cutoff_bytes; /* of METHOD_AUTO and METHOD_PAPER; 0: 2048, as in section 5.2.4 */
    /* For a parent that has some of the ranks of a hybrid_comm, such as a row of them: its nodes are the nodes of that
     * hybrid_comm. NULL: they are found anew. All ranks give the same one; split, ranks_per_node and round_robin are
     * its own, and must be left out here. */
    const hybrid_comm *nodes_of;
};

struct hybrid_info {
    int rank; /* in the parent */
    int ranks;
    int node; /* nodes are numbered in the order of their leaders */
    int nodes;
    int node_rank; /* 0 is the leader */
    int node_ranks;
    bool blocks;         /* the ranks of each node are consecutive */
    bool oversubscribed; /* the node's ranks may use fewer CPUs than there are ranks: waiting ranks yield */
    enum hybrid_sync sync;
    size_t cutoff_bytes;
    size_t layout_bytes; /* what this process keeps to translate ranks */
};

/* settings: NULL for the defaults. The parent may be freed afterwards, and so may nodes_of. MPI_ERR_COMM: the parent is
 * MPI_COMM_NULL or an intercommunicator, or nodes_of was freed before; MPI_ERR_ARG: settings are out of range, or
 * differ between ranks. */
int hybrid_comm_create(MPI_Comm parent, const struct hybrid_settings *settings, hybrid_comm **comm);

/* Frees it and sets *comm to NULL. MPI_ERR_COMM: it was freed before, or memories of it exist. */
int hybrid_comm_free(hybrid_comm **comm);

/* Local. */
int hybrid_comm_info(const hybrid_comm *comm, struct hybrid_info *info);

/* Local: the communicators. That between nodes is MPI_COMM_NULL on ranks that do not lead. They belong to the
 * library. */
int hybrid_comm_node(const hybrid_comm *comm, MPI_Comm *node);
int hybrid_comm_bridge(const hybrid_comm *comm, MPI_Comm *bridge);

/* Local: the node of a rank of the parent, and its rank there. MPI_ERR_RANK: there is no such rank. */
int hybrid_comm_translate(const hybrid_comm *comm, int rank, int *node, int *node_rank);

/* From the next collective on. */
int hybrid_comm_set_sync(hybrid_comm *comm, enum hybrid_sync sync);
int hybrid_comm_set_cutoff(hybrid_comm *comm, size_t cutoff_bytes);

/* Finds by trials where the cut-off of METHOD_AUTO or METHOD_PAPER lies here: sets it to the largest size, of 64 bytes
 * to 64 KiB in powers of two, up to which sums of doubles by what `method` takes below its cut-off are not slower than
 * by what it takes above, and returns it; 0 where they are at 64 bytes. A hybrid_comm has one cut-off for both methods.
 * It stays as it is after an error, and where `method` takes the same on both sides, as AUTO does for an allreduce of
 * two ranks on one node. A size takes 40 to 360 calls: the fewer, the longer they take. MPI_ERR_ARG: another method. */
int hybrid_comm_find_cutoff(hybrid_comm *comm, enum hybrid_method method, size_t *cutoff_bytes);

/* ---- memory of a node ---- */

typedef struct hybrid_memory hybrid_memory;

/* Which collectives a memory has room for; a block has count * element_bytes bytes. */
enum hybrid_shape {
    HYBRID_ONE,       /* one block: broadcast; allgatherv of so many elements in all */
    HYBRID_PER_RANK,  /* a block for each rank of the parent: allgather */
    HYBRID_REDUCTION, /* a block for each rank of the node, and two results: allreduce. For reduce_scatter, count has
                         the elements of all ranks' blocks together */
    HYBRID_PAIRS      /* for each rank of the node a block to and a block from each rank: alltoall */
};

/* Allocates two buffers per node; for short messages (HYBRID_ONE, up to 64 KiB) up to eight, of 128 KiB together, so
 * that a root may run ahead of slow readers. MPI_ERR_NO_MEM: the shared memory of a node is too small; the error's text
 * has both sizes. MPI_ERR_COUNT: the size overflows. */
int hybrid_memory_create(hybrid_comm *comm, size_t count, size_t element_bytes, enum hybrid_shape shape,
                         hybrid_memory **memory);

/* The same with 1 to 8 buffers. With 1 it needs least memory: a single copy per node. MPI_ERR_ARG: another number of
 * buffers. */
int hybrid_memory_create_buffers(hybrid_comm *comm, size_t count, size_t element_bytes, enum hybrid_shape shape,
                                 int buffers, hybrid_memory **memory);

/* Frees it and sets *memory to NULL. Waits for the node's ranks. MPI_ERR_ARG: it was freed before; MPI_ERR_RMA_SYNC: a
 * collective was started and not waited for. */
int hybrid_memory_free(hybrid_memory **memory);

/*
 * Local: whether this rank, when it ends a read phase, puts what others wrote and it has read back into memory; at
 * first it does not. Before a rank can write a line again that others have read, its processor must take the line out
 * of their caches, and between cores that share no cache this can take longer than a way through memory. It does not
 * change results. Where it pays depends on the processor, the collective and the size: try it.
 * MPI_ERR_UNSUPPORTED_OPERATION: the processor cannot.
 */
int hybrid_memory_set_eviction(hybrid_memory *memory, bool evicts);

/* A way to make the rounds of a memory. */
struct hybrid_way {
    enum hybrid_method method; /* of an allreduce or a reduce_scatter, else METHOD_AUTO */
    bool evicts;
};

/* What hybrid_memory_tune tries. Zero: all. */
struct hybrid_trials {
    const enum hybrid_method *methods; /* of an allreduce or a reduce_scatter */
    size_t method_count;               /* 0: AUTO, SLICES, LEADER and REDUCE */
    bool never_evicts;
};

/* One round as the application makes it, from hybrid_write_begin (or one of its short forms) to hybrid_read_end, with
 * what it writes and reads. method: for hybrid_allreduce or hybrid_reduce_scatter. Returns MPI_SUCCESS or an error
 * code, the same on all ranks. */
typedef int hybrid_round(hybrid_memory *memory, enum hybrid_method method, void *context);

/*
 * Finds out by trials in which way the application's rounds are fastest, sets the memory's eviction to it, and returns
 * it: the same on all ranks. Give its method to the calls: it is the one that AUTO, PAPER or EACH stand for at this
 * size. Other sizes, and other ways to write and read, may have another best way. The memory must be between two
 * rounds.
 *
 * The ways take turns, seven times each, in trials of at least half a millisecond; after a second no further turn
 * begins. Of each way the median counts, on the slowest rank. The first method without eviction is taken unless another
 * way is faster by more than 5 %. Results do not depend on the way, except that REDUCE reduces in the order of
 * MPI_Reduce: leave it out of the methods where the last bit counts.
 *
 * MPI_ERR_ARG: the memory, the round or a method does not exist; MPI_ERR_RMA_SYNC: the memory is in a phase, or `round`
 * makes no whole round of it. An error of `round` ends the trials.
 */
int hybrid_memory_tune(hybrid_memory *memory, const struct hybrid_trials *trials, hybrid_round *round, void *context,
                       struct hybrid_way *way);

/* Local: bytes of one buffer on this node, and of the whole window. */
int hybrid_memory_bytes(const hybrid_memory *memory, size_t *buffer_bytes, size_t *window_bytes);

/* ---- write phase (local, but it may wait for slow readers of the node) ---- */

/* Begins the round: the rank may write `bytes` bytes from `offset` of the buffer, which *own then points at. With 0
 * bytes it writes nothing, and *own is NULL. MPI_ERR_BUFFER: the buffer is too small. */
int hybrid_write_begin(hybrid_memory *memory, size_t offset, size_t bytes, void **own);

/* The same, for what a collective needs: the rank's block of an allgather; the message of a broadcast, NULL unless this
 * rank is the root; the input of an allreduce, or the blocks for all ranks of a reduce_scatter or an alltoall, in rank
 * order. */
int hybrid_write_block(hybrid_memory *memory, size_t block_bytes, void **own);
int hybrid_write_message(hybrid_memory *memory, size_t bytes, int root, void **own);
int hybrid_write_input(hybrid_memory *memory, size_t bytes, void **own);

/* ---- read phase (local) ---- */

/* Returns where the result begins: of a broadcast, an allgather or an allreduce the node's one copy, or where the
 * result is short, or reduced by METHOD_EACH, a copy of this rank's own; of a reduce_scatter this rank's block; of an
 * alltoall the blocks for this rank, in rank order. */
int hybrid_read(const hybrid_memory *memory, const void **result);

/* Ends the round. */
int hybrid_read_end(hybrid_memory *memory);

/* ---- collectives ---- */

/* Counts are in elements of the type, whose data must lie within its extent (MPI_ERR_TYPE). Where there is more than
 * one node, counts and displacements of the calls between leaders must fit into int (MPI_ERR_COUNT). */

/* Every rank has written its block of count elements (hybrid_write_block). */
int hybrid_allgather(hybrid_memory *memory, size_t count, MPI_Datatype type);

/* Blocks of different sizes. The parameters are computed once and serve any number of calls. */
typedef struct hybrid_gather hybrid_gather;

/* counts, displacements: [ranks], in elements. displacements NULL: one block after the other. Blocks must not overlap
 * (MPI_ERR_ARG). */
int hybrid_gather_create(hybrid_comm *comm, const size_t *counts, const size_t *displacements, hybrid_gather **gather);
int hybrid_gather_free(hybrid_gather **gather);

/* Begins the round: the rank may write its block. */
int hybrid_write_gather(hybrid_memory *memory, const hybrid_gather *gather, size_t element_bytes, void **own);
int hybrid_allgatherv(hybrid_memory *memory, hybrid_gather *gather, MPI_Datatype type);

/* The root has written the message (hybrid_write_message). MPI_ERR_ROOT: there is no such rank. */
int hybrid_broadcast(hybrid_memory *memory, size_t count, MPI_Datatype type, int root);

/*
 * Every rank has written its input (hybrid_write_input). All methods reduce in rank order within a node, and a result
 * does not depend on timing, except as the library's own MPI_Reduce and MPI_Allreduce do. An operation that does not
 * commute needs ranks in blocks (else MPI_ERR_OP); an operation that does not fit the type is MPI_ERR_OP.
 */
int hybrid_allreduce(hybrid_memory *memory, size_t count, MPI_Datatype type, MPI_Op op, enum hybrid_method method);

/* Every rank has written a block of count elements for each rank; it reads the reduced block with its own number. */
int hybrid_reduce_scatter(hybrid_memory *memory, size_t count, MPI_Datatype type, MPI_Op op, enum hybrid_method method);

/* Every rank has written a block of count elements for each rank; it reads a block from each. */
int hybrid_alltoall(hybrid_memory *memory, size_t count, MPI_Datatype type);

/*
 * The same in two steps: start makes the node's part and begins the leaders' calls, which may go on during what the
 * rank does next; wait ends them and begins the read phase. Between the two the rank must not touch the buffer.
 */
int hybrid_allgather_start(hybrid_memory *memory, size_t count, MPI_Datatype type);
int hybrid_allgatherv_start(hybrid_memory *memory, hybrid_gather *gather, MPI_Datatype type);
int hybrid_broadcast_start(hybrid_memory *memory, size_t count, MPI_Datatype type, int root);
int hybrid_allreduce_start(hybrid_memory *memory, size_t count, MPI_Datatype type, MPI_Op op,
                           enum hybrid_method method);
int hybrid_reduce_scatter_start(hybrid_memory *memory, size_t count, MPI_Datatype type, MPI_Op op,
                                enum hybrid_method method);
int hybrid_alltoall_start(hybrid_memory *memory, size_t count, MPI_Datatype type);
int hybrid_wait(hybrid_memory *memory);

#ifdef __cplusplus
}
#endif

#endif
