#include "statements.h"

#include "fail_mpi.h"
#include "mpi_forms.h"

#include <string.h>

#define SUMMED MPI_DOUBLE, MPI_SUM

/* ---- the calls ---- */

/* MPI takes one pointer for both roles of a broadcast; at the root it only reads. */
static void *bcast_buffer(const struct room *c) {
    union {
        const void *constant;
        void *plain;
    } sent = {c->send};
    return c->rank == c->root ? sent.plain : c->result;
}

/* The rank's own block of a vector. */
static double *own_block(const struct room *c, double *vector) {
    return vector + (ptrdiff_t)c->rank * c->block;
}

#define CALL(name, ...)                                                                                                \
    static int name(const struct room *c, MPI_Request *request) {                                                      \
        return __VA_ARGS__;                                                                                            \
    }
#define NONBLOCKING(name, ...)                                                                                         \
    static int i##name(const struct room *c, MPI_Request *request) {                                                   \
        return FORM_I##name(__VA_ARGS__, request);                                                                     \
    }
#define PERSISTENT(name, Name, ...)                                                                                    \
    static int name##_init(const struct room *c, MPI_Request *request) {                                               \
        return FORM_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, request);                                                \
    }

/* The arguments, which all forms share. */
#define BARRIER c->comm
#define BCAST bcast_buffer(c), c->count, MPI_DOUBLE, c->root, c->comm
#define REDUCE c->send, c->result, c->count, SUMMED, c->root, c->comm
#define ALLREDUCE c->send, c->result, c->count, SUMMED, c->comm
#define GATHER c->send, c->block, MPI_DOUBLE, c->result, c->block, MPI_DOUBLE, c->root, c->comm
#define SCATTER c->send, c->block, MPI_DOUBLE, own_block(c, c->result), c->block, MPI_DOUBLE, c->root, c->comm
#define ALLGATHER c->send, c->block, MPI_DOUBLE, c->result, c->block, MPI_DOUBLE, c->comm
#define ALLTOALL c->send, c->block, MPI_DOUBLE, c->result, c->block, MPI_DOUBLE, c->comm

CALL(barrier, MPI_Barrier(BARRIER))
CALL(bcast, MPI_Bcast(BCAST))
CALL(reduce, MPI_Reduce(REDUCE))
CALL(allreduce, MPI_Allreduce(ALLREDUCE))
CALL(gather, MPI_Gather(GATHER))
CALL(scatter, MPI_Scatter(SCATTER))
CALL(allgather, MPI_Allgather(ALLGATHER))
CALL(alltoall, MPI_Alltoall(ALLTOALL))
CALL(reduce_scatter_block,
     MPI_Reduce_scatter_block(c->send, own_block(c, c->result), c->block, MPI_DOUBLE, MPI_SUM, c->comm))
CALL(scan, MPI_Scan(c->send, c->result, c->count, SUMMED, c->comm))

NONBLOCKING(barrier, BARRIER)
NONBLOCKING(bcast, BCAST)
NONBLOCKING(reduce, REDUCE)
NONBLOCKING(allreduce, ALLREDUCE)
NONBLOCKING(gather, GATHER)
NONBLOCKING(scatter, SCATTER)
NONBLOCKING(allgather, ALLGATHER)
NONBLOCKING(alltoall, ALLTOALL)

PERSISTENT(barrier, Barrier, BARRIER)
PERSISTENT(allreduce, Allreduce, ALLREDUCE)
PERSISTENT(allgather, Allgather, ALLGATHER)
PERSISTENT(alltoall, Alltoall, ALLTOALL)

/* With blocks of given lengths and places, which are those of the plain form. */
CALL(gatherv,
     MPI_Gatherv(c->send, c->block, MPI_DOUBLE, c->result, c->counts, c->displacements, MPI_DOUBLE, c->root, c->comm))
CALL(scatterv, MPI_Scatterv(c->send, c->counts, c->displacements, MPI_DOUBLE, own_block(c, c->result), c->block,
                            MPI_DOUBLE, c->root, c->comm))
CALL(allgatherv,
     MPI_Allgatherv(c->send, c->block, MPI_DOUBLE, c->result, c->counts, c->displacements, MPI_DOUBLE, c->comm))
CALL(alltoallv, MPI_Alltoallv(c->send, c->counts, c->displacements, MPI_DOUBLE, c->result, c->counts, c->displacements,
                              MPI_DOUBLE, c->comm))
