/*
 * available - tells which collectives the MPI library has.
 */
#ifndef CAMPAIGN_AVAILABLE_H
#define CAMPAIGN_AVAILABLE_H

#include "options.h"

#include <stddef.h>

/* Prints all collectives, a line each. */
void available_list(void);

/* One line in error where the library lacks a collective of this list, which has indices of collective_table. */
void available_check(const struct option_list *collectives, char *error, size_t error_size);

#endif
