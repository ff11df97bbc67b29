#include "pattern.h"

#include "bits.h"

#include <string.h>

#define SUMMAND_STEP UINT32_C(0x9E3779B1) /* 2^32 / golden ratio, odd */
#define BLOCK ((size_t)2048)              /* elements per vectorised comparison */

size_t pattern_first(uint64_t repetition) {
    return (size_t)(8 * (repetition % PATTERN_PERIOD));
}

static uint64_t word_base(uint64_t seed, int source, size_t first) {
    return bits_mix(seed + (uint64_t)(unsigned)source * UINT64_C(0xD1B54A32D192ED03)) + (uint64_t)first * BITS_STEP;
}

static uint32_t summand_base(uint64_t seed, size_t first) {
    return (uint32_t)bits_mix(seed) + (uint32_t)first * SUMMAND_STEP;
}

/* 1 ... 2^20, from the progression's upper 20 bits. int: conversion of signed 32-bit integers vectorises everywhere. */
static inline double summand(uint32_t progression) {
    return (double)(int32_t)((progression >> 12) + 1);
}

/* Comparing bits and not doubles: one width of lane from the load to the sum, which is what compilers vectorise best.
 */
static inline uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

void pattern_fill_words(uint64_t *buffer, size_t count, uint64_t seed, int source, size_t first) {
    uint64_t base = word_base(seed, source, first);
    for (size_t i = 0; i < count; i++, base += BITS_STEP) {
        buffer[i] = base;
    }
}

void pattern_fill_summands(double *buffer, size_t count, uint64_t seed, int source, size_t first) {
    uint32_t base = summand_base(seed, first);
    double factor = (double)source + 1;
    for (size_t i = 0; i < count; i++, base += SUMMAND_STEP) {
        buffer[i] = factor * summand(base);
    }
}

uint64_t pattern_check_words(const uint64_t *buffer, size_t count, uint64_t seed, int source, size_t first,
                             struct pattern_fault *fault) {
    uint64_t base = word_base(seed, source, first);
    uint64_t faults = 0;
    for (size_t start = 0; start < count; start += BLOCK) {
        size_t length = count - start < BLOCK ? count - start : BLOCK;
        const uint64_t *block = buffer + start;
        uint64_t block_base = base + (uint64_t)start * BITS_STEP;
        uint64_t difference = 0;
        uint64_t expected_word = block_base;
        for (size_t i = 0; i < length; i++, expected_word += BITS_STEP) {
            difference |= block[i] ^ expected_word;
        }
        if (difference == 0) {
            continue;
        }
        for (size_t i = 0; i < length; i++) {
            uint64_t expected = block_base + (uint64_t)i * BITS_STEP;
            if (block[i] != expected) {
                if (faults == 0) {
                    *fault =
                        (struct pattern_fault){.position = start + i, .got_word = block[i], .expected_word = expected};
                }
                faults++;
            }
        }
    }
    if (faults > 0) {
        fault->count = faults;
    }
    return faults;
}

uint64_t pattern_check_sums(const double *buffer, size_t count, uint64_t seed, int ranks, size_t first,
                            struct pattern_fault *fault) {
    uint32_t base = summand_base(seed, first);
    double factor = (double)ranks * ((double)ranks + 1) / 2;
    uint64_t faults = 0;
    for (size_t start = 0; start < count; start += BLOCK) {
        size_t length = count - start < BLOCK ? count - start : BLOCK;
        const double *block = buffer + start;
        uint32_t block_base = base + (uint32_t)start * SUMMAND_STEP;
        uint32_t progression = block_base;
        uint64_t difference = 0;
        for (size_t i = 0; i < length; i++, progression += SUMMAND_STEP) {
            difference |= bits_of(block[i]) ^ bits_of(factor * summand(progression)); /* exact, and no sum is 0 or -0 */
        }
        if (difference == 0) {
            continue;
        }
        for (size_t i = 0; i < length; i++) {
            double expected = factor * summand(block_base + (uint32_t)i * SUMMAND_STEP);
            if (!(block[i] == expected)) { /* so that a NaN counts as wrong */
                if (faults == 0) {
                    *fault =
                        (struct pattern_fault){.position = start + i, .got_sum = block[i], .expected_sum = expected};
                }
                faults++;
            }
        }
    }
    if (faults > 0) {
        fault->count = faults;
    }
    return faults;
}
