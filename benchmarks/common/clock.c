#include "clock.h"

#include "fail.h"
#include "fail_mpi.h"
#include "group.h"
#include "timer.h"
#include "topology.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Round trips of one measurement: as many as fit the time, between these bounds. On a quiet node 50 take 50 us; where ranks share a
 * core, each can take a time slice. */
enum { FEWEST_TRIPS = 5, MOST_TRIPS = 50 };
#define TRIPS_NS INT64_C(20000000)

/* Two ranks share a clock when what the exchange sees is within its own error (half the shortest trip) and this. */
#define SHARED_NS 1000.0

/* A slope over less than this amplifies the error of its two ends (section 4.2). */
#define SLOPE_BASELINE_NS 1e9

enum { TAG = 71 };

struct sync_point {
    int64_t local;
    double offset; /* global - local */
};

struct clock_model {
    MPI_Comm world;
    MPI_Comm group; /* ranks that share one clock; its rank 0 is their leader */
    int rank;
    int ranks;
    int group_rank;
    bool reference;     /* this group's clock is the global one */
    bool all_shared;
    int *leaders;       /* on rank 0: the other groups' leaders, by world rank */
    int leader_count;
    bool began;
    struct sync_point first;
    struct sync_point previous;
    struct sync_point last;
};

/* The side that asks: offset of the partner's clock to the own one, and the shortest round trip. */
static double measure_offset(MPI_Comm comm, int partner, double *shortest, int64_t *at) {
    double best_offset = 0;
    double best_trip = INFINITY;
    int64_t begin = timer_now_ns();
    for (int i = 0; i < MOST_TRIPS && (i < FEWEST_TRIPS || timer_now_ns() - begin < TRIPS_NS); i++) {
        int64_t answer = 0;
        int64_t sent = timer_now_ns();
        MPI_CHECK(MPI_Send(&sent, 1, MPI_INT64_T, partner, TAG, comm));
        MPI_CHECK(MPI_Recv(&answer, 1, MPI_INT64_T, partner, TAG, comm, MPI_STATUS_IGNORE));
        int64_t received = timer_now_ns();
        double trip = (double)(received - sent);
        if (trip < best_trip) {
            best_trip = trip;
            *at = sent + (received - sent) / 2;
            best_offset = (double)(answer - *at);
        }
    }
    int64_t done = -1;
    MPI_CHECK(MPI_Send(&done, 1, MPI_INT64_T, partner, TAG, comm));
    *shortest = best_trip;
    return best_offset;
}

/* The side that answers, until the other is done. */
static void answer_offset(MPI_Comm comm, int partner) {
    for (;;) {
        int64_t question = 0;
        MPI_CHECK(MPI_Recv(&question, 1, MPI_INT64_T, partner, TAG, comm, MPI_STATUS_IGNORE));
        if (question < 0) {
            return;
        }
        int64_t now = timer_now_ns();
        MPI_CHECK(MPI_Send(&now, 1, MPI_INT64_T, partner, TAG, comm));
    }
}

/* Offsets of all ranks of a communicator to its rank 0, one after the other. */
static double measure_to_leader(MPI_Comm comm, double *shortest, int64_t *at) {
    int own = 0;
    int size = 0;
    MPI_CHECK(MPI_Comm_rank(comm, &own));
    MPI_CHECK(MPI_Comm_size(comm, &size));
    *shortest = 0;
    *at = timer_now_ns();
    if (own > 0) {
        return measure_offset(comm, 0, shortest, at);
    }
    for (int i = 1; i < size; i++) {
        answer_offset(comm, i);
    }
    return 0;
}

/* Ranks that read one clock: one boot of one kernel, whatever network is between them. Where the kernel does not tell: one node. */
static void split_by_kernel(MPI_Comm world, MPI_Comm node, const char *host, MPI_Comm *out) {
    char id[128];
    char text[GROUP_MOST_TEXT];
    int leader = 0;
    MPI_CHECK(MPI_Comm_rank(world, &leader));
    MPI_CHECK(MPI_Bcast(&leader, 1, MPI_INT, 0, node));
    if (topology_clock_id(id, sizeof id)) {
        snprintf(text, sizeof text, "clock %s", id);
    } else {
        snprintf(text, sizeof text, "node of rank %d on %s", leader, host);
    }
    group_split(world, text, out);
}

/* Ranks whose clock differs from the leader's all the same (virtual machines that are copies of one) are on their own. An answer lies
 * between its question and its receipt: of one clock no offset above half the trip can be seen. */
