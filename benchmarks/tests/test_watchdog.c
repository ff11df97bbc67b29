#include "check.h"
#include "record.h"
#include "timer.h"
#include "watchdog.h"

#include <stdatomic.h>
#include <stdint.h>

#define SECOND INT64_C(1000000000)

static atomic_int calls;
static atomic_int closed;
static record_file *record;

static void count(void *context) {
    atomic_fetch_add((atomic_int *)context, 1);
}

/* What a watchdog does with the record of a run that hangs. */
static void close_record(void *context) {
    CHECK(record_seize(record, 5) && record_points(record) == 1);
    const struct record_footer footer = {.reason = "it hangs", .clock_refusal = ""};
    CHECK(record_write_footer(record, &footer));
    atomic_store(&closed, 1);
}

static void wait_for(atomic_int *flag) {
    while (atomic_load(flag) == 0) {
        timer_sleep(0.001);
    }
}

static void write_points(void) {
    char error[256];
    record = record_create(NULL, error, sizeof error);
    CHECK(record != NULL && record_write_first(record, "{}") &&
          record_write_point(record, &(struct record_point){.parameters = "{}"}));
}

int main(void) {
    /* In time: it is not called, and stopping does not wait for the deadline. */
    watchdog *w = watchdog_start(timer_now_ns() + 3600 * SECOND, count, &calls);
    watchdog_stop(w);
    CHECK(atomic_load(&calls) == 0);
    watchdog_stop(NULL);

    /* Over: it is called once, although nobody stops it; a deadline that has passed is over at once. */
    w = watchdog_start(timer_now_ns() - SECOND, count, &calls);
    wait_for(&calls);
    watchdog_stop(w);
    CHECK(atomic_load(&calls) == 1);

    /* A record that has its footer is nobody's to close. */
    write_points();
    const struct record_footer footer = {.complete = true, .reason = "", .clock_refusal = ""};
    CHECK(record_write_footer(record, &footer) && !record_seize(record, 0));
    CHECK(record_points(record) == 1);
    record_close(record);

    /* One that lacks it is seized for good. */
    write_points();
    w = watchdog_start(timer_now_ns(), close_record, NULL);
    wait_for(&closed);
    watchdog_stop(w);
    CHECK(!record_seize(record, 0));
    return 0; /* as a run ends: the record is not closed, it is the other thread's */
}
