/*
 * philox - a counter-based generator of random numbers: each number is a function of a key and of its place alone, so
 * that it does not matter who draws it, or when.
 *
 * Philox4x32-10 of J. K. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011, with their constants. No
 * MPI.
 */
#pragma once

#include <stdint.h>

/* Writes the four words of a block. */
void philox_block(const uint32_t counter[4], const uint32_t key[2], uint32_t words[4]);

/* A stream of numbers, as long as is needed (up to 2^32 blocks). */
struct philox_stream {
    uint32_t key[2];
    uint32_t counter[4]; /* [0] counts the blocks */
    double normal;       /* the second of the last pair */
    int has_normal;
};

/* The stream of a seed, a purpose and two numbers, such as an iteration and an item. */
struct philox_stream philox_stream_of(uint64_t seed, uint32_t purpose, uint32_t first, uint32_t second);

/* Returns a number between 0 and 1, neither included. */
double philox_uniform(struct philox_stream *s);

/* Returns a whole number from 0 to count - 1. */
uint32_t philox_below(struct philox_stream *s, uint32_t count);

/* Returns a number of the standard normal distribution (Box and Muller 1958). */
double philox_normal(struct philox_stream *s);

/* Returns a number of the gamma distribution with this shape, at least 1, and scale 1 (Marsaglia and Tsang 2000). */
double philox_gamma(struct philox_stream *s, double shape);