CALL(alltoallw, MPI_Alltoallw(c->send, c->counts, c->displacements_bytes, c->types, c->result, c->counts,
                              c->displacements_bytes, c->types, c->comm))
CALL(reduce_scatter, MPI_Reduce_scatter(c->send, own_block(c, c->result), c->counts, SUMMED, c->comm))

/* Halves of what another call does whole: the first leaves its data in `middle`, the second takes them there, or in the
 * result of the root. */
CALL(bcast_result, MPI_Bcast(c->result, c->count, MPI_DOUBLE, c->root, c->comm))
CALL(reduce_to_middle, MPI_Reduce(c->send, c->middle, c->count, SUMMED, c->root, c->comm))
CALL(reduce_scatter_to_middle, MPI_Reduce_scatter_block(c->send, c->middle, c->block, SUMMED, c->comm))
CALL(scatter_to_middle, MPI_Scatter(c->send, c->block, MPI_DOUBLE, c->middle, c->block, MPI_DOUBLE, c->root, c->comm))
CALL(scatter_middle,
     MPI_Scatter(c->middle, c->block, MPI_DOUBLE, own_block(c, c->result), c->block, MPI_DOUBLE, c->root, c->comm))
CALL(gather_middle, MPI_Gather(c->middle, c->block, MPI_DOUBLE, c->result, c->block, MPI_DOUBLE, c->root, c->comm))
CALL(allgather_middle, MPI_Allgather(c->middle, c->block, MPI_DOUBLE, c->result, c->block, MPI_DOUBLE, c->comm))

/* Rank 0 gets nothing from MPI_Exscan: its own vector is its result. */
static int exscan_reduce_local(const struct room *c, MPI_Request *request) {
    const int code = MPI_Exscan(c->send, c->result, c->count, SUMMED, c->comm);
    if (code != MPI_SUCCESS) {
        return code;
    }
    if (c->rank == 0) {
        memcpy(c->result, c->send, (size_t)c->count * sizeof *c->send);
        return MPI_SUCCESS;
    }
    return MPI_Reduce_local(c->send, c->result, c->count, SUMMED);
}

CALL(allreduce_element, MPI_Allreduce(c->send, c->result, 1, SUMMED, c->comm))
CALL(allreduce_on_copy, MPI_Allreduce(c->send, c->result, c->count, SUMMED, c->copy))
CALL(allreduce_of_half,
     c->half == MPI_COMM_NULL ? MPI_SUCCESS : MPI_Allreduce(c->send, c->result, c->count, SUMMED, c->half))
CALL(alltoall_of_half, c->half == MPI_COMM_NULL
                           ? MPI_SUCCESS
                           : MPI_Alltoall(c->send, c->block, MPI_DOUBLE, c->result, c->block, MPI_DOUBLE, c->half))
CALL(bcast_whole, MPI_Bcast(bcast_buffer(c), 1, c->whole, c->root, c->comm))

/* Messages between the two ranks of a pair. */
#define FROM_PARTNER c->result, c->count, MPI_DOUBLE, c->partner, 0, c->comm
#define TO_PARTNER c->send, c->count, MPI_DOUBLE, c->partner, 0, c->comm

CALL(sendrecv, MPI_Sendrecv(c->send, c->count, MPI_DOUBLE, c->partner, 0, FROM_PARTNER, MPI_STATUS_IGNORE))
CALL(sendrecv_whole, MPI_Sendrecv(c->send, 1, c->whole, c->partner, 0, c->result, 1, c->whole, c->partner, 0, c->comm,
                                  MPI_STATUS_IGNORE))

static int isend_irecv(const struct room *c, MPI_Request *request) {
    MPI_Request both[STEP_REQUESTS];
    int code = MPI_Irecv(FROM_PARTNER, &both[0]);
    code = code == MPI_SUCCESS ? MPI_Isend(TO_PARTNER, &both[1]) : code;
    return code == MPI_SUCCESS ? MPI_Waitall(STEP_REQUESTS, both, MPI_STATUSES_IGNORE) : code;
}

