#include "handover.h"

#include "fail.h"
#include "fail_mpi.h"
#include "timer.h"

#include <sched.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { LINE = 128, GROUPS = 5, LAPS = 20, LOOKS_PER_YIELD = 4096 };

_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "64-bit atomics that processes share must not be guarded by a lock");

/* The number of hand-overs so far: the rank whose turn it is adds 1. */
struct line {
    alignas(LINE) _Atomic uint64_t number;
};

struct handover {
    MPI_Comm node;
    MPI_Win win;
    struct line *line;
    uint64_t rank; /* on the node */
    uint64_t ranks;
    uint64_t expected; /* the number with which this rank's next turn begins */
};

handover *handover_create(MPI_Comm world) {
    handover *h = fail_alloc(1, sizeof *h);
    int rank = 0;
    int ranks = 0;
    int unit = 0;
    MPI_Aint bytes = 0;
    void *base = NULL;
    MPI_CHECK(MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &h->node));
    MPI_CHECK(MPI_Comm_rank(h->node, &rank));
    MPI_CHECK(MPI_Comm_size(h->node, &ranks));
    MPI_CHECK(MPI_Win_allocate_shared(rank == 0 ? 2 * LINE : 0, 1, MPI_INFO_NULL, h->node, (void *)&base, &h->win));
    MPI_CHECK(MPI_Win_shared_query(h->win, 0, &bytes, &unit, (void *)&base));
    h->line = (struct line *)(((uintptr_t)base + LINE - 1) / LINE * LINE);
    h->rank = (uint64_t)rank;
    h->ranks = (uint64_t)ranks;
    h->expected = h->rank;
    if (rank == 0) {
        atomic_init(&h->line->number, 0);
    }
    MPI_CHECK(MPI_Win_lock_all(MPI_MODE_NOCHECK, h->win));
    MPI_CHECK(MPI_Win_sync(h->win));
    MPI_CHECK(MPI_Barrier(h->node));
    MPI_CHECK(MPI_Win_sync(h->win));
    return h;
}

void handover_destroy(handover *h) {
    MPI_CHECK(MPI_Win_unlock_all(h->win));
    MPI_CHECK(MPI_Win_free(&h->win));
    MPI_CHECK(MPI_Comm_free(&h->node));
    free(h);
}

static void relax(uint64_t looks) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
    if (looks % LOOKS_PER_YIELD == 0) {
        sched_yield();
    }
}

/* Waits for this rank's turn, and hands the line to the next rank. */
static void take_turn(handover *h) {
    for (uint64_t looks = 1; atomic_load_explicit(&h->line->number, memory_order_acquire) != h->expected; looks++) {
        relax(looks);
    }
    atomic_store_explicit(&h->line->number, h->expected + 1, memory_order_release);
    h->expected += h->ranks;
}

int64_t handover_time(handover *h) {
    int64_t fastest_ns = INT64_MAX;
    if (h->ranks < 2) {
        return 0;
    }
    for (int group = 0; group < GROUPS; group++) {
        /* The first turn of a group also waits for the ranks that come late. */
        take_turn(h);
        const int64_t began_ns = timer_now_ns();
        for (int lap = 0; lap < LAPS; lap++) {
            take_turn(h);
        }
        const int64_t taken_ns = timer_now_ns() - began_ns;
        fastest_ns = taken_ns < fastest_ns ? taken_ns : fastest_ns;
    }
    return h->rank == 0 ? fastest_ns / (LAPS * (int64_t)h->ranks) : 0;
}

void handover_note(handover *h, bool first, struct handover_range *range) {
    const int64_t taken_ns = handover_time(h);
    range->least = first || taken_ns < range->least ? taken_ns : range->least;
    range->most = first || taken_ns > range->most ? taken_ns : range->most;
}
