#include "collectives.h"

#include <limits.h>
#include <string.h>

static size_t one_block(int rank, int ranks) {
    (void)rank;
    (void)ranks;
    return 1;
}

static size_t one_block_on_root(int rank, int ranks) {
    (void)ranks;
    return rank == 0 ? 1 : 0;
}

static size_t one_block_off_root(int rank, int ranks) {
    (void)ranks;
    return rank == 0 ? 0 : 1;
}

static size_t block_per_rank(int rank, int ranks) {
    (void)rank;
    return (size_t)ranks;
}

static void fill_words(void *send, size_t count, uint64_t seed, int rank) {
    pattern_fill_words(send, count, seed, rank, 0);
}

static void fill_terms(void *send, size_t count, uint64_t seed, int rank) {
    pattern_fill_terms(send, count, seed, rank, 0);
}

/* Ibcast: the root's send buffer is the message, the others receive. */
static int start_ibcast(const struct collective_call *call, MPI_Request *request) {
    /* MPI takes one pointer for both roles; at the root it only reads. */
    union {
        const void *constant;
        void *plain;
    } root = {call->send};
    return MPI_Ibcast(call->rank == 0 ? root.plain : call->receive, call->count, MPI_UINT64_T, 0, call->comm, request);
}

static uint64_t check_ibcast(const struct collective_call *call, struct pattern_fault *fault) {
    return call->rank == 0 ? 0
                           : pattern_check_words(call->receive, (size_t)call->count, call->seed, 0, call->first, fault);
}

static int start_ireduce(const struct collective_call *call, MPI_Request *request) {
    return MPI_Ireduce(call->send, call->receive, call->count, MPI_DOUBLE, MPI_SUM, 0, call->comm, request);
}

static uint64_t check_ireduce(const struct collective_call *call, struct pattern_fault *fault) {
    return call->rank != 0 ? 0
                           : pattern_check_sums(call->receive, (size_t)call->count, call->seed, call->ranks, call->first, fault);
}

static int start_iallreduce(const struct collective_call *call, MPI_Request *request) {
    return MPI_Iallreduce(call->send, call->receive, call->count, MPI_DOUBLE, MPI_SUM, call->comm, request);
}

static uint64_t check_iallreduce(const struct collective_call *call, struct pattern_fault *fault) {
    return pattern_check_sums(call->receive, (size_t)call->count, call->seed, call->ranks, call->first, fault);
}

static int start_iallgather(const struct collective_call *call, MPI_Request *request) {
    return MPI_Iallgather(call->send, call->count, MPI_UINT64_T, call->receive, call->count, MPI_UINT64_T, call->comm, request);
}

static int start_ialltoall(const struct collective_call *call, MPI_Request *request) {
    return MPI_Ialltoall(call->send, call->count, MPI_UINT64_T, call->receive, call->count, MPI_UINT64_T, call->comm, request);
}

/* One block from every source; each source sent the part of its window that begins at element offset. */
static uint64_t check_blocks(const struct collective_call *call, size_t offset, struct pattern_fault *fault) {
    const uint64_t *receive = call->receive;
    size_t count = (size_t)call->count;
    uint64_t faults = 0;
    for (int source = 0; source < call->ranks; source++) {
        struct pattern_fault found = {0};
        size_t begin = (size_t)source * count;
        uint64_t wrong = pattern_check_words(receive + begin, count, call->seed, source, call->first + offset, &found);
        if (wrong > 0 && faults == 0) {
            *fault = found;
            fault->position += begin;
        }
        faults += wrong;
    }
    if (faults > 0) {
        fault->count = faults;
    }
    return faults;
}

static uint64_t check_iallgather(const struct collective_call *call, struct pattern_fault *fault) {
    return check_blocks(call, 0, fault);
}

static uint64_t check_ialltoall(const struct collective_call *call, struct pattern_fault *fault) {
    return check_blocks(call, (size_t)call->rank * (size_t)call->count, fault);
}

const struct collective collective_table[COLLECTIVE_COUNT] = {
    {
        .name = "ibcast",
        .mpi_name = "MPI_Ibcast",
        .sums = false,
        .send_blocks = one_block_on_root,
        .receive_blocks = one_block_off_root,
        .fill = fill_words,
        .start = start_ibcast,
        .check = check_ibcast,
    },
    {
        .name = "ireduce",
        .mpi_name = "MPI_Ireduce",
        .sums = true,
        .send_blocks = one_block,
        .receive_blocks = one_block_on_root,
        .fill = fill_terms,
        .start = start_ireduce,
        .check = check_ireduce,
    },
    {
        .name = "iallgather",
        .mpi_name = "MPI_Iallgather",
        .sums = false,
        .send_blocks = one_block,
        .receive_blocks = block_per_rank,
        .fill = fill_words,
        .start = start_iallgather,
        .check = check_iallgather,
    },
    {
        .name = "ialltoall",
        .mpi_name = "MPI_Ialltoall",
        .sums = false,
        .send_blocks = block_per_rank,
        .receive_blocks = block_per_rank,
        .fill = fill_words,
        .start = start_ialltoall,
        .check = check_ialltoall,
    },
    {
        .name = "iallreduce",
        .mpi_name = "MPI_Iallreduce",
        .sums = true,
        .send_blocks = one_block,
        .receive_blocks = one_block,
        .fill = fill_terms,
        .start = start_iallreduce,
        .check = check_iallreduce,
    },
};

/* Root or not: there are no other roles. */
enum { ROLES = 2 };

size_t collective_most_blocks(const struct collective *collective, int ranks) {
    size_t most = 1;
    for (int rank = 0; rank < ROLES; rank++) {
        size_t own = collective->send_blocks(rank, ranks) + collective->receive_blocks(rank, ranks);
        most = own > most ? own : most;
    }
    return most;
}

uint64_t collective_most_bytes(const struct collective *collective, int ranks) {
    size_t longest = 1;
    for (int rank = 0; rank < ROLES; rank++) {
        size_t send = collective->send_blocks(rank, ranks);
        size_t receive = collective->receive_blocks(rank, ranks);
        longest = send > longest ? send : longest;
        longest = receive > longest ? receive : longest;
    }
    return (uint64_t)INT_MAX / longest * COLLECTIVE_ELEMENT;
}

const char *const *collective_names(void) {
    static const char *names[COLLECTIVE_COUNT + 1]; /* the last stays NULL */
    for (size_t i = 0; i < COLLECTIVE_COUNT; i++) {
        names[i] = collective_table[i].name;
    }
    return names;
}

int collective_find(const char *name) {
    for (int i = 0; i < COLLECTIVE_COUNT; i++) {
        if (strcmp(collective_table[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}