/* There and back: the lower rank of a pair sends first. */
static int there_and_back(const struct room *c, bool synchronous) {
    const bool first = c->rank < c->partner || c->partner == MPI_PROC_NULL;
    int code = first ? MPI_SUCCESS : MPI_Recv(FROM_PARTNER, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS) {
        code = synchronous ? MPI_Ssend(TO_PARTNER) : MPI_Send(TO_PARTNER);
    }
    return code == MPI_SUCCESS && first ? MPI_Recv(FROM_PARTNER, MPI_STATUS_IGNORE) : code;
}
CALL(standard_send, there_and_back(c, false))
CALL(synchronous_send, there_and_back(c, true))

static int send_recv_init(const struct room *c, MPI_Request *request) {
    const int code = MPI_Recv_init(FROM_PARTNER, &request[0]);
    return code == MPI_SUCCESS ? MPI_Send_init(TO_PARTNER, &request[1]) : code;
}

/* Without a partner no request is made. */
static int psend_precv_init(const struct room *c, MPI_Request *request) {
#if HAS_PARTITIONED
    if (c->partner == MPI_PROC_NULL) {
        return MPI_SUCCESS;
    }
    const int code =
        MPI_Precv_init(c->result, 1, c->count, MPI_DOUBLE, c->partner, 0, c->comm, MPI_INFO_NULL, &request[0]);
    return code == MPI_SUCCESS
               ? MPI_Psend_init(c->send, 1, c->count, MPI_DOUBLE, c->partner, 0, c->comm, MPI_INFO_NULL, &request[1])
               : code;
#else
    return MPI_ERR_OTHER;
#endif
}

/* ---- the statements ---- */

static const char composed[] = "other calls";
static const char general[] = "given blocks";
static const char longer[] = "longer message";
static const char divided[] = "two halves";
static const char nonblocking[] = "nonblocking";
static const char persistent[] = "persistent";
static const char pairs[] = "messages";
static const char communicators[] = "communicators";
static const char types[] = "derived type";
static const char control[] = "control";
const char *const statement_kinds[] = {composed, general,       longer, divided, nonblocking, persistent,
                                       pairs,    communicators, types,  control, NULL};

/* Calls of a side that are made in one way. */
#define ONE(call_of)                                                                                                   \
    {                                                                                                                  \
        {                                                                                                              \
            .call = (call_of)                                                                                          \
        }                                                                                                              \
    }
#define TWO(first, second)                                                                                             \
    {                                                                                                                  \
        {.call = (first)}, {                                                                                           \
            .call = (second)                                                                                           \
        }                                                                                                              \
    }
#define TWICE_AS_LONG(call_of) {{.call = (call_of), .times = 2}}
#define IN_HALVES(call_of) {{.call = (call_of), .parts = 2}, {.call = (call_of), .parts = 2}}
#define WAITED(call_of)                                                                                                \
    {                                                                                                                  \
        {                                                                                                              \
            .call = (call_of), .how = STEP_WAITED                                                                      \
        }                                                                                                              \
    }
#define STARTED(call_of)                                                                                               \
    {                                                                                                                  \
        {                                                                                                              \
            .call = (call_of), .how = STEP_STARTED                                                                     \
        }                                                                                                              \
    }

#define LONGER(call_of, mpi_name)                                                                                      \
    {.name = #call_of "_twice_as_long",                                                                                \
     .kind = longer,                                                                                                   \
     .left = {mpi_name, ONE(call_of)},                                                                                 \
     .right = {mpi_name " of twice the length", TWICE_AS_LONG(call_of)},                                               \
     .allowed_percent = 100}
#define DIVIDED(call_of, mpi_name)                                                                                     \
    {.name = #call_of "_in_halves",                                                                                    \
     .kind = divided,                                                                                                  \
     .left = {mpi_name, ONE(call_of)},                                                                                 \
     .right = {mpi_name " of each half", IN_HALVES(call_of)},                                                          \
     .allowed_percent = 100}
