/*
 * memory_use - the memory of the processes of a node, as the kernel counts it (/proc/self/smaps_rollup).
 */
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* Call it before large blocks are allocated whose memory is to be counted: from then on each of them has pages of its
 * own, which return to the kernel when it is freed, so that what is counted is in use. */
void memory_use_begin(void);

/* Call it before anything is timed: from then on freed blocks stay in the process, as in a program that has freed large
 * ones before. Otherwise each large block that the MPI library takes would cost a call of the kernel and a fault for
 * each page. */
void memory_use_end(void);

/* Bytes. -1: the kernel does not tell. */
struct memory_use {
    int64_t proportional; /* PSS: pages of several processes count in parts, so that the sum over processes is right */
    int64_t resident;     /* RSS: all pages, as if no other process had them too */
    int64_t shared;       /* resident pages that another process has too */
};

/* Returns that of this process. */
struct memory_use memory_use_now(void);

/* Collective over node: returns what the processes that take part need on this node: the sum of their PSS; where a
 * single one of several takes part, its RSS, since the pages that the others have too would be its own without them.
 * The same on all ranks. */
struct memory_use memory_use_of_node(MPI_Comm node, bool takes_part);
