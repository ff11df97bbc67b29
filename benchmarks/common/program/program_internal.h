/*
 * program_internal - the functions that only the files of this folder share.
 */
#ifndef CAMPAIGN_PROGRAM_INTERNAL_H
#define CAMPAIGN_PROGRAM_INTERNAL_H

#include "program.h"

/* Writes the table of options, the benchmark's own first. */
void program_describe_options(struct program *program, struct option_entry entries[PROGRAM_MOST_OPTIONS]);

/* After parsing: checks what the table of options cannot express, and sets what was left out. One line in error on a
 * fault. */
void program_check_options(struct program *program, char *error, size_t error_size);

/* The watchdog's function, whose context is the struct program: prints where this rank hangs, closes the record and
 * ends the run. */
void program_hangs(void *context);

#endif
