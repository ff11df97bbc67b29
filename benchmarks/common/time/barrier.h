/*
 * barrier - a dissemination barrier: in round k every rank tells the rank 2^k above it and hears from the one 2^k
 * below.
 *
 * ceil(log2 p) rounds of empty messages (Hensgen, Finkel and Manber 1988). MPI_Barrier may be anything, a tree whose
 * leaves leave late included; this one lets no rank go more than one message after the last came. It is the start where
 * no clock can be had.
 */
#ifndef CAMPAIGN_BARRIER_H
#define CAMPAIGN_BARRIER_H

#include <mpi.h>

/* Collective. */
void barrier_disseminate(MPI_Comm comm);

#endif
