/*
 * network - latency and bandwidth of the network, the alpha and beta of Gillis 2023, section 2.2, from readings: the
 * times of a short message and of a long one right after it.
 *
 * Readings are made throughout a launch, and a median counts: something that disturbs the ranks for a while, such as
 * the first tenths of a second of a connection, must not decide. No MPI.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct network {
    int64_t short_bytes;
    int64_t long_bytes;
    int64_t *short_ns; /* [count] */
    int64_t *long_ns;  /* [count] */
    size_t count;
    size_t recorded; /* so many have been taken */
};

struct network_estimate {
    double latency_ns;       /* alpha: the median time of the short message */
    double bytes_per_second; /* beta: of the median time of the long message beyond that */
};

void network_add(struct network *network, int64_t short_ns, int64_t long_ns);
void network_free(struct network *network);

/* Returns the estimate by the readings from number `first` on. Both are NAN where there is no reading, or where the
 * long message took no longer than the short one. */
struct network_estimate network_estimate(const struct network *network, size_t first);

/* Returns how many readings there are that have not been taken yet, and points at them (NULL where there is none); they
 * stay the network's. */
size_t network_take_new(struct network *network, const int64_t **short_ns, const int64_t **long_ns);
