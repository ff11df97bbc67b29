#include "rendezvous.h"

#include "fail.h"
#include "file.h"
#include "impact.h"
#include "timer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Between the last one's arrival and the beginning: time to see that it arrived. */
enum { GRACE_NS = 20000000 };

static const double look_seconds = 0.0005;

static char *name_of(const char *base, int rank) {
    const int length = snprintf(NULL, 0, "%s.%d.ready", base, rank);
    char *name = fail_alloc((size_t)length + 1, 1);
    snprintf(name, (size_t)length + 1, "%s.%d.ready", base, rank);
    return name;
}

/* Whether a process has arrived, and when. A file appears whole or not at all. */
static bool has_arrived(const char *base, int rank, int64_t *when_utc_ns) {
    char error[256];
    size_t length = 0;
    char *name = name_of(base, rank);
    char *text = access(name, R_OK) == 0 ? file_read(name, &length, error, sizeof error) : NULL;
    const bool here = text != NULL && sscanf(text, "%" SCNd64, when_utc_ns) == 1;
    free(text);
    free(name);
    return here;
}

bool rendezvous_wait(const char *base, int rank, const int *ranks, size_t count, double most_seconds,
                     int64_t *begin_utc_ns, char *error, size_t error_size) {
    char text[32];
    const int length = snprintf(text, sizeof text, "%" PRId64 "\n", impact_utc_ns());
    char *name = name_of(base, rank);
    const bool written = file_replace(name, text, (size_t)length, error, error_size);
    free(name);
    if (!written) {
        return false;
    }
    const int64_t limit = timer_now_ns() + (int64_t)(most_seconds * 1e9);
    int64_t last = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t when = 0;
        while (!has_arrived(base, ranks[i], &when)) {
            if (timer_now_ns() > limit) {
                snprintf(error, error_size,
                         "process %d, one of %zu of this host, did not get ready within %g s: did it end, or is '%s' "
                         "not on a file system that all of them see?",
                         ranks[i], count, most_seconds, base);
                return false;
            }
            timer_sleep(look_seconds);
        }
        last = when > last ? when : last;
    }
    *begin_utc_ns = last + GRACE_NS;
    return true;
}

void rendezvous_leave(const char *base, int rank) {
    char *name = name_of(base, rank);
    if (unlink(name) != 0 && errno != ENOENT) {
        fail_report("'%s' cannot be removed", name);
    }
    free(name);
}
