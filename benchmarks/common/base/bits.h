/*
 * bits - numbers that look random and follow from a key alone, the same in every program, library and run.
 */
#pragma once

#include <stdint.h>

/* 2^64 / golden ratio, odd: keys that are multiples of it are far apart. */
#define BITS_STEP UINT64_C(0x9E3779B97F4A7C15)

/* Mixes the bits of a key: a bijection. Neighbouring keys give unrelated results. (The finaliser of splitmix64: Steele,
 * Lea and Flood 2014, "Fast splittable pseudorandom number generators".) */
static inline uint64_t bits_mix(uint64_t key) {
    key = (key ^ (key >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    key = (key ^ (key >> 27)) * UINT64_C(0x94D049BB133111EB);
    return key ^ (key >> 31);
}

/* Returns a number in [0, 1) from mixed bits. */
static inline double bits_share(uint64_t bits) {
    return (double)(bits >> 11) / 9007199254740992.0;
}
