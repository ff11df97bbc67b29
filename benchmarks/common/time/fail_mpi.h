/*
 * fail_mpi - every MPI call is checked.
 *
 * Communicators return their errors (MPI_ERRORS_RETURN), and MPI_CHECK turns one into a line that names the rank,
 * the call, the place and the library's own text, and ends the group with MPI_Abort.
 */
#ifndef CAMPAIGN_FAIL_MPI_H
#define CAMPAIGN_FAIL_MPI_H

#include <mpi.h>

#define MPI_CHECK(call) fail_mpi_check((call), #call, __FILE__, __LINE__)

/* After MPI_Init: errors are returned from now on, fail_die ends the group with MPI_Abort. */
void fail_mpi_setup(const char *program, int rank);

void fail_mpi_check(int code, const char *call, const char *file, int line);

#endif
