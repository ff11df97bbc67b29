#include "blocks.h"

size_t blocks_share(size_t count, size_t index, size_t ranks) {
    const size_t place = index % ranks;
    const size_t half = count / 2;
    if (ranks % 2 == 1 && place == ranks - 1) {
        return count;
    }
    return place % 2 == 0 ? count - half : count + half;
}

/* Returns the elements of the first n shares, n at most ranks: the two shares of a pair have 2 * count together. */
static size_t sum_from_0(size_t count, size_t n, size_t ranks) {
    return n % 2 == 0 ? n * count : (n - 1) * count + blocks_share(count, n - 1, ranks);
}

size_t blocks_sum(size_t count, size_t first, size_t n, size_t ranks) {
    const size_t begin = first % ranks;
    const size_t end = begin + n;
    if (end <= ranks) {
        return sum_from_0(count, end, ranks) - sum_from_0(count, begin, ranks);
    }
    return ranks * count - sum_from_0(count, begin, ranks) + sum_from_0(count, end - ranks, ranks);
}
