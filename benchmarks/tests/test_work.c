/* The fixed work of cpu_overhead and loggp, and the thread of the lowest priority that does it. */
#include "check.h"
#include "skew.h"
#include "soaker.h"
#include "timer.h"
#include "work.h"

#include <dirent.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define MS INT64_C(1000000)

/* Returns the CPU time of the calling thread, ns. */
static int64_t own_cpu_ns(void) {
    struct timespec now;
    CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0);
    return (int64_t)now.tv_sec * 1000 * MS + now.tv_nsec;
}

/* Returns the least CPU time of three times so many units, ns. */
static int64_t cost_ns(int64_t units) {
    int64_t least = INT64_MAX;
    for (int i = 0; i < 3; i++) {
        const int64_t began = own_cpu_ns();
        work_do(units);
        const int64_t taken = own_cpu_ns() - began;
        least = taken < least ? taken : least;
    }
    return least;
}

/* The compiler leaves nothing out: a hundred times the units cost at least ten times the CPU time. */
static void check_work(void) {
    const int64_t units = work_units(MS / 10);
    CHECK(units > 1);
    CHECK(work_units(1) == 1); /* never none */
    CHECK(work_units(MS) >= 10 * units && work_units(MS) <= 10 * (units + 1));
    CHECK(cost_ns(100 * units) > 10 * cost_ns(units));
}

/* All ranks work as long in a batch, and hardly ever as long before a call. */
static void check_skew(void) {
    enum { RANKS = 20 };
    double waited = 0;
    for (int rank = 0; rank < RANKS; rank++) {
        const struct skew one = skew_of(rank, 1);
        const struct skew other = skew_of(rank + 1, 1);
        double sum = 0;
        double largest = 0;
        int alike = 0;
        for (int call = 0; call < SKEW_CALLS; call++) {
            const double share = one.shares[call];
            CHECK(share > 0);
            CHECK(share == skew_of(rank, 1).shares[call]);
            sum += share;
            largest = share > largest ? share : largest;
            alike += share == other.shares[call];
            waited += (share > other.shares[call] ? share : other.shares[call]) - share;
        }
        CHECK(sum > SKEW_CALLS - 1e-9 && sum < SKEW_CALLS + 1e-9);
        CHECK(largest > 3 && largest < 4); /* ln 32, over the mean of the quantiles */
        CHECK(alike < SKEW_CALLS / 2);
    }
    /* The larger of two exponential times is half as long again as each. */
    CHECK(waited / RANKS / SKEW_CALLS > 0.4 && waited / RANKS / SKEW_CALLS < 0.6);
}

/* Whether a thread of this process with the soaker's name has the lowest priority, as the system says. */
static bool has_idle_thread(void) {
    DIR *tasks = opendir("/proc/self/task");
    CHECK(tasks != NULL);
    bool found = false;
    for (const struct dirent *task = readdir(tasks); task != NULL; task = readdir(tasks)) {
        const long id = strtol(task->d_name, NULL, 10);
        char path[64];
        char name[32] = "";
        CHECK(snprintf(path, sizeof path, "/proc/self/task/%ld/comm", id) < (int)sizeof path);
        FILE *file = id > 0 ? fopen(path, "r") : NULL;
        if (file != NULL) {
            found = found || (fgets(name, sizeof name, file) != NULL && strcmp(name, "soaker\n") == 0 &&
                              sched_getscheduler((pid_t)id) == SCHED_IDLE);
            CHECK(fclose(file) == 0);
        }
    }
    CHECK(closedir(tasks) == 0);
    return found;
}

/* Waits until it has used more CPU time than it had. A soaker that does not compute ends in the test's time limit. */
static void wait_for_work(const soaker *s, int64_t had_ns) {
    while (soaker_cpu_ns(s) < had_ns + MS) {
        timer_sleep(0.001);
    }
}

/* It uses no CPU time while it sleeps; a thread that wakes and falls asleep again needs far less than 1 ms. */
static void check_asleep(const soaker *s) {
    const int64_t had = soaker_cpu_ns(s);
    timer_sleep(0.02);
    CHECK(soaker_cpu_ns(s) - had < MS);
}

static void check_soaker(void) {
    char error[256] = "";
    soaker *s = soaker_create(error, sizeof error);
    CHECK_TEXT(error, "");
    CHECK(s != NULL && has_idle_thread());
    check_asleep(s);
    soaker_rest(s); /* it sleeps already */
    for (int i = 0; i < 2; i++) {
        const int64_t had = soaker_cpu_ns(s);
        soaker_wake(s);
        soaker_wake(s); /* it computes already */
        wait_for_work(s, had);
        soaker_rest(s);
        check_asleep(s);
    }
    soaker_destroy(s);
    CHECK(!has_idle_thread());
    soaker_destroy(NULL);

    /* One that is destroyed while it computes ends too. */
    s = soaker_create(error, sizeof error);
    CHECK(s != NULL);
    soaker_wake(s);
    soaker_destroy(s);
}

int main(void) {
    check_work();
    check_skew();
    check_soaker();
    return 0;
}
