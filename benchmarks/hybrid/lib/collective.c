#include "collective.h"

#include "error.h"
#include "guard.h"

#include <limits.h>
#include <string.h>

int collective_multiply(size_t a, size_t b, size_t *product) {
    return __builtin_mul_overflow(a, b, product)
               ? error_set(MPI_ERR_COUNT, "%zu times %zu bytes or elements cannot be counted", a, b)
               : MPI_SUCCESS;
}

int collective_countable(const hybrid_memory *m, size_t elements) {
    return m->comm->nodes == 1 || elements <= INT_MAX
               ? MPI_SUCCESS
               : error_set(MPI_ERR_COUNT, "%zu elements: calls between nodes count at most %d", elements, INT_MAX);
}

/* ---- types and operations ---- */

static int check_type(struct call *call) {
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    MPI_Aint true_lower = 0;
    MPI_Aint true_extent = 0;
    if (call->type == MPI_DATATYPE_NULL) {
        return error_set(MPI_ERR_TYPE, "the type is MPI_DATATYPE_NULL");
    }
    TRY_MPI(MPI_Type_get_extent(call->type, &lower, &extent));
    TRY_MPI(MPI_Type_get_true_extent(call->type, &true_lower, &true_extent));
    call->element_bytes = (size_t)extent;
    return lower == 0 && true_lower == 0 && extent > 0 && true_extent <= extent
               ? MPI_SUCCESS
               : error_set(MPI_ERR_TYPE, "the type's data lie outside of its extent of %lld bytes, or it has none",
                           (long long)extent);
}

/* An operation that does not fit the type is found by reducing one element among this rank alone. */
static int check_operation(const hybrid_memory *m, const struct call *call) {
    enum { MOST_ELEMENT = 4096 };
    static _Alignas(FLAGS_LINE) char element[2][MOST_ELEMENT];
    int commutes = 0;
    MPI_Comm self = MPI_COMM_NULL;
    if (call->op == MPI_OP_NULL || call->op == MPI_REPLACE || call->op == MPI_NO_OP) {
        return error_set(MPI_ERR_OP,
                         "the operation reduces nothing: MPI_OP_NULL, MPI_REPLACE and MPI_NO_OP are for other calls");
    }
    TRY_MPI(MPI_Op_commutative(call->op, &commutes));
    if (!commutes && !layout_blocks(m->comm->layout)) {
        return error_set(MPI_ERR_OP,
                         "the operation does not commute, and the ranks of nodes are not consecutive: their "
                         "order cannot be kept");
    }
    if (call->element_bytes > MOST_ELEMENT) {
        return MPI_SUCCESS; /* a type of the application's own, which has an operation of its own */
    }
    TRY_MPI(MPI_Comm_dup(MPI_COMM_SELF, &self));
    TRY_MPI(MPI_Comm_set_errhandler(self, MPI_ERRORS_RETURN));
    memset(element, 0, sizeof element);
    const int code =
        error_of_mpi(MPI_Allreduce(element[0], element[1], 1, call->type, call->op, self), "MPI_Allreduce");
    TRY_MPI(MPI_Comm_free(&self));
    if (code != MPI_SUCCESS) {
        char reason[256];
        hybrid_last_error(reason, sizeof reason);
        return error_set(MPI_ERR_OP, "the operation does not fit the type: %s", reason);
    }
    return MPI_SUCCESS;
}

static int check_call(hybrid_memory *m, struct call *call) {
    if (m->last.type == call->type && m->last.op == call->op && m->last.kind == call->kind) {
        call->element_bytes = m->last.element_bytes;
    } else {
        TRY(check_type(call));
        if (call->kind->reduces) {
            TRY(check_operation(m, call));
        }
    }
    TRY(call->kind->check(m, call));
    m->last = *call;
    return MPI_SUCCESS;
}

/* ---- the course ---- */

static int begin(hybrid_memory *m, const struct call *given, MPI_Request *request) {
    struct call call = *given;
    TRY(memory_check(m, PHASE_WRITE, call.kind->name));
    m->sync = m->comm->sync;
    TRY(guard_compare(m, &call, call.kind->name, check_call(m, &call)));
    m->call = call;
    m->request = MPI_REQUEST_NULL;
    m->phase = PHASE_STARTED;
    m->result_bytes = 0;
    m->status = guard_set(m);
    if (m->status == MPI_SUCCESS) {
        m->status = call.kind->before(m, &m->call);
    }
    if (m->status == MPI_SUCCESS && comm_leads(m->comm) && m->comm->nodes > 1) {
        m->status = call.kind->bridge(m, &m->call, request);
    }
    return MPI_SUCCESS;
}

static int end(hybrid_memory *m) {
    TRY(guard_set(m));
    if (m->request != MPI_REQUEST_NULL) {
        m->status = error_of_mpi(MPI_Wait(&m->request, MPI_STATUS_IGNORE), "MPI_Wait");
    }
    m->status = m->call.kind->after(m, &m->call, m->status);
    m->phase = PHASE_READ;
    TRY(guard_set(m));
    return m->status;
}

int collective_start(hybrid_memory *m, const struct call *call) {
    TRY(begin(m, call, m != NULL ? &m->request : NULL));
    return guard_hide(m);
}

int collective_run(hybrid_memory *m, const struct call *call) {
    TRY(begin(m, call, NULL));
    return end(m);
}

int hybrid_wait(hybrid_memory *memory) {
    TRY(memory_check(memory, PHASE_STARTED, "hybrid_wait"));
    return end(memory);
}
