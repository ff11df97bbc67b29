/*
 * group - forms communicators of ranks that have a text in common (their node, their clock), and agrees on an error.
 */
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Collective over comm: *out is the communicator of the ranks whose text equals this rank's, in comm's order. Of a text
 * only the first GROUP_MOST_TEXT - 1 characters count. MPI errors on *out are returned. */
#define GROUP_MOST_TEXT 512
void group_split(MPI_Comm comm, const char *text, MPI_Comm *out);

/* Collective over MPI_COMM_WORLD: error becomes, on all ranks, the text of the lowest rank whose text is not empty.
 * Returns true where all are empty. */
bool group_share_error(char *error, size_t error_size);

/* Collective over MPI_COMM_WORLD: returns the sum of all ranks' faults. text becomes as of group_share_error. */
int64_t group_share_faults(int64_t faults, char *text, size_t text_size);
