/*
 * broadcast - the root writes the message in the copy of its node; its leader sends it to the others (Zhou et al. 2020,
 * section 4.3). In the root's node all ranks wait for the root, also the leader, which the paper's figure 10 omits; in
 * the others for their leader.
 */
#include "collective.h"
#include "error.h"

struct root {
    int node;
    int node_rank;
};

static struct root root_of(const hybrid_memory *m, const struct call *call) {
    struct root root;
    layout_translate(m->comm->layout, call->root, &root.node, &root.node_rank);
    return root;
}

static int check(hybrid_memory *m, const struct call *call) {
    size_t bytes = 0;
    if (call->root < 0 || call->root >= m->comm->ranks) {
        return error_set(MPI_ERR_ROOT, "root %d: the parent has ranks 0 to %d", call->root, m->comm->ranks - 1);
    }
    TRY(collective_multiply(call->count, call->element_bytes, &bytes));
    TRY(memory_has(m, bytes));
    return collective_countable(m, call->count);
}

/* A short message comes in the cache line of its flag: one line travels to each rank, instead of two. */
static bool fits_note(const hybrid_memory *m, const struct call *call) {
    return m->notes != NULL && m->comm->nodes == 1 && m->sync == HYBRID_SPIN &&
           call->count * call->element_bytes <= NOTE_BYTES;
}

static int before(hybrid_memory *m, const struct call *call) {
    const struct root root = root_of(m, call);
    if (root.node != m->comm->node_index) {
        return MPI_SUCCESS;
    }
    if (fits_note(m, call)) {
        return m->comm->node_rank == root.node_rank
                   ? step_give_note(m, memory_buffer(m), call->count * call->element_bytes)
                   : MPI_SUCCESS;
    }
    TRY(step_from(m, root.node_rank));
    return comm_leads(m->comm) ? step_wait_for(m, root.node_rank) : MPI_SUCCESS;
}

static int bridge(hybrid_memory *m, const struct call *call, MPI_Request *request) {
    const int root = root_of(m, call).node;
    if (request == NULL) {
        TRY_MPI(MPI_Bcast(memory_buffer(m), (int)call->count, call->type, root, m->comm->bridge));
    } else {
        TRY_MPI(MPI_Ibcast(memory_buffer(m), (int)call->count, call->type, root, m->comm->bridge, request));
    }
    return MPI_SUCCESS;
}

static int after(hybrid_memory *m, const struct call *call, int status) {
    const struct root root = root_of(m, call);
    m->result = memory_buffer(m);
    m->result_bytes = call->count * call->element_bytes;
    if (root.node != m->comm->node_index) {
        return step_release(m, status);
    }
    int code = MPI_SUCCESS;
    if (!fits_note(m, call)) {
        code = step_wait_for(m, root.node_rank);
    } else if (m->comm->node_rank != root.node_rank) {
        code = step_take_note(m, root.node_rank, m->note, m->result_bytes);
        m->result = m->note;
        m->result_bytes = 0; /* not the node's one copy */
    }
    return status == MPI_SUCCESS ? code : status;
}

const struct collective collective_broadcast = {
    .name = "hybrid_broadcast", .check = check, .before = before, .bridge = bridge, .after = after};

int hybrid_broadcast(hybrid_memory *memory, size_t count, MPI_Datatype type, int root) {
    return collective_run(memory,
                          &(struct call){.kind = &collective_broadcast, .count = count, .type = type, .root = root});
}

int hybrid_broadcast_start(hybrid_memory *memory, size_t count, MPI_Datatype type, int root) {
    return collective_start(memory,
                            &(struct call){.kind = &collective_broadcast, .count = count, .type = type, .root = root});
}
