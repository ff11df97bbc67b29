/*
 * one_off - what the hybrid library costs once (Zhou et al. 2020, section 5.2.1 and table 2): making the communicators,
 * with and without a table of ranks, the memory of a node, and the parameters of an allgather.
 */
#pragma once

#include "fields.h"
#include "hybrid_collectives.h"

#include <stddef.h>
#include <stdint.h>

/* Times of the slowest rank, ns, in the order in which they were made. */
struct one_off {
    int ranks;    /* that measured; RECORD_UNKNOWN: all */
    size_t count; /* of the times of each kind; 0: nothing was measured */
    const int64_t *comm_create_ns;
    const int64_t *comm_create_with_table_ns;
    const int64_t *gather_create_ns;
    const int64_t *memory_create_8_bytes_ns;
    const int64_t *memory_create_64_kib_ns;
    const int64_t *memory_create_1_mib_ns;
    int64_t *times; /* where all of them lie; free it */
};

extern const struct field one_off_fields[];

/* Collective over MPI_COMM_WORLD: the first `ranks` ranks measure each several times, the others wait. */
struct one_off one_off_measure(const struct hybrid_settings *settings, int ranks);
