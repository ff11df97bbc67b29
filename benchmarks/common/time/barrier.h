/*
 * barrier - a dissemination barrier: in round k every rank sends an empty message to the rank 2^k above it and receives
 * one from the rank 2^k below it.
 *
 * It takes ceil(log2 p) rounds (Hensgen, Finkel and Manber 1988). MPI_Barrier may be implemented in any way, also as a
 * tree whose leaves leave late; with this barrier no rank leaves later than one message after the last rank came. Ranks
 * start from it where there is no common clock.
 */
#pragma once

#include <mpi.h>

/* Collective over comm. Returns when all ranks have called it. MPI errors end the group. */
void barrier_disseminate(MPI_Comm comm);
