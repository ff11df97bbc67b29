/*
 * turns - in which order things that are compared take turns, so that each finds the same before it.
 *
 * What a thing finds depends on the one before it: after a computation, for instance, the next one is up to a third
 * faster. So in each block of twice as many repetitions as there are things, each has each place twice and follows each
 * one, itself too, twice. The rows are those of E. J. Williams, "Experimental designs balanced for the estimation of
 * residual effects of treatments", Australian Journal of Scientific Research A 2 (1949), in which each thing follows
 * each other one equally often within a repetition. They are chained: each repetition begins with the thing with which
 * the one before it ended. Each block numbers the things but the first anew, by chance, from three things on: the same
 * on all ranks and in all runs. No MPI.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { TURNS_MOST = 9 };

/* Returns which of so many things, from 0, has this turn, from 0, in this repetition. */
size_t turns_at(size_t things, uint64_t repetition, size_t turn);

/* Returns the whole order as a decimal number, which numbers the things from 1: 132 if the second is the last. */
int64_t turns_order(size_t things, uint64_t repetition);
