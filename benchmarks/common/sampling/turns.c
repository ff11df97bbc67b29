#include "turns.h"

#include "bits.h"

#include <stdbool.h>

/* The thing that has this number in a block: a shuffle by Fisher and Yates, of all but the first, with which each block
 * begins and ends. */
static size_t numbered(size_t things, uint64_t block, size_t number) {
    size_t names[TURNS_MOST];
    for (size_t i = 0; i < things; i++) {
        names[i] = i;
    }
    for (size_t i = things; i > 2; i--) {
        const size_t other = 1 + (size_t)(bits_mix((block * TURNS_MOST + i) * BITS_STEP) % (i - 1));
        const size_t name = names[i - 1];
        names[i - 1] = names[other];
        names[other] = name;
    }
    return names[number];
}

/* The number at a place of a row of Williams: 0, 1, last, 2, last but one ..., and so many more in each. Its last
 * number is half the number of things, rounded up, further than its first. */
static size_t of_williams(size_t things, size_t more, size_t place) {
    return (more + (place % 2 != 0 ? (place + 1) / 2 : things - place / 2)) % things;
}

/* The number at a place of one of so many rows as there are things. Each begins with the last number of the one before
 * it, the first with that of the last. */
static size_t of_chain(size_t things, size_t row, size_t place) {
    const size_t half = (things + 1) / 2;
    if (things % 2 != 0) {
        return of_williams(things, row * half, place);
    }
    /* Even rows go from j to j + half. Odd rows are the same with other numbers, and go from j + half to j + 1. */
    const size_t number = of_williams(things, row / 2, place);
    if (row % 2 == 0) {
        return number;
    }
    return number < half ? number + half : (number - half + 1) % half;
}

size_t turns_at(size_t things, uint64_t repetition, size_t turn) {
    const size_t row = (size_t)(repetition % (2 * things));
    const bool forwards = row < things;
    const size_t number =
        forwards ? of_chain(things, row, turn) : of_chain(things, 2 * things - 1 - row, things - 1 - turn);
    return numbered(things, repetition / (2 * things), number);
}

int64_t turns_order(size_t things, uint64_t repetition) {
    int64_t order = 0;
    for (size_t turn = 0; turn < things; turn++) {
        order = 10 * order + (int64_t)turns_at(things, repetition, turn) + 1;
    }
    return order;
}
