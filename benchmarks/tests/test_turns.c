#include "check.h"
#include "turns.h"

enum { BLOCKS = 20 };

/* How often each thing has each place, and follows each one, itself too, over a block: 2 times. The first of a block
 * follows the last of the one before it, with which its own last is of one name. */
static void test_a_block_is_balanced(size_t things, uint64_t block) {
    const uint64_t length = 2 * things;
    int places[TURNS_MOST][TURNS_MOST] = {{0}};
    int follows[TURNS_MOST][TURNS_MOST] = {{0}};
    size_t before = turns_at(things, (block + 1) * length - 1, things - 1);
    CHECK(block == 0 || before == turns_at(things, block * length - 1, things - 1));
    for (uint64_t repetition = block * length; repetition < (block + 1) * length; repetition++) {
        for (size_t turn = 0; turn < things; turn++) {
            const size_t thing = turns_at(things, repetition, turn);
            CHECK(thing < things);
            places[thing][turn]++;
            follows[before][thing]++;
            before = thing;
        }
    }
    for (size_t i = 0; i < things; i++) {
        for (size_t j = 0; j < things; j++) {
            CHECK(places[i][j] == 2);
            CHECK(follows[i][j] == 2);
        }
    }
}

/* Blocks have orders of their own, as far as there are any. */
static void test_blocks_differ(void) {
    int same = 0;
    for (uint64_t block = 1; block < BLOCKS; block++) {
        same += turns_order(4, 8 * block) == turns_order(4, 0);
    }
    CHECK(same < BLOCKS / 2);
}

static void test_order_in_digits(void) {
    for (uint64_t repetition = 0; repetition < 50; repetition++) {
        int64_t order = 0;
        for (size_t turn = 0; turn < 4; turn++) {
            order = 10 * order + (int64_t)turns_at(4, repetition, turn) + 1;
        }
        CHECK(turns_order(4, repetition) == order);
    }
    CHECK(turns_order(1, 5) == 1);
    CHECK(turns_order(0, 1) == 0);
}

int main(void) {
    for (size_t things = 1; things <= TURNS_MOST; things++) {
        for (uint64_t block = 0; block < BLOCKS; block++) {
            test_a_block_is_balanced(things, block);
        }
    }
    test_blocks_differ();
    test_order_in_digits();
    return 0;
}
