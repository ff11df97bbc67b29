#include "blocks.h"
#include "check.h"

/* The header's promises, for every number of ranks, every count, and every run of shares. */
static void test_promises(size_t count, size_t ranks) {
    size_t differ = 0;
    for (size_t first = 0; first < ranks; first++) {
        const size_t share = blocks_share(count, first, ranks);
        CHECK(2 * share >= count && 2 * share <= 3 * count);
        CHECK(blocks_share(count, first + 3 * ranks, ranks) == share);
        differ += share != count;
        size_t sum = 0;
        for (size_t n = 0; n <= ranks; n++) {
            CHECK(blocks_sum(count, first, n, ranks) == sum);
            CHECK(n == 0 || count == 0 || sum < (n + 1) * count);
            sum += blocks_share(count, first + n, ranks);
        }
        CHECK(blocks_sum(count, first, ranks, ranks) == ranks * count);
    }
    CHECK(count < 2 || differ + 1 >= ranks);
}

/* Row r, column j: what r sends to j. Rows and columns have the same sum. */
static void test_columns(size_t count, size_t ranks) {
    for (size_t column = 0; column < ranks; column++) {
        size_t sum = 0;
        for (size_t row = 0; row < ranks; row++) {
            sum += blocks_share(count, row + column, ranks);
        }
        CHECK(sum == ranks * count);
    }
}

int main(void) {
    for (size_t ranks = 1; ranks <= 9; ranks++) {
        for (size_t count = 0; count <= 33; count++) {
            test_promises(count, ranks);
            test_columns(count, ranks);
        }
    }
    return 0;
}
