/*
 * reproducer - writes a small MPI program that shows, without this project, that a library's partitioned communication
 * delivers wrong data: for the people who write the library.
 */
#ifndef CAMPAIGN_REPRODUCER_H
#define CAMPAIGN_REPRODUCER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reproducer {
    size_t words; /* of 8 bytes, of the message */
    size_t send_partitions;
    size_t receive_partitions;
    bool asks;         /* the receiver asks for each partition with MPI_Parrived */
    int64_t delay_ns;  /* computation before the last partition; 0: none */
    const char *found; /* what was seen here, in one line */
};

/* Writes the program. Returns false and one line in error on a fault. */
bool reproducer_write(const char *path, const struct reproducer *r, char *error, size_t error_size);

#endif
