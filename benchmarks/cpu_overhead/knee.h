/*
 * knee - searches how much work fits beside an open collective: a bisection whose steps have three answers.
 *
 * Near the knee no step can be told from noise. Then the search goes on below and above what could not be told, in the
 * wider of both gaps, so that both ends of the interval of the knee are found. A bisection that takes a side instead
 * never looks at the other one again.
 */
#pragma once

#include <stdint.h>

enum knee_answer { KNEE_FITS, KNEE_UNTOLD, KNEE_TOO_MUCH };

/* Amounts of work, from 0 on, in any unit. */
struct knee {
    int64_t fits;        /* the largest that fits */
    int64_t too_much;    /* the smallest that does not; at first the most that there may be */
    int64_t untold_low;  /* the smallest and the largest between them that could not be told; */
    int64_t untold_high; /* below untold_low: there is none */
};

struct knee knee_begin(int64_t most);

/* Returns the next amount to try, between `fits` and `too_much`. */
int64_t knee_next(const struct knee *k);

/* Notes whether an amount that was tried fits. */
void knee_note(struct knee *k, int64_t tried, enum knee_answer answer);
