/*
 * reduce - allreduce and reduce_scatter. Each rank writes its input in a row of the node's memory; the rows are reduced
 * within the node, in rank order; then the leaders reduce the results of nodes (Zhou et al. 2020, section 4.4).
 *
 * A buffer has a row for each rank of the node, then a row for the node's result, then one for the result of all nodes.
 * What the ranks reduce themselves replaces the first row instead: fewer cache lines move between cores. Where there is
 * one node, the node's result is the result.
 */
#include "collective.h"
#include "error.h"
#include "eviction.h"
#include "fold.h"

#include <limits.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The elements of a row. */
static size_t row_count(const hybrid_memory *m, const struct call *call) {
    return call->kind == &collective_reduce_scatter ? call->count * (size_t)m->comm->ranks : call->count;
}

static size_t stride_of(const hybrid_memory *m, const struct call *call) {
    return memory_stride(row_count(m, call) * call->element_bytes);
}

static char *row(const hybrid_memory *m, const struct call *call, int number) {
    return memory_buffer(m) + (size_t)number * stride_of(m, call);
}

static char *whole_result(const hybrid_memory *m, const struct call *call) {
    return row(m, call, m->comm->node_ranks + 1);
}

/* Of n ranks each reads n rows, which grows with n squared, and saves the second wait, whose time does not. At the
 * cut-off of 2 KiB the rows of 8 ranks are 16 KiB, half of a usual nearest cache. Reasoned: no machine with more than
 * two cores was at hand. */
enum { MOST_WHO_REDUCE_ALL = 8 };

/* What AUTO does up to the cut-off. */
static enum hybrid_method small_method(const hybrid_comm *comm) {
    return comm->nodes == 1 && comm->node_ranks <= MOST_WHO_REDUCE_ALL ? HYBRID_METHOD_EACH : HYBRID_METHOD_LEADER;
}

/* What it does above. Of two ranks each reads as many bytes of the other either way, but in slices they wait once
 * more. */
static enum hybrid_method large_method(const hybrid_comm *comm, const struct collective *kind) {
    const bool pair = comm->nodes == 1 && comm->node_ranks == 2;
    return pair && kind == &collective_allreduce ? HYBRID_METHOD_EACH : HYBRID_METHOD_SLICES;
}

enum hybrid_method reduce_divided(const hybrid_comm *comm, const struct collective *kind, enum hybrid_method method,
                                  bool small) {
    if (method == HYBRID_METHOD_PAPER) {
        return small ? HYBRID_METHOD_LEADER : HYBRID_METHOD_REDUCE;
    }
    return small ? small_method(comm) : large_method(comm, kind);
}

enum hybrid_method reduce_method(const hybrid_memory *m, const struct call *call) {
    const bool small = row_count(m, call) * call->element_bytes <= m->comm->cutoff_bytes;
    switch (call->method) {
    case HYBRID_METHOD_AUTO:
    case HYBRID_METHOD_PAPER:
        return reduce_divided(m->comm, call->kind, call->method, small);
    case HYBRID_METHOD_EACH:
        return m->comm->nodes == 1 ? HYBRID_METHOD_EACH : HYBRID_METHOD_LEADER;
    default:
        return call->method;
    }
}

/* MPI_Reduce must not write where it reads. */
static char *node_result(const hybrid_memory *m, const struct call *call) {
    return row(m, call, reduce_method(m, call) == HYBRID_METHOD_REDUCE ? m->comm->node_ranks : 0);
}

int reduce_check_method(enum hybrid_method method) {
    return method >= HYBRID_METHOD_AUTO && method <= HYBRID_METHOD_EACH
               ? MPI_SUCCESS
               : error_set(MPI_ERR_ARG, "method %d: it is one of enum hybrid_method", (int)method);
}

static int check(hybrid_memory *m, const struct call *call) {
    size_t elements = call->count;
    size_t bytes = 0;
    if (call->kind == &collective_reduce_scatter) {
        TRY(collective_multiply(call->count, (size_t)m->comm->ranks, &elements));
    }
    TRY(collective_multiply(elements, call->element_bytes, &bytes));
    if (bytes > SIZE_MAX / 2) {
        return error_set(MPI_ERR_COUNT, "%zu bytes cannot be counted in rows", bytes);
    }
    TRY(collective_multiply(memory_stride(bytes), (size_t)m->comm->node_ranks + 2, &bytes));
    TRY(memory_has(m, bytes));
    TRY(reduce_check_method(call->method));
    if (reduce_method(m, call) == HYBRID_METHOD_REDUCE && elements > INT_MAX) {
        return error_set(MPI_ERR_COUNT, "%zu elements: MPI_Reduce counts at most %d; take another method", elements,
                         INT_MAX);
    }
    if (m->written_bytes > 0 && m->written_offset != (size_t)m->comm->node_rank * stride_of(m, call)) {
        return error_set(MPI_ERR_ARG, "rank %d wrote from byte %zu, and its input begins at byte %zu", m->comm->rank,
                         m->written_offset, (size_t)m->comm->node_rank * stride_of(m, call));
    }
    return collective_countable(m, elements);
}

