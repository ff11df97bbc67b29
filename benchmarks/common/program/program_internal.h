/*
 * program_internal - what the files of this folder have in common, and no benchmark needs.
 */
#ifndef CAMPAIGN_PROGRAM_INTERNAL_H
#define CAMPAIGN_PROGRAM_INTERNAL_H

#include "program.h"

/* The options: the benchmark's own first. */
void program_describe_options(struct program *program, struct option_entry entries[PROGRAM_MOST_OPTIONS]);

/* After they were parsed: what the table of options cannot say, and what was left out. */
void program_check_options(struct program *program, char *error, size_t error_size);

/* For the watchdog, whose context is the program: says where this rank hangs, closes the record, ends the run. */
void program_hangs(void *context);

#endif
