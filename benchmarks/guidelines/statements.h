/*
 * statements - what must hold of any MPI library: a call is no slower than others that do the same. A new statement is
 * a new entry of the table.
 *
 * J. L. Träff, W. D. Gropp and R. Thakur, "Self-consistent MPI performance guidelines", IEEE TPDS 21 (2010); S. Hunold
 * and A. Carpen-Amarie, "Autotuning MPI collectives using performance guidelines", HPC Asia 2018.
 */
#pragma once

#include "options.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The arguments of a call on one rank. A vector has `count` elements: a block of each rank, one after the other. The
 * buffers have room for ROOM_VECTORS vectors. Their elements are whole numbers, so that sums are exact. */
enum { ROOM_VECTORS = 2 };
struct room {
    MPI_Comm comm; /* of all ranks */
    MPI_Comm copy; /* made of it by MPI_Comm_dup */
    MPI_Comm half; /* of the first half of them; MPI_COMM_NULL on the others */
    int rank;
    int ranks;
    int partner; /* ranks exchange messages in pairs; MPI_PROC_NULL: the last one, where their number is odd */
    int root;
    int count;
    int block;
    const double *send;
    double *middle; /* the result of one call that the next one takes */
    double *result;
    const int *counts; /* [ranks], as the next three: of the blocks of a vector */
    const int *displacements;
    const int *displacements_bytes;
    const MPI_Datatype *types;
    MPI_Datatype whole; /* a whole vector as one element */
};

enum { STEP_REQUESTS = 2 };

/* How a call is made. */
enum step_how {
    STEP_BLOCKING,
    STEP_WAITED,     /* a nonblocking call, for which the rank waits at once */
    STEP_STARTED,    /* a persistent request, made before by `call`, is started and waited for */
    STEP_EXCHANGED,  /* the same with two of them: to the partner and from it */
    STEP_PARTITIONED /* the same with messages of one partition */
};

/* One call of a side. */
struct step {
    int (*call)(const struct room *c, MPI_Request *request);
    enum step_how how;
    int times; /* its vector is so many times as long; 0: once */
    int parts; /* or one of so many parts of it; 0: it is not divided */
};

/* Calls that are made one after the other. */
enum { SIDE_MOST_STEPS = 2 };
struct side {
    const char *words;                      /* their names */
    struct step steps[SIDE_MOST_STEPS + 1]; /* the last one has no call */
};

/* Where both sides leave the same data. */
enum same_result { RESULT_NOWHERE, RESULT_EVERYWHERE, RESULT_ON_ROOT, RESULT_OFF_ROOT, RESULT_OWN_BLOCK };

struct statement {
    const char *name;
    const char *kind; /* one of statement_kinds */
    struct side left;
    struct side right;
    int64_t allowed_percent; /* the left side may take so much of the right side's time */
    enum same_result same;
    int least_ranks; /* 0: any number of them */
    bool no_message; /* no call has a vector */
    bool lacking;    /* the MPI library lacks a call */
};

extern const char *const statement_kinds[];

enum { STATEMENT_COUNT = 54 };
extern const struct statement statement_table[STATEMENT_COUNT];

/* Returns the table as the choices of an option. */
const struct option_choice *statement_choices(void);

/* Makes the persistent requests of a step that has some; request: [STEP_REQUESTS], free ones with step_free. */
void step_prepare(const struct step *step, const struct room *room, MPI_Request *request);
void step_free(MPI_Request *request);

/* Makes the call of a step, and completes it. request: those of step_prepare. */
void step_make(const struct step *step, const struct room *room, MPI_Request *request);
