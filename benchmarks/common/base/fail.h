/*
 * fail - ends a program on a fatal error, with one line on stderr.
 *
 * The line names the program, the rank and what went wrong; then the whole process group ends. Nothing here depends on
 * MPI, so that unit tests can link it: a program hands over the function that ends its group (MPI_Abort); a test hands
 * over NULL, and the process exits.
 */
#pragma once

#include <stddef.h>

/* Sets the program's name in messages, this process's rank (-1: not known yet), and the function that ends the process
 * group (NULL: exit). */
void fail_setup(const char *program, int rank, void (*abort_run)(int exit_code));

/* Prints "program: rank N: message" and ends the process group with exit code 1. */
_Noreturn void fail_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints "program: message" to stderr as one line and returns: for an error that one rank reports before the run ends
 * in order. */
void fail_report(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Writes the cause that a library tells of an error: of the stack of MPICH and those made from it, which has the
 * innermost function last, the last line that tells one; else the whole text. */
void fail_cause(const char *text, char *cause, size_t cause_size);

/* Allocates count elements of size bytes: zeroed, aligned for any type, never NULL. Dies when memory runs out. Free
 * with free(). */
void *fail_alloc(size_t count, size_t size);

/* Resizes memory to count elements of size bytes. New memory is not zeroed. Dies when memory runs out. */
void *fail_realloc(void *memory, size_t count, size_t size);

/* Copies a string. Dies when memory runs out. Free with free(). */
char *fail_strdup(const char *text);
