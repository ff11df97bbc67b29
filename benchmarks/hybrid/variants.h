/*
 * variants - the table of the ways in which the hybrid library makes the collectives that are measured.
 */
#pragma once

#include "hybrid_collectives.h"
#include "operations.h"
#include "options.h"

struct variant {
    const char *name;
    const char *help;
    bool of_reductions; /* no others are made so */
    bool of_paper;      /* nor a collective that is not the paper's: a curve of one of its figures */
    enum hybrid_sync sync;
    enum hybrid_method method;          /* untried */
    const struct hybrid_trials *trials; /* what hybrid_memory_tune tries before each point; NULL: nothing */
};

enum { VARIANTS = 7 };
extern const struct variant variant_table[VARIANTS];

bool variant_makes(const struct variant *variant, const struct operation *operation);

/* The paper's own method (sections 5.2.2 to 5.2.4), or, of a collective that it does not have, what it does with those
 * that it has: its reductions are made in one way, the others in another. */
const struct variant *variant_of_paper(const struct operation *operation);

/* The names of methods in records, by enum hybrid_method, and NULL at the end. */
extern const char *const node_method_names[];

/* Returns the table as the choices of an option. */
const struct option_choice *variant_choices(void);
