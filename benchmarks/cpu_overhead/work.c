#include "work.h"

#include "fail.h"
#include "timer.h"

#include <errno.h>
#include <string.h>
#include <time.h>

enum { STEPS_OF_UNIT = 16 };

#ifdef WORK_SIMULATED /* in a simulator arithmetic takes no time, but sleeping does */

enum { UNIT_NS = 20 };

void work_do(int64_t units) {
    const int64_t time_ns = units * UNIT_NS;
    const struct timespec time = {.tv_sec = time_ns / 1000000000, .tv_nsec = time_ns % 1000000000};
    if (nanosleep(&time, NULL) != 0) {
        fail_die("nanosleep failed: %s", strerror(errno));
    }
}

#else

/* Each step needs the result of the step before, so that no compiler and no CPU can do several at once. */
void work_do(int64_t units) {
    static volatile uint64_t result; /* nobody reads it: it keeps the compiler from leaving the work out */
    uint64_t value = result;
    for (int64_t i = 0; i < units * STEPS_OF_UNIT; i++) {
        value = value * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    }
    result = value;
}

#endif

int64_t work_units(int64_t time_ns) {
    enum { READINGS = 20, UNITS = 5000 };
    static int64_t fastest_ns = 0; /* of UNITS; 0: not read yet */
    for (int i = fastest_ns == 0 ? 0 : READINGS; i < READINGS; i++) {
        const int64_t began = timer_now_ns();
        work_do(UNITS);
        const int64_t taken = timer_now_ns() - began;
        fastest_ns = fastest_ns == 0 || taken < fastest_ns ? taken : fastest_ns;
    }
    const double units = (double)time_ns * UNITS / (double)(fastest_ns > 0 ? fastest_ns : 1);
    return units < 1 ? 1 : (int64_t)units;
}
