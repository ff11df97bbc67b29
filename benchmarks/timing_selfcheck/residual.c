#include "residual.h"

#include "timer.h"

#include <math.h>
#include <stdio.h>

enum { MOST_LOOKS = 2 };

struct look {
    double after_seconds;
    struct clock_residual residual;
};

/* Collective: measures the residual at once and after the hold. Returns how often it was measured. */
static int look_twice(struct session *session, struct look *looks) {
    const double hold = session->settings->hold_seconds;
    /* A drift that is extrapolated over the hold must rest on a baseline as long, or it would amplify the errors of its
     * ends. */
    if (!clock_establish(session->program->clock, hold) || !clock_synchronise(session->program->clock)) {
        return 0;
    }
    int count = 0;
    int64_t synchronised = timer_now_ns();
    looks[count++] = (struct look){0, clock_verify(session->program->clock)};
    if (hold > 0) {
        timer_sleep(hold - (double)(timer_now_ns() - synchronised) / 1e9);
        double after = (double)(timer_now_ns() - synchronised) / 1e9;
        looks[count++] = (struct look){after, clock_verify(session->program->clock)};
        clock_synchronise(session->program->clock); /* what was too far off to be true makes itself known here */
    }
    return count;
}

static void put_own(json_line *line, const struct clock_quality *quality, const char *reason, const struct look *looks,
                    int count) {
    json_put_string(line, "method", clock_method_name(quality->method));
    json_put_string(line, "refusal", quality->refusal);
    json_put_string(line, "reason", reason);
    json_put_integer(line, "clocks", quality->clocks);
    json_put_integer(line, "rounds", quality->rounds);
    json_put_integer(line, "synchronisations", quality->synchronisations);
    json_put_real(line, "synchronisation_seconds", quality->seconds);
    /* NAN, what is not known, becomes null */
    json_put_real(line, "shortest_trip_ns", quality->shortest_trip_ns > 0 ? quality->shortest_trip_ns : NAN);
    json_put_real(line, "drift_ppm", quality->method != CLOCK_NONE ? quality->drift_ppm : NAN);
    json_put_real(line, "baseline_seconds", quality->baseline_seconds);
    json_open_array(line, "residuals");
    for (int i = 0; i < count; i++) {
        json_open_object(line, NULL);
        json_put_real(line, "after_seconds", looks[i].after_seconds);
        json_put_real(line, "with_drift_ns", looks[i].residual.with_drift_ns);
        json_put_real(line, "without_drift_ns", looks[i].residual.without_drift_ns);
        json_close_object(line);
    }
    json_close_array(line);
}

static void print_rows(const struct clock_quality *quality, const char *reason, const struct look *looks, int count) {
    if (quality->method == CLOCK_NONE) {
        printf("clock          NONE: %s\n", quality->refusal);
    } else if (count == 0) {
        printf("clock          %s\n", reason);
    } else {
        printf(
            "clock          %s, %d clock%s, drift %.3f ppm, shortest round trip %.2f us, %.2f ms per synchronisation\n",
            clock_method_name(quality->method), quality->clocks, quality->clocks == 1 ? "" : "s", quality->drift_ppm,
            quality->shortest_trip_ns / 1e3, 1e3 * quality->seconds / (double)quality->synchronisations);
    }
    for (int i = 0; i < count; i++) {
        printf("clock          after %6.2f s: residual %.3f us, without drift correction %.3f us\n",
               looks[i].after_seconds, looks[i].residual.with_drift_ns / 1e3, looks[i].residual.without_drift_ns / 1e3);
    }
    fflush(stdout);
}

bool residual_measure(struct session *session) {
    struct look looks[MOST_LOOKS];
    const char *reason = session->program->ranks == 1 ? SESSION_ONE_RANK : "";
    const int count = session->program->ranks == 1 ? 0 : look_twice(session, looks);
    const struct clock_quality quality = clock_quality_of(session->program->clock);
    if (quality.method == CLOCK_NONE) {
        reason = quality.refusal;
    }
    struct session_point point = session_open_point("clock");
    put_own(point.own, &quality, reason, looks, quality.method == CLOCK_NONE ? 0 : count);
    const bool good = session_write_point(session, &point);
    if (session_prints(session)) {
        print_rows(&quality, reason, looks, quality.method == CLOCK_NONE ? 0 : count);
    }
    return good;
}
