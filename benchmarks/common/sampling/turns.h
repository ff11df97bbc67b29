/*
 * turns - in which order things that are compared take turns, so that none always has the same one before it.
 *
 * Repetitions come in blocks of a design of E. J. Williams, "Experimental designs balanced for the estimation of
 * residual effects of treatments", Australian Journal of Scientific Research A 2 (1949): over `things` repetitions, of
 * an odd number over twice as many, each thing has each place equally often, and follows each other thing equally
 * often. The design says nothing about what the first of a repetition follows, the last of the one before. So each
 * block numbers the things anew, by chance: the same on all ranks and in all runs. No MPI.
 */
#ifndef CAMPAIGN_TURNS_H
#define CAMPAIGN_TURNS_H

#include <stddef.h>
#include <stdint.h>

enum { TURNS_MOST = 9 };

/* Returns which of so many things, from 0, has this turn, from 0, in this repetition. */
size_t turns_at(size_t things, uint64_t repetition, size_t turn);

/* Returns the whole order as a decimal number, which numbers the things from 1: 132 if the second is the last. */
int64_t turns_order(size_t things, uint64_t repetition);

#endif
