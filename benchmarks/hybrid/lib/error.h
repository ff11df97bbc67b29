/*
 * error - the one line about the last error of this process (hybrid_last_error), and which handles exist.
 */
#pragma once

#include <mpi.h>
#include <stdbool.h>

/* Keeps the line, and returns the code. */
int error_set(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns MPI_SUCCESS, or the code of an MPI call that failed, and keeps a line with MPI's own text. */
int error_of_mpi(int code, const char *call);

/* Ends the function with the code where an MPI call fails. */
#define TRY_MPI(call)                                                                                                  \
    do {                                                                                                               \
        const int try_code = error_of_mpi((call), #call);                                                              \
        if (try_code != MPI_SUCCESS) {                                                                                 \
            return try_code;                                                                                           \
        }                                                                                                              \
    } while (0)

/* Ends the function with the code where another function of the library fails. */
#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        const int try_code = (call);                                                                                   \
        if (try_code != MPI_SUCCESS) {                                                                                 \
            return try_code;                                                                                           \
        }                                                                                                              \
    } while (0)

/* A list of the handles that exist, so that a handle freed twice is found without reading its memory. */
bool handle_add(const void *handle);
bool handle_exists(const void *handle);
void handle_remove(const void *handle);
