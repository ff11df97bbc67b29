#include "check.h"
#include "turns.h"

enum { BLOCKS = 4000 };

static uint64_t block_length(size_t things) {
    return things % 2 == 0 ? things : 2 * things;
}

/* How often each thing has each place, and follows each other one within a repetition, over a block. */
static void test_a_block_is_balanced(size_t things, uint64_t block) {
    const uint64_t length = block_length(things);
    int places[TURNS_MOST][TURNS_MOST] = {{0}};
    int follows[TURNS_MOST][TURNS_MOST] = {{0}};
    for (uint64_t repetition = block * length; repetition < (block + 1) * length; repetition++) {
        for (size_t turn = 0; turn < things; turn++) {
            const size_t thing = turns_at(things, repetition, turn);
            CHECK(thing < things);
            places[thing][turn]++;
            if (turn > 0) {
                follows[turns_at(things, repetition, turn - 1)][thing]++;
            }
        }
    }
    for (size_t i = 0; i < things; i++) {
        for (size_t j = 0; j < things; j++) {
            CHECK(places[i][j] == (int)(length / things));
            CHECK(follows[i][j] == (i == j ? 0 : (int)(length / things)));
        }
    }
}

/* What the first of a repetition follows is each other thing about equally often, over many blocks: within 10 %, five
 * standard deviations or more. */
static void test_what_the_first_follows_is_balanced(size_t things) {
    const uint64_t repetitions = BLOCKS * block_length(things);
    int follows[TURNS_MOST][TURNS_MOST] = {{0}};
    int others = 0;
    for (uint64_t repetition = 1; repetition < repetitions; repetition++) {
        const size_t before = turns_at(things, repetition - 1, things - 1);
        const size_t thing = turns_at(things, repetition, 0);
        follows[before][thing]++;
        others += before != thing;
    }
    const double each = (double)others / (double)(things * (things - 1));
    for (size_t i = 0; i < things; i++) {
        for (size_t j = 0; j < things; j++) {
            CHECK(i == j || (follows[i][j] > 0.9 * each && follows[i][j] < 1.1 * each));
        }
    }
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
        for (uint64_t block = 0; block < 20; block++) {
            test_a_block_is_balanced(things, block);
        }
    }
    for (size_t things = 2; things <= 4; things++) {
        test_what_the_first_follows_is_balanced(things);
    }
    test_order_in_digits();
    return 0;
}
