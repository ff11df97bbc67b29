/*
 * batches - the points of cpu_overhead: batches of calls of a collective, each timed by the clock and by the CPU time
 * that it took.
 *
 * Each repetition has a batch of the reference beside the batch of the way that the point is about (way_table). Where
 * that is the same again, as of `blocking`, it is a control, in which there must be no difference.
 *
 * A batch has so many calls that the CPU clocks resolve its time. Their number is searched once per point. `once` has
 * one call, since models are about a call whose ranks begin together; `late` has one, for which the last rank comes
 * late: by the time of a batch at least. What a library does while it waits may depend on how long that is, so there
 * may be several such times. Ways in which ranks are out of step have SKEW_CALLS calls, with that much work in all.
 *
 * How much work fits beside an open collective (availability) is found by bisection (knee.h): each step is a point,
 * which is repeated until its interval tells on which side of the knee it is.
 */
#pragma once

#include "cells.h"
#include "exchange.h"
#include "knee.h"
#include "program.h"
#include "skew.h"
#include "soaker.h"

/* A point. */
struct batches_cell {
    size_t at[AXES]; /* indices of its values in `cells` */
    int64_t share;   /* of `working`: the work relative to the time of the collective, millionths */
    struct knee knee;
    int step;
};

struct batches {
    struct program *program;
    struct cells cells;
    int64_t bisections; /* steps of the search for the work that fits */
    int64_t calls;      /* of every batch; 0: searched */
    int64_t target_ns;  /* the least time of a batch */
    uint64_t seed;
    MPI_Comm comm; /* the communicator of the exchange; MPI_COMM_NULL: this rank is not in it, or there is none yet */
    size_t comm_index;
    bool has_comm;
    exchange *exchange;    /* NULL: this rank has none */
    soaker *soaker;        /* NULL: no way needs it */
    struct skew skew;      /* of this rank */
    bool on_first_machine; /* this rank runs on the machine of rank 0, whose CPU time rank 0 reads */
    struct batches_cell cell;
    /* What was searched for the operation, communicator and size of `found_for`: by way, the calls of a batch (0: not
     * searched), and its time. */
    size_t found_for[AXIS_WAY];
    struct batches_found {
        int64_t calls;
        int64_t time_ns;
    } found[WAY_COUNT];
    struct {
        const struct way *way;
        const struct collective *reference;
        const struct collective *own;
        uint64_t message_bytes;
        int64_t units; /* of work */
        int64_t reference_calls;
        int64_t calls; /* of a batch */
    } point;           /* that is being measured */
};

extern const struct sampler_kind batches_points;

/* For struct program_kind; the context is a struct batches. */
bool batches_begin(struct program *program, void *context, sampler *s, char *reason, size_t reason_size);
bool batches_end(struct program *program, void *context, char *reason, size_t reason_size);
