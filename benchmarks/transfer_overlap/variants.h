/*
 * variants - the versions of the solver that are compared: a table. A new version is a new entry.
 *
 * The controls come first, so that they get their share of the budget whatever the versions after them take of it.
 *
 * All compute the interface rows first and the interior then, so that a version differs from nonoverlap in nothing but
 * the communication.
 */
#pragma once

#include "halo.h"
#include "options.h"

#include <stdbool.h>

struct variant {
    const char *name;
    const char *what; /* for --list */
    enum halo_way way;
    bool early;      /* the exchange is started before the interior is computed, and waited for afterwards */
    bool chunked;    /* the interface is computed and sent in chunks: one is under way while the next is computed */
    bool tests;      /* MPI_Testall is called between pieces of the interior */
    bool pipelined;  /* pipelined conjugate gradients: the sums are under way during the product, too */
    bool equivalent; /* its residuals have the same bits as nonoverlap's, on any number of ranks */
};

enum { VARIANT_NONOVERLAP, VARIANT_COUNT = 8 };
extern const struct variant variant_table[VARIANT_COUNT];

/* What a variant is compared with: nonoverlap; with an exchange of nothing, where the variant exchanges nothing. */
struct variant variant_reference(const struct variant *v);

/* Returns whether a variant cannot bring anything: the reference itself, and an exchange of nothing. */
bool variant_is_control(const struct variant *v);

/* Returns the table as the choices of an option. */
const struct option_choice *variant_choices(void);