static void split_by_clock(MPI_Comm kernel_comm, MPI_Comm *out) {
    int own = 0;
    double shortest = 0;
    int64_t at = 0;
    MPI_CHECK(MPI_Comm_rank(kernel_comm, &own));
    double offset = measure_to_leader(kernel_comm, &shortest, &at);
    int color = fabs(offset) <= shortest / 2 + SHARED_NS ? 0 : own;
    MPI_CHECK(MPI_Comm_split(kernel_comm, color, own, out));
    MPI_CHECK(MPI_Comm_set_errhandler(*out, MPI_ERRORS_RETURN));
}

clock_model *clock_create(MPI_Comm world, MPI_Comm node, const char *host) {
    clock_model *model = fail_alloc(1, sizeof *model);
    MPI_CHECK(MPI_Comm_dup(world, &model->world));
    MPI_CHECK(MPI_Comm_rank(world, &model->rank));
    MPI_CHECK(MPI_Comm_size(world, &model->ranks));
    MPI_Comm same_kernel = MPI_COMM_NULL;
    split_by_kernel(world, node, host, &same_kernel);
    split_by_clock(same_kernel, &model->group);
    MPI_CHECK(MPI_Comm_free(&same_kernel));
    MPI_CHECK(MPI_Comm_rank(model->group, &model->group_rank));

    int reference = model->rank == 0;
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &reference, 1, MPI_INT, MPI_MAX, model->group));
    model->reference = reference != 0;
    int leads = model->group_rank == 0 && !model->reference;
    int *all = fail_alloc((size_t)model->ranks, sizeof *all);
    MPI_CHECK(MPI_Allgather(&leads, 1, MPI_INT, all, 1, MPI_INT, model->world));
    model->leaders = fail_alloc((size_t)model->ranks, sizeof *model->leaders);
    for (int i = 0; i < model->ranks; i++) {
        if (all[i] != 0) {
            model->leaders[model->leader_count++] = i;
        }
    }
    free(all);
    model->all_shared = model->leader_count == 0;
    clock_synchronise(model);
    return model;
}

void clock_destroy(clock_model *model) {
    if (model != NULL) {
        MPI_CHECK(MPI_Comm_free(&model->group));
        MPI_CHECK(MPI_Comm_free(&model->world));
        free(model->leaders);
        free(model);
    }
}

static double predict(const clock_model *model, int64_t local) {
    if (model->reference) {
        return 0;
    }
    double slope = 0;
    if ((double)(model->last.local - model->first.local) >= SLOPE_BASELINE_NS) {
        slope = (model->last.offset - model->first.offset) / (double)(model->last.local - model->first.local);
    }
    return model->last.offset + slope * (double)(local - model->last.local);
}

double clock_synchronise(clock_model *model) {
    struct sync_point now = {timer_now_ns(), 0};
    double shortest = 0;
    double disagreement = 0;
    /* Between groups: rank 0 answers each leader in turn. Linear in the number of nodes; a tree can take its place here. */
    if (model->rank == 0) {
        for (int i = 0; i < model->leader_count; i++) {
            answer_offset(model->world, model->leaders[i]);
        }
    } else if (model->group_rank == 0 && !model->reference) {
        now.offset = measure_offset(model->world, 0, &shortest, &now.local);
    }
    /* Within a group: verified, not corrected. Up to half the trip an offset contradicts nothing. */
    int64_t at = 0;
    double seen = fabs(measure_to_leader(model->group, &shortest, &at)) - shortest / 2;
    MPI_CHECK(MPI_Bcast(&now.local, 1, MPI_INT64_T, 0, model->group));
    MPI_CHECK(MPI_Bcast(&now.offset, 1, MPI_DOUBLE, 0, model->group));
    if (model->began && !model->reference) {
        disagreement = fabs(now.offset - predict(model, now.local));
    }
    disagreement = fmax(disagreement, seen);
    model->previous = model->last;
    model->last = now;
    if (!model->began) {
        model->first = now;
        model->previous = now;
        model->began = true;
    }
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &disagreement, 1, MPI_DOUBLE, MPI_MAX, model->world));
    return disagreement;
}

int64_t clock_to_global(const clock_model *model, int64_t local) {
    return local + (int64_t)llround(predict(model, local));
}

int64_t clock_interpolate(const clock_model *model, int64_t local) {
    if (model->reference) {
        return local;
    }
    double baseline = (double)(model->last.local - model->previous.local);
    double share = baseline > 0 ? (double)(local - model->previous.local) / baseline : 1;
    double offset = model->previous.offset + share * (model->last.offset - model->previous.offset);
    return local + (int64_t)llround(offset);
}

int64_t clock_to_local(const clock_model *model, int64_t global) {
    /* predict takes a local time; the offset changes by parts per million, so one correction is exact to under a nanosecond. */
    int64_t guess = global - (int64_t)llround(predict(model, model->last.local));
    return global - (int64_t)llround(predict(model, guess));
}

const char *clock_method(const clock_model *model) {
    return model->all_shared ? "shared" : "interpolated";
}
