/*
 * alltoall - each rank writes a row with a block for every rank, and reads a row with a block from every rank. Blocks
 * between ranks of a node are copied once, by the rank that receives them; the leaders exchange the others meanwhile.
 *
 * A buffer has a row to send for each rank of the node, then a row to receive for each. Leaders send a node's blocks in
 * the order of their senders, and of each sender in the order of the receivers.
 */
#include "collective.h"
#include "error.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

static size_t block_bytes(const struct call *call) {
    return call->count * call->element_bytes;
}

static size_t stride_of(const hybrid_memory *m, const struct call *call) {
    return memory_stride(block_bytes(call) * (size_t)m->comm->ranks);
}

static char *sent_row(const hybrid_memory *m, const struct call *call, int node_rank) {
    return memory_buffer(m) + (size_t)node_rank * stride_of(m, call);
}

static char *received_row(const hybrid_memory *m, const struct call *call, int node_rank) {
    return sent_row(m, call, m->comm->node_ranks + node_rank);
}

static int check(hybrid_memory *m, const struct call *call) {
    size_t bytes = 0;
    size_t elements = 0;
    TRY(collective_multiply(call->count, call->element_bytes, &bytes));
    TRY(collective_multiply(bytes, (size_t)m->comm->ranks, &bytes));
    if (bytes > SIZE_MAX / 2) {
        return error_set(MPI_ERR_COUNT, "%zu bytes cannot be counted in rows", bytes);
    }
    TRY(collective_multiply(memory_stride(bytes), 2 * (size_t)m->comm->node_ranks, &bytes));
    TRY(memory_has(m, bytes));
    if (m->written_bytes > 0 && m->written_offset != (size_t)m->comm->node_rank * stride_of(m, call)) {
        return error_set(MPI_ERR_ARG, "rank %d wrote from byte %zu, and its row begins at byte %zu", m->comm->rank,
                         m->written_offset, (size_t)m->comm->node_rank * stride_of(m, call));
    }
    /* All ranks judge by the largest node that there can be, so that they agree. */
    TRY(collective_multiply(call->count, (size_t)m->comm->ranks, &elements));
    TRY(collective_multiply(elements, (size_t)m->comm->ranks, &elements));
    return collective_countable(m, elements);
}

static int before(hybrid_memory *m, const struct call *call) {
    const layout *l = m->comm->layout;
    const size_t block = block_bytes(call);
    TRY(step_all(m));
    for (int i = 0; i < m->comm->node_ranks; i++) {
        const size_t from = (size_t)layout_rank(l, m->comm->node_index, i) * block;
        memcpy(received_row(m, call, m->comm->node_rank) + from, sent_row(m, call, i) + (size_t)m->comm->rank * block,
               block);
    }
    return MPI_SUCCESS;
}

/* What a leader exchanges: all of it in its staging memory. */
struct exchange {
    int *counts; /* [nodes]: elements, to and from each */
    int *places;
    char *sent;
    char *received;
};

static size_t exchange_head(const hybrid_memory *m) {
    return memory_stride(2 * (size_t)m->comm->nodes * sizeof(int));
}

/* Of one direction, with room for one line: MPI refuses two buffers that begin at the same place, even empty ones. */
static size_t exchange_bytes(const hybrid_memory *m, const struct call *call) {
    return memory_stride(block_bytes(call) * (size_t)m->comm->ranks * (size_t)m->comm->node_ranks + 1);
}

static struct exchange exchange_of(const hybrid_memory *m, const struct call *call) {
    int *numbers = (int *)(void *)m->staging;
    char *data = m->staging + exchange_head(m);
    return (struct exchange){.counts = numbers,
                             .places = numbers + m->comm->nodes,
                             .sent = data,
                             .received = data + exchange_bytes(m, call)};
}

static int bridge(hybrid_memory *m, const struct call *call, MPI_Request *request) {
    const layout *l = m->comm->layout;
    const size_t block = block_bytes(call);
    TRY(memory_stage(m, call->kind, block, exchange_head(m) + 2 * exchange_bytes(m, call)));
    const struct exchange x = exchange_of(m, call);
    char *next = x.sent;
    int place = 0;
    for (int node = 0; node < m->comm->nodes; node++) {
        const int ranks = node == m->comm->node_index ? 0 : layout_node_ranks(l, node);
        x.counts[node] = (int)call->count * ranks * m->comm->node_ranks;
        x.places[node] = place;
        place += x.counts[node];
        for (int from = 0; from < m->comm->node_ranks; from++) {
            for (int to = 0; to < ranks; to++, next += block) {
                memcpy(next, sent_row(m, call, from) + (size_t)layout_rank(l, node, to) * block, block);
            }
        }
    }
    if (request == NULL) {
        TRY_MPI(MPI_Alltoallv(x.sent, x.counts, x.places, call->type, x.received, x.counts, x.places, call->type,
                              m->comm->bridge));
    } else {
        TRY_MPI(MPI_Ialltoallv(x.sent, x.counts, x.places, call->type, x.received, x.counts, x.places, call->type,
                               m->comm->bridge, request));
    }
    return MPI_SUCCESS;
}

/* Puts what has come from other nodes in the rows of this node's ranks. */
static void unpack(const hybrid_memory *m, const struct call *call) {
    const layout *l = m->comm->layout;
    const size_t block = block_bytes(call);
    const char *next = exchange_of(m, call).received;
    for (int node = 0; node < m->comm->nodes; node++) {
        const int ranks = node == m->comm->node_index ? 0 : layout_node_ranks(l, node);
        for (int from = 0; from < ranks; from++) {
            for (int to = 0; to < m->comm->node_ranks; to++, next += block) {
                memcpy(received_row(m, call, to) + (size_t)layout_rank(l, node, from) * block, next, block);
            }
        }
    }
}

static int after(hybrid_memory *m, const struct call *call, int status) {
    m->result = received_row(m, call, m->comm->node_rank);
    if (m->comm->nodes == 1) {
        return status; /* each rank has made its own row */
    }
    if (comm_leads(m->comm) && status == MPI_SUCCESS) {
        unpack(m, call);
    }
    return step_release(m, status);
}

const struct collective collective_alltoall = {
    .name = "hybrid_alltoall", .check = check, .before = before, .bridge = bridge, .after = after};

int hybrid_alltoall(hybrid_memory *memory, size_t count, MPI_Datatype type) {
    return collective_run(memory, &(struct call){.kind = &collective_alltoall, .count = count, .type = type});
}

int hybrid_alltoall_start(hybrid_memory *memory, size_t count, MPI_Datatype type) {
    return collective_start(memory, &(struct call){.kind = &collective_alltoall, .count = count, .type = type});
}
