#include "turns.h"

size_t turns_at(size_t things, uint64_t repetition, size_t turn) {
    /* Rows of an odd number of things come in pairs, the second of which is the first backwards. */
    const size_t odd = things % 2;
    const uint64_t row = odd != 0 ? repetition / 2 : repetition;
    const size_t place = odd != 0 && repetition % 2 != 0 ? things - 1 - turn : turn;
    /* 0, 1, last, 2, last but one ...: each difference of neighbours once. */
    const size_t first = place % 2 != 0 ? (place + 1) / 2 : (things - place / 2) % things;
    return (first + (size_t)(row % things)) % things;
}

int64_t turns_order(size_t things, uint64_t repetition) {
    int64_t order = 0;
    for (size_t turn = 0; turn < things; turn++) {
        order = 10 * order + (int64_t)turns_at(things, repetition, turn) + 1;
    }
    return order;
}
