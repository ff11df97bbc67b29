/*
 * operations - the table of the blocking collectives that are measured. A new one is a new entry.
 *
 * Which data go where, and what message_bytes means, is the same as for the nonblocking form (collectives.h).
 */
#pragma once

#include "collectives.h"
#include "options.h"

struct operation {
    const char *name; /* as the MPI function has it: bcast */
    const char *mpi_name;
    const char *nonblocking; /* the entry of collective_table that has the same message */
    bool modelled;           /* an equation of the LogGP model predicts its time */
    bool waits_for_all;      /* no rank completes it before all ranks have called it */
    /* Makes the call, and returns MPI's error code. The request is left as it is. */
    int (*call)(const struct collective_call *call, MPI_Request *request);
};

enum { OPERATION_COUNT = 10 };
extern const struct operation operation_table[OPERATION_COUNT];

/* Returns the table as the choices of an option. */
const struct option_choice *operation_choices(void);

/* Returns the operation as a collective of exchange.h: exchange_call makes the whole call, and there is nothing to wait
 * for. */
struct collective operation_collective(const struct operation *operation);

/* Returns the nonblocking form, which exchange_call begins and exchange_wait completes. */
struct collective operation_nonblocking(const struct operation *operation);
