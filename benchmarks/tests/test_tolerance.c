#include "check.h"
#include "tolerance.h"

static void learn(struct tolerance *t, bool exceeded, int times) {
    for (int i = 0; i < times; i++) {
        tolerance_learn(t, exceeded);
    }
}

int main(void) {
    struct tolerance t = {0, 0};
    tolerance_begin(&t, 2000);
    CHECK(t.now_ns == 2000);

    /* It follows what a crowded machine needs, within bounds, and comes back. */
    learn(&t, true, 3);
    CHECK(t.now_ns == 16000);
    learn(&t, false, 1);
    CHECK(t.now_ns < 16000 && t.now_ns > 8000);
    learn(&t, false, 100);
    CHECK(t.now_ns == 2000);
    learn(&t, true, 100);
    CHECK(t.now_ns == 50e6);

    /* What was learnt stays where as much is asked for again, or more. */
    tolerance_begin(&t, 2000);
    CHECK(t.now_ns == 50e6);
    tolerance_begin(&t, 100000);
    CHECK(t.now_ns == 50e6);

    /* Little of it stays where less is asked for: a long measurement's tolerance is not a short one's. */
    tolerance_begin(&t, 2000);
    CHECK(t.now_ns == 8000);
    learn(&t, false, 100);
    tolerance_begin(&t, 100000);
    CHECK(t.now_ns == 100000);
    tolerance_begin(&t, 50000);
    CHECK(t.now_ns == 100000);
    tolerance_begin(&t, 20000);
    CHECK(t.now_ns == 80000);

    /* And it can still be learnt. */
    tolerance_begin(&t, 2000);
    learn(&t, true, 100);
    CHECK(t.now_ns == 50e6);
    return 0;
}
