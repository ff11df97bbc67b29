#include "turns.h"

/* A bijection of 64 bits (splitmix64, Steele et al. 2014). */
static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* The thing that has this number in a block: a shuffle by Fisher and Yates. */
static size_t numbered(size_t things, uint64_t block, size_t number) {
    size_t names[TURNS_MOST];
    for (size_t i = 0; i < things; i++) {
        names[i] = i;
    }
    for (size_t i = things; i > 1; i--) {
        const size_t other = (size_t)(mix((block * TURNS_MOST + i) * UINT64_C(0x9e3779b97f4a7c15)) % i);
        const size_t name = names[i - 1];
        names[i - 1] = names[other];
        names[other] = name;
    }
    return names[number];
}

size_t turns_at(size_t things, uint64_t repetition, size_t turn) {
    /* Rows of an odd number of things come in pairs, the second of which is the first backwards. */
    const size_t odd = things % 2;
    const uint64_t row = odd != 0 ? repetition / 2 : repetition;
    const size_t place = odd != 0 && repetition % 2 != 0 ? things - 1 - turn : turn;
    /* 0, 1, last, 2, last but one ...: each difference of neighbours once. */
    const size_t first = place % 2 != 0 ? (place + 1) / 2 : (things - place / 2) % things;
    return numbered(things, row / things, (first + (size_t)(row % things)) % things);
}

int64_t turns_order(size_t things, uint64_t repetition) {
    int64_t order = 0;
    for (size_t turn = 0; turn < things; turn++) {
        order = 10 * order + (int64_t)turns_at(things, repetition, turn) + 1;
    }
    return order;
}
