#include "tolerance.h"

#define MOST_NS 50e6
#define DECAY 0.9

/* Where less is asked for than before, the tolerance is cut to this multiple of what is asked for. */
#define KEPT 4

void tolerance_begin(struct tolerance *t, int64_t least_ns) {
    const double least = (double)least_ns;
    if (least < t->least_ns && t->now_ns > KEPT * least) {
        t->now_ns = KEPT * least;
    }
    if (t->now_ns < least) {
        t->now_ns = least;
    }
    t->least_ns = least;
}

void tolerance_learn(struct tolerance *t, bool exceeded) {
    if (exceeded) {
        t->now_ns = t->now_ns * 2 < MOST_NS ? t->now_ns * 2 : MOST_NS;
    } else {
        t->now_ns = t->now_ns * DECAY > t->least_ns ? t->now_ns * DECAY : t->least_ns;
    }
}
