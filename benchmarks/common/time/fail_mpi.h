/*
 * fail_mpi - checks every MPI call.
 *
 * Communicators return their errors (MPI_ERRORS_RETURN). Where a call returns one, MPI_CHECK prints a line that names
 * the rank, the call, its place in the source and the library's own text, and ends the group with MPI_Abort.
 */
#pragma once

#include <mpi.h>

#define MPI_CHECK(call) fail_mpi_check((call), #call, __FILE__, __LINE__)

/* Call it after MPI_Init: from now on MPI returns errors, and fail_die ends the group with MPI_Abort. */
void fail_mpi_setup(const char *program, int rank);

void fail_mpi_check(int code, const char *call, const char *file, int line);
