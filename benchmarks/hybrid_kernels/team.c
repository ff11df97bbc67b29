#include "team.h"

#include "fail.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

enum { LINE = 64, SPINS = 20000 };

/* Each in a cache line of its own: threads write them at different times. */
struct slot {
    _Alignas(LINE) double value;
};

struct team {
    _Alignas(LINE) atomic_int arrived;
    _Alignas(LINE) _Atomic uint64_t turn;
    _Alignas(LINE) int threads;
    int spins; /* before the CPU is given away */
    struct slot *slots;
};

_Static_assert(ATOMIC_INT_LOCK_FREE == 2 && ATOMIC_LLONG_LOCK_FREE == 2, "the barrier needs atomics without locks");

static void *aligned(size_t bytes) {
    void *made = aligned_alloc(LINE, bytes);
    if (made == NULL) {
        fail_die("no memory for %zu bytes", bytes);
    }
    return made;
}

struct team *team_create(int threads, bool crowded) {
    struct team *team = aligned(sizeof *team);
    atomic_init(&team->arrived, 0);
    atomic_init(&team->turn, 0);
    team->threads = threads;
    team->spins = crowded ? 0 : SPINS;
    team->slots = aligned((size_t)threads * sizeof *team->slots);
    return team;
}

void team_free(struct team *team) {
    free(team->slots);
    free(team);
}

int team_threads(const struct team *team) {
    return team != NULL ? team->threads : 1;
}

void team_meet(struct team *team) {
    if (team == NULL) {
        return;
    }
    const uint64_t turn = atomic_load_explicit(&team->turn, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&team->arrived, 1, memory_order_acq_rel) + 1 == team->threads) {
        atomic_store_explicit(&team->arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&team->turn, turn + 1, memory_order_release);
        return;
    }
    for (int spins = 0; atomic_load_explicit(&team->turn, memory_order_acquire) == turn; spins++) {
        if (spins >= team->spins) {
            sched_yield();
        }
    }
}

double team_largest(struct team *team, int thread, double own) {
    team->slots[thread].value = own;
    team_meet(team);
    double largest = team->slots[0].value;
    for (int i = 1; i < team->threads; i++) {
        largest = team->slots[i].value > largest ? team->slots[i].value : largest;
    }
    team_meet(team); /* nobody writes the next value while another thread still reads this one */
    return largest;
}

struct team_part team_part_of(int count, int thread, int threads) {
    const int64_t whole = count;
    return (struct team_part){.first = (int)(whole * thread / threads), .end = (int)(whole * (thread + 1) / threads)};
}

struct team_part team_own_part(const struct team *team, int thread, int count) {
    return team_part_of(count, thread, team_threads(team));
}
