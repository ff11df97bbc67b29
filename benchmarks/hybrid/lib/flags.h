/*
 * flags - sequence numbers in shared memory, on which the ranks of a node wait for each other. No MPI.
 *
 * Numbers only grow, and a waiting rank asks for "at least": a rank that is several steps ahead cannot be missed. Each
 * number has a cache line of its own, or rather two, because processors fetch lines in pairs. A store releases and a
 * load acquires, so that what was written before a store is seen after the load.
 */
#ifndef HYBRID_FLAGS_H
#define HYBRID_FLAGS_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers that processes share must not be guarded by a lock, which would be private to each process. */
_Static_assert(sizeof(uint64_t) == sizeof(long long) && ATOMIC_LLONG_LOCK_FREE == 2,
               "64-bit atomics are not lock-free on this machine");

enum { FLAGS_LINE = 128 };

struct flag {
    alignas(FLAGS_LINE) _Atomic uint64_t number;
};

/* The flags of one rank. */
struct rank_flags {
    struct flag arrived; /* the rank's last step: it has reached this point */
    struct flag done;    /* the last round whose read phase it has ended */
};

/* The flags of a node, at the beginning of its shared memory. */
struct node_flags {
    struct flag released;                  /* the last step whose result the leader has made visible */
    alignas(FLAGS_LINE) atomic_int failed; /* the first error of the leader, written before `released`; never cleared */
    struct rank_flags ranks[];             /* [node_ranks] */
};

/* What a waiting rank does meanwhile. */
struct flags_waiting {
    /* Called now and then, so that MPI goes on; returns 0, or an error code that ends the waiting. */
    int (*poll)(void *context);
    void *context;
    bool yield; /* there are fewer CPUs than ranks: give the CPU away soon */
};

/* Returns the bytes of the flags of so many ranks, a multiple of FLAGS_LINE. */
size_t flags_bytes(int ranks);

/* Makes the flags of a new memory: all numbers are 0. */
void flags_clear(struct node_flags *flags, int ranks);

void flag_set(struct flag *flag, uint64_t number);

/* Waits until the number is at least `least`. Returns 0, or what poll returned. */
int flag_wait(struct flag *flag, uint64_t least, const struct flags_waiting *waiting);

#endif
