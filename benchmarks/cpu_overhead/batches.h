/*
 * batches - the points of cpu_overhead: batches of calls of a blocking collective, each timed by the clock and by the
 * CPU time that it took.
 *
 * A batch has so many calls that the CPU clocks resolve its time. Their number is searched once per point.
 */
#ifndef CAMPAIGN_BATCHES_H
#define CAMPAIGN_BATCHES_H

#include "exchange.h"
#include "operations.h"
#include "program.h"

enum { AXIS_OPERATION, AXIS_MESSAGE, AXES };

struct batches {
    struct program *program;
    struct collective collectives[OPERATION_COUNT]; /* those that were asked for, in that order */
    size_t collective_count;
    const int64_t *message_bytes;
    size_t message_count;
    bool preset;       /* the sizes are a grid's: those that do not fit are no points */
    int64_t target_ns; /* the least time of a batch */
    uint64_t seed;
    exchange *exchange;
    struct {
        const struct collective *collective;
        uint64_t message_bytes;
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
