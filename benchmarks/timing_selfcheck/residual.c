#include "residual.h"

#include "record.h"
#include "timer.h"

#include <math.h>
#include <stdio.h>

enum { MOST_LOOKS = 2 };

struct look {
    double after_seconds;
    double with_drift_ns;
    double without_drift_ns;
};

struct row {
    const char *section;
    const char *method;
    const char *refusal;
    const char *reason;
    int clocks;
    int rounds;
    int64_t synchronisations;
    double synchronisation_seconds;
    double shortest_trip_ns;
    double drift_ppm;
    double baseline_seconds;
    const struct look *residuals;
    size_t residual_count;
};

static const struct field parameter_fields[] = {
    SESSION_SECTION(struct row, "clock"),
    FIELDS_END,
};

static const struct field look_fields[] = {
    FIELD(struct look, after_seconds, "since the synchronisation"),
    FIELD(struct look, with_drift_ns,
          "the largest disagreement, over ranks, between a rank's idea of the global time and what the exchange "
          "measured"),
    FIELD(struct look, without_drift_ns, "the same, had the offsets been taken for constant since the synchronisation"),
    FIELDS_END,
};

static const struct field own_fields[] = {
    FIELD_ONE_OF(struct row, method, record_clock_methods, "as in the header's clock"),
    FIELD(struct row, refusal, "why there is no common clock, one line that names the rank; empty where there is one"),
    FIELD(struct row, reason, SESSION_REASON),
    FIELD(struct row, clocks, "distinct clocks among the ranks: ranks that read the same one count once"),
    FIELD(struct row, rounds, "rounds of the exchange in one synchronisation"),
    FIELD(struct row, synchronisations, "so far, those of the set-up included"),
    FIELD(struct row, synchronisation_seconds, "that they took, all together, on rank 0"),
    FIELD(struct row, shortest_trip_ns,
          "the shortest round trip of each pair of the exchange, the largest over pairs; null where none was measured"),
    FIELD(struct row, drift_ppm, "the largest drift of a clock against rank 0's; null where there is no clock"),
    FIELD(struct row, baseline_seconds,
          "for at least how long the drift was observed before it was extrapolated; 0 where one clock serves all "
          "ranks, or none could be had"),
    FIELD_STRUCTS(struct row, residuals, residual_count, look_fields,
                  "at once after a synchronisation, and after the hold, during which ranks sleep; empty where reason "
                  "says why"),
    FIELDS_END,
};

const struct sampler_kind residual_points = {.parameters = parameter_fields, .own = own_fields};

static struct look look_after(struct session *session, double seconds) {
    const struct clock_residual residual = clock_verify(session->program->clock);
    return (struct look){seconds, residual.with_drift_ns, residual.without_drift_ns};
}

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
    looks[count++] = look_after(session, 0);
    if (hold > 0) {
        timer_sleep(hold - (double)(timer_now_ns() - synchronised) / 1e9);
        double after = (double)(timer_now_ns() - synchronised) / 1e9;
        looks[count++] = look_after(session, after);
        clock_synchronise(session->program->clock); /* what was too far off to be true makes itself known here */
    }
    return count;
}

/* NAN, what is not known, becomes null. */
static struct row row_of(const struct clock_quality *quality, const char *reason, const struct look *looks, int count) {
    return (struct row){.section = "clock",
                        .method = clock_method_name(quality->method),
                        .refusal = quality->refusal,
                        .reason = reason,
                        .clocks = quality->clocks,
                        .rounds = quality->rounds,
                        .synchronisations = quality->synchronisations,
                        .synchronisation_seconds = quality->seconds,
                        .shortest_trip_ns = quality->shortest_trip_ns > 0 ? quality->shortest_trip_ns : NAN,
                        .drift_ppm = quality->method != CLOCK_NONE ? quality->drift_ppm : NAN,
                        .baseline_seconds = quality->baseline_seconds,
                        .residuals = looks,
                        .residual_count = (size_t)count};
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
               looks[i].after_seconds, looks[i].with_drift_ns / 1e3, looks[i].without_drift_ns / 1e3);
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
    const struct row row = row_of(&quality, reason, looks, quality.method == CLOCK_NONE ? 0 : count);
    const bool good = session_write_point(session, &residual_points, &row, (struct record_point){0});
    if (session_prints(session)) {
        print_rows(&quality, reason, looks, quality.method == CLOCK_NONE ? 0 : count);
    }
    return good;
}
