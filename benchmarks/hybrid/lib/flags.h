/*
 * flags - sequence numbers in shared memory, on which the ranks of a node wait for each other. No MPI.
 *
 * Numbers only grow, and a waiting rank asks for "at least": a rank that is several steps ahead cannot be missed. Each
 * number has a cache line of its own, or rather two, because processors fetch lines in pairs. A store releases and a
 * load acquires, so that what was written before a store is seen after the load.
 */
#pragma once

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

/* A message that is so short that it lies in the cache line of its number: who sees the number has the message, too. */
enum { NOTE_BYTES = 56 };
struct note_line {
    alignas(FLAGS_LINE) _Atomic uint64_t number;
    unsigned char bytes[NOTE_BYTES];
};

/* Lines take turns, and a note has the number of its round. A rank writes note n + NOTE_LINES when the others have read
 * note n: when they have ended the read phase of that round, or have written later notes of their own, which it has
 * read. */
enum { NOTE_LINES = 8 };

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

/* Returns the number that the flag has now. */
uint64_t flag_number(struct flag *flag);

/* Waits until the number is at least `least`. Returns 0, or what poll returned. */
int flag_wait(struct flag *flag, uint64_t least, const struct flags_waiting *waiting);

/* The bytes of the notes of so many ranks, NOTE_LINES lines each, in the order of ranks; makes them those of a new
 * memory. */
size_t notes_bytes(int ranks);
void notes_clear(struct note_line *notes, int ranks);

/* Writes the rank's note with this number, from 1 and growing: at most NOTE_BYTES bytes. */
void note_write(struct note_line *own, uint64_t number, const void *bytes, size_t size);

/* Waits for a rank's note with this number, and copies it. Returns as flag_wait. */
int note_read(struct note_line *from, uint64_t number, void *bytes, size_t size, const struct flags_waiting *waiting);
