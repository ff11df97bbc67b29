#include "check.h"
#include "turns.h"

enum { MOST = 9 };

/* How often each thing has each place, and follows each other one, over a whole design. */
static void test_balance(void) {
    for (size_t things = 1; things <= MOST; things++) {
        const uint64_t rows = things % 2 == 0 ? things : 2 * things;
        int places[MOST][MOST] = {{0}};
        int follows[MOST][MOST] = {{0}};
        for (uint64_t row = 0; row < rows; row++) {
            for (size_t turn = 0; turn < things; turn++) {
                const size_t thing = turns_at(things, 7 * rows + row, turn);
                CHECK(thing < things);
                places[thing][turn]++;
                if (turn > 0) {
                    follows[turns_at(things, row, turn - 1)][thing]++;
                }
            }
        }
        for (size_t i = 0; i < things; i++) {
            for (size_t j = 0; j < things; j++) {
                CHECK(places[i][j] == (int)(rows / things));
                CHECK(follows[i][j] == (i == j ? 0 : (int)(rows / things)));
            }
        }
    }
}

static void test_order_in_digits(void) {
    CHECK(turns_order(1, 5) == 1);
    CHECK(turns_order(4, 0) == 1243);
    CHECK(turns_order(4, 1) == 2314);
    CHECK(turns_order(3, 0) == 123);
    CHECK(turns_order(3, 1) == 321);
    CHECK(turns_order(0, 1) == 0);
}

int main(void) {
    test_balance();
    test_order_in_digits();
    return 0;
}
