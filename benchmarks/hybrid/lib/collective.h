/*
 * collective - the course of every collective: the node's part before the leaders meet, the leaders' call, the node's
 * part after it. A new collective is a new table entry.
 */
#pragma once

#include "memory.h"
#include "steps.h"

struct collective {
    const char *name; /* of the function */
    bool reduces;     /* it has an operation */
    /* Returns an error where the call is wrong: the same on all ranks. */
    int (*check)(hybrid_memory *m, const struct call *call);
    /* The node's part before: when it returns on a leader, the leader may call the others. */
    int (*before)(hybrid_memory *m, const struct call *call);
    /* Leaders, where there are several nodes: their call. request: NULL for a blocking call. */
    int (*bridge)(hybrid_memory *m, const struct call *call, MPI_Request *request);
    /* The node's part after it, with the rank's status so far: when it returns, m->result can be read. Returns the
     * status. */
    int (*after)(hybrid_memory *m, const struct call *call, int status);
};

extern const struct collective collective_allgather;
extern const struct collective collective_broadcast;
extern const struct collective collective_allreduce;
extern const struct collective collective_reduce_scatter;
extern const struct collective collective_alltoall;

/* Sets the product, or returns MPI_ERR_COUNT and a line where it cannot be counted. */
int collective_multiply(size_t a, size_t b, size_t *product);

/* Returns MPI_ERR_COUNT and a line where leaders would exchange more elements than an int can count. */
int collective_countable(const hybrid_memory *m, size_t elements);

/* Allreduce and reduce_scatter: returns MPI_ERR_ARG and a line where it is no method. */
int reduce_check_method(enum hybrid_method method);

/* Likewise: what AUTO or PAPER stands for, up to the cut-off (small) or above it. */
enum hybrid_method reduce_divided(const hybrid_comm *comm, const struct collective *kind, enum hybrid_method method,
                                  bool small);

/* Likewise: the method that the call's stands for. */
enum hybrid_method reduce_method(const hybrid_memory *m, const struct call *call);

/* Makes the whole collective. */
int collective_run(hybrid_memory *m, const struct call *call);

/* Begins it; hybrid_wait ends it. */
int collective_start(hybrid_memory *m, const struct call *call);
