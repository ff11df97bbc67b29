#include "ways.h"

#include "fail.h"
#include "fail_mpi.h"
#include "timer.h"
#include "work.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

static void block(exchange *x, int64_t units) {
    exchange_call(x);
}

static void wait_at_once(exchange *x, int64_t units) {
    exchange_call(x);
    exchange_wait(x);
}

static bool is_complete(exchange *x) {
    int complete = 0;
    MPI_CHECK(MPI_Test(exchange_request(x), &complete, MPI_STATUS_IGNORE));
    return complete != 0;
}

static void test(exchange *x, int64_t units) {
    exchange_call(x);
    while (!is_complete(x)) {
    }
}

/* How late the kernel may end the sleeps of the calling thread; 0: as late as it was allowed when the thread began. */
static void set_timer_slack(unsigned long slack_ns) {
    if (prctl(PR_SET_TIMERSLACK, slack_ns, 0UL, 0UL, 0UL) != 0) {
        fail_die("prctl(PR_SET_TIMERSLACK) failed: %s", strerror(errno));
    }
}

/* Sleeps, and ends on time rather than 50 us late. The library's own sleeps must keep their slack: MPICH asks for 1 ns
 * when it yields, and it is the slack that makes a sleep of that. */
static void sleep_for(int64_t time_ns) {
    const struct timespec time = {.tv_sec = time_ns / 1000000000, .tv_nsec = time_ns % 1000000000};
    set_timer_slack(1);
    if (nanosleep(&time, NULL) != 0 && errno != EINTR) {
        fail_die("nanosleep failed: %s", strerror(errno));
    }
    set_timer_slack(0);
}

/* Each sleep is a quarter of the time that the call has taken so far: so it ends at most a quarter too late, however
 * long it takes. The first ones are too short to be worth a sleep: it tests without a pause for as long as a sleep and
 * the way back take. */
static void sleep_between_tests(exchange *x, int64_t units) {
    enum { WORTH_A_SLEEP_NS = 20000, SHARE = 4, LONGEST_SLEEP_NS = 1000000 };
    const int64_t began = timer_now_ns();
    exchange_call(x);
    while (!is_complete(x)) {
        const int64_t waited = timer_now_ns() - began;
        if (waited >= WORTH_A_SLEEP_NS) {
            sleep_for(waited / SHARE < LONGEST_SLEEP_NS ? waited / SHARE : LONGEST_SLEEP_NS);
        }
    }
}

static void work_meanwhile(exchange *x, int64_t units) {
    exchange_call(x);
    work_do(units);
    exchange_wait(x);
}

static void work_first(exchange *x, int64_t units) {
    work_do(units);
    exchange_call(x);
}

static void come_late_and_wait(exchange *x, int64_t units) {
    work_first(x, units);
    exchange_wait(x);
}

const struct way way_table[WAY_COUNT] = {
    [WAY_BLOCKING] = {.name = "blocking", .help = "as the library waits in the blocking call", .spend = block},
    [WAY_NONBLOCKING] = {.name = "nonblocking",
                         .help = "the nonblocking call, waited for at once",
                         .nonblocking = true,
                         .spend = wait_at_once},
    [WAY_TESTING] = {.name = "testing",
                     .help = "the nonblocking call, tested for all the time",
                     .nonblocking = true,
                     .spend = test},
    [WAY_SLEEPING] = {.name = "sleeping",
                      .help = "the nonblocking call, tested for between sleeps that grow",
                      .nonblocking = true,
                      .spend = sleep_between_tests},
    [WAY_SOAKING] = {.name = "soaking",
                     .help = "the blocking call beside a thread of the lowest priority",
                     .soaks = true,
                     .spend = block},
    [WAY_WORKING] = {.name = "working",
                     .help = "work beside the nonblocking call",
                     .nonblocking = true,
                     .works = true,
                     .reference = WAY_NONBLOCKING,
                     .spend = work_meanwhile},
    [WAY_ONCE] = {.name = "once",
                  .help = "one blocking call from a common start, which an equation describes",
                  .once = true,
                  .reference = WAY_ONCE,
                  .spend = block},
    [WAY_LATE] = {.name = "late",
                  .help = "the blocking call, to which the last rank comes late",
                  .late = true,
                  .spend = block,
                  .spend_late = work_first},
    [WAY_LATE_WORKING] = {.name = "late_working",
                          .help = "work beside the nonblocking call, to which the last rank comes late by as much work",
                          .nonblocking = true,
                          .late = true,
                          .spend = work_meanwhile,
                          .spend_late = come_late_and_wait},
    [WAY_EVEN] = {.name = "even",
                  .help = "equal work on all ranks before each blocking call",
                  .even = true,
                  .reference = WAY_EVEN,
                  .spend = work_first},
    [WAY_EVEN_WORKING] = {.name = "even_working",
                          .help = "equal work on all ranks beside each nonblocking call",
                          .nonblocking = true,
                          .even = true,
                          .reference = WAY_EVEN,
                          .spend = work_meanwhile},
    [WAY_SKEWED] = {.name = "skewed",
                    .help = "as much work before the blocking calls, of each call another time on each rank",
                    .skewed = true,
                    .reference = WAY_EVEN,
                    .spend = work_first},
    [WAY_SKEWED_WORKING] = {.name = "skewed_working",
                            .help = "as much work beside the nonblocking calls, of each call another time on each rank",
                            .nonblocking = true,
                            .skewed = true,
                            .reference = WAY_SKEWED,
                            .spend = work_meanwhile},
};

bool way_is_timed(const struct way *way) {
    return way->late || way->even || way->skewed;
}

OPTION_CHOICES_FROM(way_choices, way_table, WAY_COUNT, help)