/* ---- within the node ---- */

/* The rows of the node's ranks. */
static struct fold fold_of(const hybrid_memory *m, const struct call *call) {
    return (struct fold){.rows = memory_buffer(m),
                         .stride = stride_of(m, call),
                         .count = m->comm->node_ranks,
                         .element_bytes = call->element_bytes,
                         .type = call->type,
                         .op = call->op};
}

static int fold_slice(const hybrid_memory *m, const struct call *call, size_t begin, size_t end, char *result) {
    const struct fold fold = fold_of(m, call);
    return fold_rows(&fold, begin, end, result);
}

/* This rank's slice begins and ends at whole cache lines, where the elements allow it. */
static void slice_of(const hybrid_memory *m, const struct call *call, size_t *begin, size_t *end) {
    const size_t count = row_count(m, call);
    const size_t ranks = (size_t)m->comm->node_ranks;
    const size_t lined = FLAGS_LINE / call->element_bytes > 0 ? FLAGS_LINE / call->element_bytes : 1;
    const size_t share = (count / ranks + (count % ranks != 0) + lined - 1) / lined * lined;
    const size_t first = (size_t)m->comm->node_rank * share;
    *begin = first < count ? first : count;
    *end = *begin + share < count ? *begin + share : count;
}

/* Makes m->own_result: of two ranks each has one of the rows that a single node leaves free. */
static int place_own(hybrid_memory *m, const struct call *call) {
    const size_t bytes = row_count(m, call) * call->element_bytes;
    if (m->comm->node_ranks <= 2) {
        m->own_result = row(m, call, m->comm->node_ranks + m->comm->node_rank);
        return MPI_SUCCESS;
    }
    if (bytes > m->own_bytes) {
        free(m->own_memory);
        m->own_memory = malloc(bytes);
        m->own_bytes = m->own_memory != NULL ? bytes : 0;
        if (m->own_memory == NULL) {
            return error_set(MPI_ERR_NO_MEM, "no memory for a result of %zu bytes", bytes);
        }
    }
    m->own_result = m->own_memory;
    return MPI_SUCCESS;
}

/* All elements, by each rank for itself. */
static int reduce_each(hybrid_memory *m, const struct call *call) {
    alignas(max_align_t) char notes[MOST_WHO_REDUCE_ALL * NOTE_STRIDE];
    const size_t bytes = row_count(m, call) * call->element_bytes;
    struct fold fold = fold_of(m, call);
    fold.apart = true;
    TRY(place_own(m, call));
    if (m->notes != NULL && m->sync == HYBRID_SPIN && bytes <= NOTE_BYTES &&
        m->comm->node_ranks <= MOST_WHO_REDUCE_ALL) {
        TRY(step_notes(m, row(m, call, m->comm->node_rank), bytes, notes));
        fold.rows = notes;
        fold.stride = NOTE_STRIDE;
    } else {
        TRY(step_all(m));
    }
    TRY(fold_rows(&fold, 0, row_count(m, call), m->own_result));
    for (int i = 0; i < m->comm->node_ranks; i++) {
        if (i != m->comm->node_rank) {
            eviction_of(m, row(m, call, i), bytes);
        }
    }
    return MPI_SUCCESS;
}

static int reduce_node(hybrid_memory *m, const struct call *call) {
    size_t begin = 0;
    size_t end = row_count(m, call);
    switch (reduce_method(m, call)) {
    case HYBRID_METHOD_REDUCE:
        TRY_MPI(MPI_Win_sync(m->win));
        TRY_MPI(MPI_Reduce(row(m, call, m->comm->node_rank), comm_leads(m->comm) ? node_result(m, call) : NULL,
                           (int)end, call->type, call->op, 0, m->comm->node));
        return MPI_SUCCESS;
    case HYBRID_METHOD_LEADER:
        TRY(step_gather(m));
        return comm_leads(m->comm) ? fold_slice(m, call, begin, end, node_result(m, call)) : MPI_SUCCESS;
    case HYBRID_METHOD_EACH:
        return reduce_each(m, call);
    default:
        TRY(step_all(m));
        slice_of(m, call, &begin, &end);
        TRY(fold_slice(m, call, begin, end, node_result(m, call)));
        return m->comm->nodes > 1 ? step_gather(m) : MPI_SUCCESS;
    }
}

/* The end of the call: after slices of a single node everybody waits for everybody, otherwise for the leader; where
 * each rank has reduced for itself, for nobody. */
static int leave(hybrid_memory *m, const struct call *call, int status) {
    const enum hybrid_method method = reduce_method(m, call);
    if (method == HYBRID_METHOD_EACH) {
        return status;
    }
    if (m->comm->nodes > 1 || method != HYBRID_METHOD_SLICES) {
        return step_release(m, status);
    }
    const int code = step_all(m);
    return status == MPI_SUCCESS ? code : status;
}

