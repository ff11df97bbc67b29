/*
 * program_internal - the functions that only the files of this folder share.
 */
#pragma once

#include "program.h"

/* Writes the table of options, the benchmark's own first. */
void program_describe_options(struct program *program, struct option_entry entries[PROGRAM_MOST_OPTIONS]);

/* After parsing: checks what the table of options cannot express, and sets what was left out. One line in error on a
 * fault. */
void program_check_options(struct program *program, char *error, size_t error_size);

enum program_description { DESCRIBE_NOTHING, DESCRIBE_PROGRAM, DESCRIBE_RECORD };

/* Prints a description (program_options.c says which there are). */
void program_describe(const struct program *program, enum program_description what);

/* Before options are parsed, because their targets then hold what is usual. Writes the hash of the program's own
 * description: FNV-1a, 64 bits, in hexadecimal, of what program_describe prints without its last newline. */
void program_describe_hash(const struct program *program, char hash[PROGRAM_HASH]);

/* The watchdog's function, whose context is the struct program: prints where this rank hangs, closes the record and
 * ends the run. */
void program_hangs(void *context);
