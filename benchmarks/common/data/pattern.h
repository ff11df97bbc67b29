/*
 * pattern - the contents of messages, which the receiver can compute by itself in order to check them.
 *
 * Each source rank has one endless sequence. A repetition sends a window of it that starts at
 * pattern_first(repetition): the contents differ by source, by position and by repetition, and the send buffer is
 * filled only once. So checking is one pass over the received data, sending costs nothing beside the measurement, and
 * stale data of the last repetition are found although nothing is cleared.
 *
 * Words (uint64) are for collectives that move data: an arithmetic progression modulo 2^64 that starts at a hash of
 * seed and source. Summands (double) are for sums: (source + 1) * h(position), where h is a hash of 20 bits that is at
 * least 1. All summands are integers, so that sums are exact in any order for up to PATTERN_MAX_SUM_RANKS ranks, and
 * the sum over p ranks is h * p (p + 1) / 2.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* PATTERN_PERIOD: the contents repeat after so many repetitions. PATTERN_PADDING: so many elements beyond the message
 * are reached by the windows of all repetitions.
 */
#define PATTERN_PERIOD 61
#define PATTERN_PADDING ((size_t)(8 * PATTERN_PERIOD))

/* More ranks could make a sum inexact: 2^20 p (p + 1) / 2 must not exceed 2^53. */
#define PATTERN_MAX_SUM_RANKS 131071

/* The wrong elements of a buffer. got and expected are those of the first one: _word for words, _sum for sums. */
struct pattern_fault {
    uint64_t count;  /* wrong elements */
    size_t position; /* index of the first wrong one */
    uint64_t got_word;
    uint64_t expected_word;
    double got_sum;
    double expected_sum;
};

/* Returns where a repetition's window starts, in elements: a multiple of 64 bytes, below PATTERN_PADDING. */
size_t pattern_first(uint64_t repetition);

/* Fill a buffer with count elements of the source's sequence from `first` on. */
void pattern_fill_words(uint64_t *buffer, size_t count, uint64_t seed, int source, size_t first);
void pattern_fill_summands(double *buffer, size_t count, uint64_t seed, int source, size_t first);

/* Return the number of wrong elements, and the first one in *fault, which is untouched where the number is 0. */
uint64_t pattern_check_words(const uint64_t *buffer, size_t count, uint64_t seed, int source, size_t first,
                             struct pattern_fault *fault);
uint64_t pattern_check_sums(const double *buffer, size_t count, uint64_t seed, int ranks, size_t first,
                            struct pattern_fault *fault);