/* Where the result of a single node lies. */
static const char *single_result(const hybrid_memory *m, const struct call *call) {
    return reduce_method(m, call) == HYBRID_METHOD_EACH ? m->own_result : node_result(m, call);
}

/* ---- allreduce ---- */

static int allreduce_bridge(hybrid_memory *m, const struct call *call, MPI_Request *request) {
    const char *in = node_result(m, call);
    char *out = whole_result(m, call);
    if (request == NULL) {
        TRY_MPI(MPI_Allreduce(in, out, (int)call->count, call->type, call->op, m->comm->bridge));
    } else {
        TRY_MPI(MPI_Iallreduce(in, out, (int)call->count, call->type, call->op, m->comm->bridge, request));
    }
    return MPI_SUCCESS;
}

static int allreduce_after(hybrid_memory *m, const struct call *call, int status) {
    m->result = m->comm->nodes > 1 ? whole_result(m, call) : single_result(m, call);
    m->result_bytes = reduce_method(m, call) == HYBRID_METHOD_EACH ? 0 : call->count * call->element_bytes;
    return leave(m, call, status);
}

const struct collective collective_allreduce = {.name = "hybrid_allreduce",
                                                .reduces = true,
                                                .check = check,
                                                .before = reduce_node,
                                                .bridge = allreduce_bridge,
                                                .after = allreduce_after};

static struct call allreduce_call(size_t count, MPI_Datatype type, MPI_Op op, enum hybrid_method method) {
    return (struct call){.kind = &collective_allreduce, .count = count, .type = type, .op = op, .method = method};
}

int hybrid_allreduce(hybrid_memory *memory, size_t count, MPI_Datatype type, MPI_Op op, enum hybrid_method method) {
    const struct call call = allreduce_call(count, type, op, method);
    return collective_run(memory, &call);
}

int hybrid_allreduce_start(hybrid_memory *memory, size_t count, MPI_Datatype type, MPI_Op op,
                           enum hybrid_method method) {
    const struct call call = allreduce_call(count, type, op, method);
    return collective_start(memory, &call);
}

/* ---- reduce_scatter ---- */

/* Leaders reduce the blocks in the order of nodes: the ranks' order where these are in blocks. The staging memory has
 * the counts of nodes, and then, unless ranks are in blocks, the blocks. */
static int reduce_scatter_bridge(hybrid_memory *m, const struct call *call, MPI_Request *request) {
    const layout *l = m->comm->layout;
    const size_t block = call->count * call->element_bytes;
    const size_t head = memory_stride((size_t)m->comm->nodes * sizeof(int));
    const size_t staged = layout_blocks(l) ? 0 : block * (size_t)m->comm->ranks;
    TRY(memory_stage(m, call->kind, block, head + staged));
    int *counts = (int *)(void *)m->staging;
    const char *in = node_result(m, call);
    char *out = whole_result(m, call);
    char *next = m->staging + head;
    for (int node = 0; node < m->comm->nodes; node++) {
        const int ranks = layout_node_ranks(l, node);
        counts[node] = (int)call->count * ranks;
        for (int i = 0; i < ranks && staged > 0; i++, next += block) {
            memcpy(next, in + (size_t)layout_rank(l, node, i) * block, block);
        }
    }
    in = staged > 0 ? m->staging + head : in;
    if (request == NULL) {
        TRY_MPI(MPI_Reduce_scatter(in, out, counts, call->type, call->op, m->comm->bridge));
    } else {
        TRY_MPI(MPI_Ireduce_scatter(in, out, counts, call->type, call->op, m->comm->bridge, request));
    }
    return MPI_SUCCESS;
}

static int reduce_scatter_after(hybrid_memory *m, const struct call *call, int status) {
    const size_t block = call->count * call->element_bytes;
    m->result = m->comm->nodes > 1 ? whole_result(m, call) + (size_t)m->comm->node_rank * block
                                   : single_result(m, call) + (size_t)m->comm->rank * block;
    return leave(m, call, status);
}

const struct collective collective_reduce_scatter = {.name = "hybrid_reduce_scatter",
                                                     .reduces = true,
                                                     .check = check,
                                                     .before = reduce_node,
                                                     .bridge = reduce_scatter_bridge,
                                                     .after = reduce_scatter_after};

static struct call reduce_scatter_call(size_t count, MPI_Datatype type, MPI_Op op, enum hybrid_method method) {
    return (struct call){.kind = &collective_reduce_scatter, .count = count, .type = type, .op = op, .method = method};
}

int hybrid_reduce_scatter(hybrid_memory *memory, size_t count, MPI_Datatype type, MPI_Op op,
                          enum hybrid_method method) {
    const struct call call = reduce_scatter_call(count, type, op, method);
    return collective_run(memory, &call);
}

int hybrid_reduce_scatter_start(hybrid_memory *memory, size_t count, MPI_Datatype type, MPI_Op op,
                                enum hybrid_method method) {
    const struct call call = reduce_scatter_call(count, type, op, method);
    return collective_start(memory, &call);
}
