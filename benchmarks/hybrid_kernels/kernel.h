/*
 * kernel - what a kernel is: a problem that three variants of a program solve.
 *
 * H. Zhou, J. Gracia, N. Zhou, R. Schneider, "Collectives in hybrid MPI+MPI code: design, practice and performance",
 * Parallel Computing 99 (2020), section 5.3.
 */
#pragma once

#include "crew.h"
#include "ratings.h"
#include "stopwatch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is to be solved. */
struct problem {
    int64_t size; /* as the kernel's `what` says */
    uint64_t seed;
    /* of bpmf */
    const struct ratings *ratings; /* NULL: they are generated */
    double noise;                  /* standard deviation of the ratings about what the factors give */
    int iterations;
};

/* How a solve ended, the same on all ranks that took part. */
struct kernel_end {
    int64_t iterations;
    double error;    /* as the kernel's error_help says */
    uint64_t digest; /* of all bits of the result, in an order that does not depend on the ranks */
    bool right;      /* it agrees with the reference of the kernel */
};

/* Bytes of data that several ranks of a node need. The sum over the ranks of a node is that of the node. */
struct kernel_bytes {
    int64_t replicated; /* as allocated by this rank; of hybrid memory the leader counts the window */
    int64_t one_copy; /* hybrid only, 0 in other ways: the data of this rank's windows, if it leads, without any copy */
};

struct kernel {
    const char *name;
    const char *what;       /* it solves, and what its size is */
    const char *option;     /* that asks for sizes */
    const char *collective; /* MPI's name of the collective that is timed */
    const char *error_help;
    /* Lines of the source with which this way makes, uses and frees what not all ways need. */
    int lines[WAYS];

    /* One line in error where a size does not fit. */
    void (*check)(const struct crew *crew, const struct problem *problem, char *error, size_t error_size);
    /* Bytes that a rank needs at most for all ways together. */
    double (*bytes)(const struct crew *crew, const struct problem *problem);
    /* Bytes of the large windows that this rank leads; NULL: it has none. The sum over a node is what its shared memory
     * must have room for. */
    int64_t (*windows)(const struct crew *crew, const struct problem *problem);

    /* Collective over those that take part in the way, as all of these. Memory for the data is not touched. */
    void *(*create)(const struct crew *crew, enum way way, const struct problem *problem);
    void (*free)(void *state);
    /* The next three are called by all threads of the team, in each part of which the same thread computes; without
     * threads team is NULL and thread 0. Only thread 0 calls MPI. */
    /* Untimed: makes the data. */
    void (*fill)(void *state, struct team *team, int thread);
    /* Untimed: makes what the next solve begins with. settles: that is a short one, which is not timed: after it caches
     * are as this way leaves them. */
    void (*reset)(void *state, struct team *team, int thread, bool settles);
    /* The timed solve. Thread 0 has the stopwatch, which has just been started, and ends it with a computation or a
     * collective. */
    void (*solve[WAYS])(void *state, struct team *team, int thread, struct stopwatch *w);
    /* Untimed. */
    struct kernel_end (*end)(void *state);
    struct kernel_bytes (*replicated)(const void *state);
    /* Untimed: frees the data that `replicated` tells of. The state can then be freed, and nothing else. NULL: there
     * are none. */
    void (*drop)(void *state);
};

extern const struct kernel kernel_poisson;
extern const struct kernel kernel_summa;
extern const struct kernel kernel_bpmf;

/* Returns the order of matrices that keeps the blocks of 256 x 256 of the paper, as far as the grid of ranks allows. */
int64_t summa_usual_order(const struct crew *crew);

/* Returns what an element with this number and value adds to a digest; the sum of all is the digest. */
uint64_t kernel_digest_of(uint64_t number, double value);
