/*
 * stopwatch - divides the time of a solve into computation and collectives.
 *
 * A collective's time begins when the rank has nothing more to compute for it, and ends when the rank may compute with
 * its result. So it includes waiting for other ranks and, in the variant of the hybrid library, the write phase's wait
 * and copies that only the library needs.
 */
#pragma once

#include "timer.h"

#include <stdint.h>

struct stopwatch {
    int64_t began;   /* local time of the start of the solve */
    int64_t since;   /* local time up to which all time is divided */
    int64_t compute; /* ns */
};

static inline struct stopwatch stopwatch_start(void) {
    const int64_t now = timer_now_ns();
    return (struct stopwatch){.began = now, .since = now};
}

/* What the rank did since the last call was computation. */
static inline void stopwatch_computed(struct stopwatch *w) {
    const int64_t now = timer_now_ns();
    w->compute += now - w->since;
    w->since = now;
}

/* What the rank did since the last call belongs to a collective. */
static inline void stopwatch_communicated(struct stopwatch *w) {
    w->since = timer_now_ns();
}
