#include "node_time.h"

#include "fail.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct node_time node_time_now(void) {
    enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, COLUMNS };
    int64_t ticks[COLUMNS] = {0};
    FILE *file = fopen("/proc/stat", "re");
    if (file == NULL) {
        return (struct node_time){0};
    }
    const int read =
        fscanf(file, "cpu %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64,
               &ticks[USER], &ticks[NICE], &ticks[SYSTEM], &ticks[IDLE], &ticks[IOWAIT], &ticks[IRQ], &ticks[SOFTIRQ]);
    if (fclose(file) != 0 || read != COLUMNS) {
        return (struct node_time){0};
    }
    const int64_t tick_ns = node_time_tick_ns();
    return (struct node_time){.busy_ns =
                                  (ticks[USER] + ticks[NICE] + ticks[SYSTEM] + ticks[IRQ] + ticks[SOFTIRQ]) * tick_ns,
                              .softirq_ns = ticks[SOFTIRQ] * tick_ns};
}

static int64_t setting(int name, const char *words) {
    const long value = sysconf(name);
    if (value < 1) {
        fail_die("sysconf(%s) failed: %s", words, strerror(errno));
    }
    return value;
}

int64_t node_time_tick_ns(void) {
    return INT64_C(1000000000) / setting(_SC_CLK_TCK, "_SC_CLK_TCK");
}

int64_t node_time_cpus(void) {
    return setting(_SC_NPROCESSORS_ONLN, "_SC_NPROCESSORS_ONLN");
}
