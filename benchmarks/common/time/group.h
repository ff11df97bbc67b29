/*
 * group - ranks that have something in common: a node, a clock, a reason to give up.
 */
#ifndef CAMPAIGN_GROUP_H
#define CAMPAIGN_GROUP_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

/* Collective over comm: the ranks whose text (shorter than GROUP_MOST_TEXT, cut there) equals this rank's, in comm's
 * order. Errors on *out are returned. */
#define GROUP_MOST_TEXT 512
void group_split(MPI_Comm comm, const char *text, MPI_Comm *out);

/* Collective over MPI_COMM_WORLD: the error text of the lowest rank that has one, on all ranks. true: none has. */
bool group_share_error(char *error, size_t error_size);

#endif
