/*
 * variants - the tables of the collectives that are measured, and of the ways in which the hybrid library makes them.
 */
#ifndef CAMPAIGN_VARIANTS_H
#define CAMPAIGN_VARIANTS_H

#include "hybrid_collectives.h"

enum operation { OPERATION_ALLGATHER, OPERATION_BCAST, OPERATION_ALLREDUCE, OPERATIONS };

struct variant {
    const char *name;
    const char *help;
    bool of_allreduce_only;
    enum hybrid_sync sync;
    enum hybrid_method method;          /* untried */
    const struct hybrid_trials *trials; /* what hybrid_memory_tune tries before each point; NULL: nothing */
};

enum { VARIANTS = 6 };
extern const struct variant variant_table[VARIANTS];

/* The paper's own method (sections 5.2.2 to 5.2.4). */
const struct variant *variant_of_paper(enum operation operation);

/* The name of a method in records. */
const char *node_method_name(enum hybrid_method method);

/* NULL-terminated, as the choices of an option. */
extern const char *const operation_names[];
const char *const *variant_names(void);

#endif
