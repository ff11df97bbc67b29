/*
 * allgather - each rank writes its block in the node's copy; the leaders exchange the blocks of nodes (Zhou et al.
 * 2020, section 4.2).
 */
#include "collective.h"
#include "error.h"
#include "gather.h"

#include <string.h>

static int check(hybrid_memory *m, const struct call *call) {
    const hybrid_gather *g = call->gather;
    size_t bytes = 0;
    TRY(collective_multiply(g->total, call->element_bytes, &bytes));
    TRY(memory_has(m, bytes));
    TRY(collective_countable(m, g->total));
    if (m->written_offset != g->displacement * call->element_bytes && m->written_bytes > 0) {
        return error_set(MPI_ERR_ARG, "rank %d wrote from byte %zu, and its block begins at byte %zu", m->comm->rank,
                         m->written_offset, g->displacement * call->element_bytes);
    }
    return MPI_SUCCESS;
}

/* Copies the blocks of a node from the buffer to the staging memory, or back. */
static void copy_blocks(const hybrid_memory *m, const struct call *call, int node, bool back) {
    const hybrid_gather *g = call->gather;
    const layout *l = m->comm->layout;
    char *staged = m->staging + (size_t)g->node_places[node] * call->element_bytes;
    for (int i = 0; i < layout_node_ranks(l, node); i++) {
        const int rank = layout_rank(l, node, i);
        const size_t bytes = gather_count(g, rank) * call->element_bytes;
        char *block = memory_buffer(m) + gather_displacement(g, rank) * call->element_bytes;
        memcpy(back ? block : staged, back ? staged : block, bytes);
        staged += bytes;
    }
}

static int before(hybrid_memory *m, const struct call *call) {
    (void)call;
    return m->comm->nodes > 1 ? step_gather(m) : MPI_SUCCESS;
}

static int bridge(hybrid_memory *m, const struct call *call, MPI_Request *request) {
    const hybrid_gather *g = call->gather;
    void *data = memory_buffer(m);
    if (!g->direct) {
        const size_t bytes = g->elements * call->element_bytes;
        TRY(memory_stage(m, call->kind, bytes, bytes));
        copy_blocks(m, call, m->comm->node_index, false);
        data = m->staging;
    }
    /* A library may be faster where it is told that all send as much. */
    if (g->even && request == NULL) {
        TRY_MPI(
            MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, g->node_counts[0], call->type, m->comm->bridge));
    } else if (g->even) {
        TRY_MPI(MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, g->node_counts[0], call->type, m->comm->bridge,
                               request));
    } else if (request == NULL) {
        TRY_MPI(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, g->node_counts, g->node_places, call->type,
                               m->comm->bridge));
    } else {
        TRY_MPI(MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, g->node_counts, g->node_places, call->type,
                                m->comm->bridge, request));
    }
    return MPI_SUCCESS;
}

static int after(hybrid_memory *m, const struct call *call, int status) {
    m->result = memory_buffer(m);
    m->result_bytes = call->gather->total * call->element_bytes;
    if (m->comm->nodes == 1) {
        const int code = step_all(m);
        return status == MPI_SUCCESS ? code : status;
    }
    if (comm_leads(m->comm) && status == MPI_SUCCESS && !call->gather->direct) {
        for (int node = 0; node < m->comm->nodes; node++) {
            if (node != m->comm->node_index) {
                copy_blocks(m, call, node, true);
            }
        }
    }
    return step_release(m, status);
}

const struct collective collective_allgather = {
    .name = "hybrid_allgather", .check = check, .before = before, .bridge = bridge, .after = after};

/* ---- the public functions ---- */

/* The parameters of blocks of the same size are kept until another size comes. */
static int regular(hybrid_memory *m, size_t count) {
    size_t total = 0;
    TRY(memory_check(m, PHASE_WRITE, "hybrid_allgather"));
    if (m->regular != NULL && m->regular->uniform == count) {
        return MPI_SUCCESS;
    }
    TRY(collective_multiply(count, (size_t)m->comm->ranks, &total));
    if (m->regular != NULL) {
        TRY(hybrid_gather_free(&m->regular));
    }
    return gather_create_uniform(m->comm, count, &m->regular);
}

static int check_gather(const hybrid_memory *m, const hybrid_gather *gather) {
    TRY(memory_check(m, PHASE_WRITE, "hybrid_allgatherv"));
    return gather != NULL && gather->comm == m->comm
               ? MPI_SUCCESS
               : error_set(MPI_ERR_ARG, "hybrid_allgatherv: the parameters are none, or those of another hybrid_comm");
}

int hybrid_write_gather(hybrid_memory *memory, const hybrid_gather *gather, size_t element_bytes, void **own) {
    TRY(memory_check(memory, PHASE_IDLE, "hybrid_write_gather"));
    if (gather == NULL || gather->comm != memory->comm) {
        return error_set(MPI_ERR_ARG, "hybrid_write_gather: the parameters are none, or those of another hybrid_comm");
    }
    size_t bytes = 0;
    TRY(collective_multiply(gather->total, element_bytes, &bytes));
    TRY(memory_has(memory, bytes));
    return hybrid_write_begin(memory, gather->displacement * element_bytes, gather->count * element_bytes, own);
}

int hybrid_allgather(hybrid_memory *memory, size_t count, MPI_Datatype type) {
    TRY(regular(memory, count));
    return collective_run(
        memory, &(struct call){.kind = &collective_allgather, .count = count, .type = type, .gather = memory->regular});
}

int hybrid_allgather_start(hybrid_memory *memory, size_t count, MPI_Datatype type) {
    TRY(regular(memory, count));
    return collective_start(
        memory, &(struct call){.kind = &collective_allgather, .count = count, .type = type, .gather = memory->regular});
}

int hybrid_allgatherv(hybrid_memory *memory, hybrid_gather *gather, MPI_Datatype type) {
    TRY(check_gather(memory, gather));
    return collective_run(memory, &(struct call){.kind = &collective_allgather, .type = type, .gather = gather});
}

int hybrid_allgatherv_start(hybrid_memory *memory, hybrid_gather *gather, MPI_Datatype type) {
    TRY(check_gather(memory, gather));
    return collective_start(memory, &(struct call){.kind = &collective_allgather, .type = type, .gather = gather});
}
