/*
 * rounds - the points of hybrid: batches of calls of a collective, made in turn by the MPI library, by a variant of the
 * hybrid library and by the variant that is the paper's own method, each as the collective alone and as write +
 * collective + first read by every rank.
 *
 * "Alone" is the collective between ready data and results that nobody reads: within one node the hybrid library then
 * only makes ranks wait for each other, while the MPI library copies. "Whole" is what an application pays: in every
 * call each rank writes what it contributes, with other contents than before, and reads all of the result once.
 *
 * Where there are several nodes, three more batches say whether a computation between the two steps of a collective,
 * start and wait, hides what goes on between nodes: the two steps without it, the computation alone, and both.
 */
#pragma once

#include "fixed_work.h"
#include "handover.h"
#include "operations.h"
#include "program.h"
#include "variants.h"

/* The first three make the points, the others have the same value in all of them. */
enum { AXIS_OPERATION, AXIS_VARIANT, AXIS_MESSAGE, AXES };

/* The parts of a repetition, each a batch of calls. */
enum batch {
    LIBRARY_WHOLE,
    HYBRID_WHOLE,
    PAPERS_WHOLE,
    LIBRARY_ALONE,
    HYBRID_ALONE,
    PAPERS_ALONE,
    STEPS, /* from here on where there are several nodes */
    COMPUTATION,
    OVERLAP,
    BATCHES
};

struct rounds {
    struct program *program;
    handover *between_cores;
    struct fixed_work work; /* where there are several nodes */
    hybrid_comm *comm;
    struct hybrid_info info;
    const int64_t *operations; /* indices of the tables, and sizes: those that were asked for */
    size_t operation_count;
    const int64_t *variants;
    size_t variant_count;
    const int64_t *message_bytes;
    size_t message_count;
    bool preset;        /* the sizes are a grid's: those that do not fit are no points */
    int64_t calls;      /* of every batch; 0: as many as a batch needs to take long enough */
    size_t other_bytes; /* of other data, which are written before each batch; 0: none */
    char *other_data;
    struct {
        const struct operation *operation;
        const struct variant *variant;
        size_t bytes; /* message_bytes */
        size_t count; /* elements of 8 bytes */
        int64_t calls[BATCHES];
        hybrid_memory *memory;
        int64_t units; /* of the computation of a call */
        void *sent;    /* the MPI library's buffers; NULL where it has one for both (operation_in_place) */
        void *received;
        size_t contributed_bytes;
        size_t blocks;                /* that a rank reads */
        struct hybrid_way way;        /* in which the hybrid library makes its calls */
        struct hybrid_way papers_way; /* likewise, by the paper's own method */
        int64_t trials_ns;            /* what finding `way` took, on the slowest rank; 0: nothing is tried */
        int64_t choice_handover_ns;   /* of a hand-over right after the way was chosen; on a node's first rank */
        struct handover_range handovers;
    } point;       /* that is being measured */
    uint64_t call; /* counts calls: contents are made of it */
    uint64_t faults;
    char fault[256]; /* one line about the first */
};

/* One line in error, the same on all ranks, where a message that was asked for does not fit these ranks, their memory
 * or MPI's counts. */
void rounds_check(const struct rounds *o, char *error, size_t error_size);

/* The points on one node, and on several. */
extern const struct sampler_kind rounds_points, rounds_points_of_nodes;

/* Collective, before the points. */
bool rounds_begin(struct program *program, void *context, sampler *s, char *reason, size_t reason_size);