#define NONBLOCKING_FORM(call_of, Name, where)                                                                         \
    {.name = "i" #call_of "_wait",                                                                                     \
     .kind = nonblocking,                                                                                              \
     .left = {"MPI_I" #call_of ", MPI_Wait", WAITED(i##call_of)},                                                      \
     .right = {"MPI_" #Name, ONE(call_of)},                                                                            \
     .allowed_percent = 105,                                                                                           \
     .same = (where),                                                                                                  \
     .lacking = !HAS_I##call_of}
#define PERSISTENT_FORM(call_of, Name, where)                                                                          \
    {.name = #call_of "_init_start",                                                                                   \
     .kind = persistent,                                                                                               \
     .left = {"MPI_" #Name "_init once, MPI_Start, MPI_Wait", STARTED(call_of##_init)},                                \
     .right = {"MPI_I" #call_of ", MPI_Wait", WAITED(i##call_of)},                                                     \
     .allowed_percent = 100,                                                                                           \
     .same = (where),                                                                                                  \
     .lacking = !HAS_I##call_of || !HAS_##Name##_init}
#define GENERAL_FORM(call_of, mpi_name, plain, plain_name, where)                                                      \
    {.name = #call_of "_of_equal_blocks",                                                                              \
     .kind = general,                                                                                                  \
     .left = {mpi_name " of equal blocks", ONE(call_of)},                                                              \
     .right = {plain_name, ONE(plain)},                                                                                \
     .allowed_percent = 105,                                                                                           \
     .same = (where)}
#define COMPOSED(name_of, left_name, left_calls, right_names, right_calls, where)                                      \
    {.name = (name_of),                                                                                                \
     .kind = composed,                                                                                                 \
     .left = {left_name, left_calls},                                                                                  \
     .right = {right_names, right_calls},                                                                              \
     .allowed_percent = 100,                                                                                           \
     .same = (where)}

const struct statement statement_table[STATEMENT_COUNT] = {
    COMPOSED("allreduce_by_reduce_bcast", "MPI_Allreduce", ONE(allreduce), "MPI_Reduce, MPI_Bcast",
             TWO(reduce, bcast_result), RESULT_EVERYWHERE),
    COMPOSED("allreduce_by_reduce_scatter_allgather", "MPI_Allreduce", ONE(allreduce),
             "MPI_Reduce_scatter_block, MPI_Allgather", TWO(reduce_scatter_to_middle, allgather_middle),
             RESULT_EVERYWHERE),
    COMPOSED("reduce_by_allreduce", "MPI_Reduce", ONE(reduce), "MPI_Allreduce", ONE(allreduce), RESULT_ON_ROOT),
    COMPOSED("reduce_by_reduce_scatter_gather", "MPI_Reduce", ONE(reduce), "MPI_Reduce_scatter_block, MPI_Gather",
             TWO(reduce_scatter_to_middle, gather_middle), RESULT_ON_ROOT),
    COMPOSED("reduce_scatter_by_reduce_scatter", "MPI_Reduce_scatter_block", ONE(reduce_scatter_block),
             "MPI_Reduce, MPI_Scatter", TWO(reduce_to_middle, scatter_middle), RESULT_OWN_BLOCK),
    COMPOSED("reduce_scatter_by_allreduce", "MPI_Reduce_scatter_block", ONE(reduce_scatter_block), "MPI_Allreduce",
             ONE(allreduce), RESULT_OWN_BLOCK),
    COMPOSED("allgather_by_gather_bcast", "MPI_Allgather", ONE(allgather), "MPI_Gather, MPI_Bcast",
             TWO(gather, bcast_result), RESULT_EVERYWHERE),
    COMPOSED("allgather_by_alltoall", "MPI_Allgather", ONE(allgather), "MPI_Alltoall", ONE(alltoall), RESULT_NOWHERE),
    COMPOSED("allgather_by_allreduce", "MPI_Allgather", ONE(allgather), "MPI_Allreduce", ONE(allreduce),
             RESULT_NOWHERE),
    COMPOSED("bcast_by_scatter_allgather", "MPI_Bcast", ONE(bcast), "MPI_Scatter, MPI_Allgather",
             TWO(scatter_to_middle, allgather_middle), RESULT_OFF_ROOT),
    COMPOSED("gather_by_allgather", "MPI_Gather", ONE(gather), "MPI_Allgather", ONE(allgather), RESULT_ON_ROOT),
    COMPOSED("gather_by_reduce", "MPI_Gather", ONE(gather), "MPI_Reduce", ONE(reduce), RESULT_NOWHERE),
    COMPOSED("scatter_by_bcast", "MPI_Scatter", ONE(scatter), "MPI_Bcast", ONE(bcast), RESULT_NOWHERE),
    COMPOSED("scan_by_exscan", "MPI_Scan", ONE(scan), "MPI_Exscan, MPI_Reduce_local", ONE(exscan_reduce_local),
             RESULT_EVERYWHERE),
    {.name = "barrier_by_allreduce",
     .kind = composed,
     .left = {"MPI_Barrier", ONE(barrier)},
     .right = {"MPI_Allreduce of a number", ONE(allreduce_element)},
     .allowed_percent = 100,
     .no_message = true},

    GENERAL_FORM(gatherv, "MPI_Gatherv", gather, "MPI_Gather", RESULT_ON_ROOT),
    GENERAL_FORM(scatterv, "MPI_Scatterv", scatter, "MPI_Scatter", RESULT_OWN_BLOCK),
    GENERAL_FORM(allgatherv, "MPI_Allgatherv", allgather, "MPI_Allgather", RESULT_EVERYWHERE),
    GENERAL_FORM(alltoallv, "MPI_Alltoallv", alltoall, "MPI_Alltoall", RESULT_EVERYWHERE),
    GENERAL_FORM(alltoallw, "MPI_Alltoallw", alltoall, "MPI_Alltoall", RESULT_EVERYWHERE),
    GENERAL_FORM(reduce_scatter, "MPI_Reduce_scatter", reduce_scatter_block, "MPI_Reduce_scatter_block",
                 RESULT_OWN_BLOCK),

    LONGER(bcast, "MPI_Bcast"),
    LONGER(reduce, "MPI_Reduce"),
    LONGER(allreduce, "MPI_Allreduce"),
    LONGER(gather, "MPI_Gather"),
    LONGER(scatter, "MPI_Scatter"),
    LONGER(allgather, "MPI_Allgather"),
    LONGER(alltoall, "MPI_Alltoall"),
    DIVIDED(bcast, "MPI_Bcast"),
    DIVIDED(reduce, "MPI_Reduce"),
    DIVIDED(allreduce, "MPI_Allreduce"),
    DIVIDED(allgather, "MPI_Allgather"),

    {.name = "ibarrier_wait",
     .kind = nonblocking,
     .left = {"MPI_Ibarrier, MPI_Wait", WAITED(ibarrier)},
     .right = {"MPI_Barrier", ONE(barrier)},
     .allowed_percent = 105,
     .no_message = true,
     .lacking = !HAS_Ibarrier},
    NONBLOCKING_FORM(bcast, Bcast, RESULT_OFF_ROOT),
    NONBLOCKING_FORM(reduce, Reduce, RESULT_ON_ROOT),
    NONBLOCKING_FORM(allreduce, Allreduce, RESULT_EVERYWHERE),
    NONBLOCKING_FORM(gather, Gather, RESULT_ON_ROOT),
    NONBLOCKING_FORM(scatter, Scatter, RESULT_OWN_BLOCK),
    NONBLOCKING_FORM(allgather, Allgather, RESULT_EVERYWHERE),
    NONBLOCKING_FORM(alltoall, Alltoall, RESULT_EVERYWHERE),
    {.name = "barrier_init_start",
     .kind = persistent,
     .left = {"MPI_Barrier_init once, MPI_Start, MPI_Wait", STARTED(barrier_init)},
     .right = {"MPI_Ibarrier, MPI_Wait", WAITED(ibarrier)},
     .allowed_percent = 100,
     .no_message = true,
     .lacking = !HAS_Ibarrier || !HAS_Barrier_init},
    PERSISTENT_FORM(allreduce, Allreduce, RESULT_EVERYWHERE),
    PERSISTENT_FORM(allgather, Allgather, RESULT_EVERYWHERE),
    PERSISTENT_FORM(alltoall, Alltoall, RESULT_EVERYWHERE),

    {.name = "sendrecv_by_isend_irecv",
     .kind = pairs,
     .left = {"MPI_Sendrecv", ONE(sendrecv)},
     .right = {"MPI_Irecv, MPI_Isend, MPI_Waitall", ONE(isend_irecv)},
     .allowed_percent = 100,
     .same = RESULT_EVERYWHERE},
    {.name = "send_by_ssend",
     .kind = pairs,
     .left = {"MPI_Send", ONE(standard_send)},
     .right = {"MPI_Ssend", ONE(synchronous_send)},
     .allowed_percent = 100,
     .same = RESULT_EVERYWHERE},
    {.name = "send_init_start",
     .kind = pairs,
     .left = {"MPI_Send_init once, MPI_Start", {{.call = send_recv_init, .how = STEP_EXCHANGED}}},
     .right = {"MPI_Irecv, MPI_Isend, MPI_Waitall", ONE(isend_irecv)},
     .allowed_percent = 100,
     .same = RESULT_EVERYWHERE},
    {.name = "psend_of_one_partition",
     .kind = pairs,
     .left = {"MPI_Psend_init of one partition once, MPI_Pready",
              {{.call = psend_precv_init, .how = STEP_PARTITIONED}}},
     .right = {"MPI_Send_init once, MPI_Start", {{.call = send_recv_init, .how = STEP_EXCHANGED}}},
     .allowed_percent = 105,
     .same = RESULT_EVERYWHERE,
     .lacking = !HAS_PARTITIONED},

    {.name = "allreduce_on_copy",
     .kind = communicators,
     .left = {"MPI_Allreduce on a duplicate", ONE(allreduce_on_copy)},
     .right = {"MPI_Allreduce", ONE(allreduce)},
     .allowed_percent = 105,
     .same = RESULT_EVERYWHERE},
    {.name = "allreduce_of_half",
     .kind = communicators,
     .left = {"MPI_Allreduce of half of the ranks", ONE(allreduce_of_half)},
     .right = {"MPI_Allreduce", ONE(allreduce)},
     .allowed_percent = 100,
     .least_ranks = 4},
    {.name = "alltoall_of_half",
     .kind = communicators,
     .left = {"MPI_Alltoall of half of the ranks", ONE(alltoall_of_half)},
     .right = {"MPI_Alltoall", ONE(alltoall)},
     .allowed_percent = 100,
     .least_ranks = 4},
    {.name = "bcast_of_type",
     .kind = types,
     .left = {"MPI_Bcast of a contiguous type", ONE(bcast_whole)},
     .right = {"MPI_Bcast", ONE(bcast)},
     .allowed_percent = 105,
     .same = RESULT_OFF_ROOT},
    {.name = "sendrecv_of_type",
     .kind = types,
     .left = {"MPI_Sendrecv of a contiguous type", ONE(sendrecv_whole)},
     .right = {"MPI_Sendrecv", ONE(sendrecv)},
     .allowed_percent = 105,
     .same = RESULT_EVERYWHERE},
    {.name = "control",
     .kind = control,
     .left = {"MPI_Allreduce", ONE(allreduce)},
     .right = {"MPI_Allreduce", ONE(allreduce)},
     .allowed_percent = 100,
     .same = RESULT_EVERYWHERE},
};

OPTION_CHOICES_FROM(statement_choices, statement_table, STATEMENT_COUNT, left.words)

/* ---- one step ---- */

void step_prepare(const struct step *step, const struct room *room, MPI_Request *request) {
    for (int i = 0; i < STEP_REQUESTS; i++) {
        request[i] = MPI_REQUEST_NULL;
    }
    if (step->how == STEP_STARTED || step->how == STEP_EXCHANGED || step->how == STEP_PARTITIONED) {
        MPI_CHECK(step->call(room, request));
    }
}

void step_free(MPI_Request *request) {
    for (int i = 0; i < STEP_REQUESTS; i++) {
        if (request[i] != MPI_REQUEST_NULL) {
            MPI_CHECK(MPI_Request_free(&request[i]));
        }
    }
}

/* The requests are started one by one: MPI_Startall of partitioned ones hangs in some versions of Open MPI. */
static void exchange_both(MPI_Request *request, bool partitioned) {
    if (request[0] == MPI_REQUEST_NULL) {
        return; /* no partner */
    }
    for (int i = 0; i < STEP_REQUESTS; i++) {
        MPI_CHECK(MPI_Start(&request[i]));
    }
#if HAS_PARTITIONED
    if (partitioned) {
        MPI_CHECK(MPI_Pready(0, request[1]));
    }
#endif
    MPI_CHECK(MPI_Waitall(STEP_REQUESTS, request, MPI_STATUSES_IGNORE));
}

void step_make(const struct step *step, const struct room *room, MPI_Request *request) {
    switch (step->how) {
    case STEP_BLOCKING:
        MPI_CHECK(step->call(room, NULL));
        break;
    case STEP_WAITED:
        MPI_CHECK(step->call(room, request));
        MPI_CHECK(MPI_Wait(request, MPI_STATUS_IGNORE));
        break;
    case STEP_STARTED:
        MPI_CHECK(MPI_Start(request));
        MPI_CHECK(MPI_Wait(request, MPI_STATUS_IGNORE));
        break;
    case STEP_EXCHANGED:
    case STEP_PARTITIONED:
        exchange_both(request, step->how == STEP_PARTITIONED);
        break;
    }
}
