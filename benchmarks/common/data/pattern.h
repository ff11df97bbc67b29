/*
 * pattern - what is sent, and how the receiver knows it without having been told.
 *
 * One endless sequence per source rank. A repetition sends a window of it that starts at pattern_first(repetition), so
 * the contents differ by source, by position and by repetition, and the send buffer is filled once, not every time:
 * checking is one pass over the received data and sending costs nothing beside the measurement. Stale data of the
 * repetition before is found without clearing anything.
 *
 * Words (uint64) are for collectives that move data: an arithmetic progression modulo 2^64 that starts at a hash of
 * seed and source. Terms (double) are for sums: (source + 1) * h(position), h a hash of 20 bits, at least 1. All are
 * integers, so that sums are exact in any order up to PATTERN_MAX_SUM_RANKS ranks, and sum over ranks = h * p (p + 1) /
 * 2 is known in O(1).
 */
#ifndef CAMPAIGN_PATTERN_H
#define CAMPAIGN_PATTERN_H

#include <stddef.h>
#include <stdint.h>

/* After so many repetitions the contents repeat; elements that the windows of all repetitions reach beyond the message.
 */
#define PATTERN_PERIOD 61
#define PATTERN_PADDING ((size_t)(8 * PATTERN_PERIOD))

/* More ranks could make a sum inexact: 2^20 p (p + 1) / 2 must not exceed 2^53. */
#define PATTERN_MAX_SUM_RANKS 131071

/* The first fault of a buffer. got and expected are words, or for sums the doubles' values. */
struct pattern_fault {
    uint64_t count;  /* wrong elements */
    size_t position; /* index of the first wrong one */
    uint64_t got_word;
    uint64_t expected_word;
    double got_sum;
    double expected_sum;
};

/* Where in its sequence a repetition starts, in elements: a multiple of 64 bytes below PATTERN_PADDING. */
size_t pattern_first(uint64_t repetition);

void pattern_fill_words(uint64_t *buffer, size_t count, uint64_t seed, int source, size_t first);
void pattern_fill_terms(double *buffer, size_t count, uint64_t seed, int source, size_t first);

/* Number of wrong elements, 0 when all is well; the first one in *fault (untouched when all is well). */
uint64_t pattern_check_words(const uint64_t *buffer, size_t count, uint64_t seed, int source, size_t first,
                             struct pattern_fault *fault);
uint64_t pattern_check_sums(const double *buffer, size_t count, uint64_t seed, int ranks, size_t first,
                            struct pattern_fault *fault);

#endif
