/*
 * reproducer - writes a small MPI program that shows, without this project, that a library's partitioned communication
 * delivers wrong data: for the people who write the library.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reproducer {
    int ranks;    /* half of them send */
    size_t words; /* of 8 bytes, of the message to each neighbour */
    size_t neighbours;
    size_t send_partitions; /* of each neighbour */
    size_t receive_partitions;
    bool asks;            /* the receiver asks for each partition with MPI_Parrived */
    bool starts_together; /* the requests are started by one MPI_Startall */
    bool polls;           /* the sender calls MPI_Iprobe while it computes */
    int64_t delay_ns;     /* computation before the last partition; 0: none */
    const char *found;    /* what was seen here, in one line */
};

/* Writes the program. Returns false and one line in error on a fault. */
bool reproducer_write(const char *path, const struct reproducer *r, char *error, size_t error_size);
