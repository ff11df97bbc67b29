/*
 * fail - how a benchmark gives up.
 *
 * Every fatal error is one line on stderr that names the program, the rank and what went wrong; then the whole
 * process group ends. Nothing here depends on MPI, so that the unit tests can link it: programs hand over
 * a function that ends the group (MPI_Abort), tests leave it NULL and the process simply exits.
 */
#ifndef CAMPAIGN_FAIL_H
#define CAMPAIGN_FAIL_H

#include <stddef.h>

/* What to call the program in messages, which rank this is (-1: not known yet), and how to end the group. */
void fail_setup(const char *program, int rank, void (*abort_run)(int exit_code));

/* Prints "program: rank N: message" and ends the process group with exit code 1. */
_Noreturn void fail_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints "program: message" to stderr as one line: for errors that are reported by one rank and end in order. */
void fail_report(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Memory that is there: zeroed, aligned for any type, never NULL. Running out is fatal. Free with free(). */
void *fail_alloc(size_t count, size_t size);

/* realloc that cannot fail; new memory is not zeroed. */
void *fail_realloc(void *memory, size_t count, size_t size);

/* strdup that cannot fail. */
char *fail_strdup(const char *text);

#endif
