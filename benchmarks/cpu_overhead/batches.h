/*
 * batches - the points of cpu_overhead: batches of calls of a collective, each timed by the clock and by the CPU time
 * that it took.
 *
 * Each repetition has a batch of the reference beside the batch of the way that the point is about. The reference of
 * `working` is the nonblocking call that is waited for at once; that of all other ways is the blocking call. The
 * reference of `blocking`, and of `once`, is the same again: a control, in which there must be no difference.
 *
 * A batch has so many calls that the CPU clocks resolve its time. Their number is searched once per point. `once` has
 * one call, since models are about a call whose ranks begin together; `late` has one, for which the last rank comes
 * late: by the time of a batch at least. What a library does while it waits may depend on how long that is, so there
 * may be several such times.
 *
 * How much work fits beside an open collective (availability) is found by bisection (knee.h): each step is a point,
 * which is repeated until its interval tells on which side of the knee it is.
 */
#ifndef CAMPAIGN_BATCHES_H
#define CAMPAIGN_BATCHES_H

#include "exchange.h"
#include "knee.h"
#include "operations.h"
#include "program.h"
#include "soaker.h"
#include "ways.h"

enum { AXIS_OPERATION, AXIS_COMMUNICATOR, AXIS_MESSAGE, AXIS_WAY, AXIS_LATENESS, AXES };

enum { BATCHES_MOST_COMMUNICATORS = 64, BATCHES_MOST_LATENESS = 16 };

/* A point. */
struct batches_cell {
    size_t at[AXES]; /* indices of the values below */
    int64_t share;   /* of `working`: the work relative to the time of the collective, millionths */
    struct knee knee;
    int step;
};

struct batches {
    struct program *program;
    const struct operation *operations[OPERATION_COUNT]; /* those that were asked for, in that order */
    struct collective blocking[OPERATION_COUNT];
    struct collective nonblocking[OPERATION_COUNT];
    size_t operation_count;
    int64_t communicators[BATCHES_MOST_COMMUNICATORS]; /* their sizes, ascending: the first ranks of MPI_COMM_WORLD */
    size_t communicator_count;
    const int64_t *message_bytes;
    size_t message_count;
    const int64_t *ways;
    size_t way_count;
    const int64_t *detailed; /* sizes for which other ways than `blocking` are measured */
    size_t detailed_count;
    const int64_t *lateness_ns; /* of the last rank, in points of `late`; ascending */
    size_t lateness_count;
    int64_t bisections; /* steps of the search for the work that fits */
    bool preset;        /* the sizes are a grid's: those that do not fit are no points */
    int64_t calls;      /* of every batch; 0: searched */
    int64_t target_ns;  /* the least time of a batch */
    uint64_t seed;
    MPI_Comm comm; /* the communicator of the exchange; MPI_COMM_NULL: this rank is not in it, or there is none yet */
    size_t comm_index;
    bool has_comm;
    exchange *exchange;    /* NULL: this rank has none */
    soaker *soaker;        /* NULL: no way needs it */
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

/* Returns the least time of a batch, ns, for CPU clocks that advance in such steps. */
int64_t batches_target_ns(int64_t cpu_clock_step_ns);

/* Returns the largest message_bytes of a collective on these ranks: its buffers take at most half of the memory of a
 * rank, and MPI counts with int. */
uint64_t batches_most_bytes(const struct program *program, const struct collective *collective);

extern const struct sampler_kind batches_points;

/* For struct program_kind; the context is a struct batches. */
bool batches_begin(struct program *program, void *context, sampler *s, char *reason, size_t reason_size);
bool batches_end(struct program *program, void *context, char *reason, size_t reason_size);

#endif
