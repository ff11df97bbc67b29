#include "impact.h"

#include "fail.h"
#include "timer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A slot is this much longer than the work in it is expected to take: who was held up is back in step at the next one.
 */
static const double slot_margin = 1.1;
enum { SLOT_MARGIN_NS = 2000000 };

/* A short work is repeated for at least this long, so that an occasional interruption does not change its median. */
enum { LEAST_NS = 50000000 };

/* Above this, the first repetition of a size is as good as the others. */
enum { LONGEST_WARMUP_NS = 100000000 };

static int64_t expected_ns(const struct impact_target *target) {
    return target->calibration.time_ns > 0 ? (int64_t)target->calibration.time_ns : target->target_ns;
}

void impact_schedule(struct impact_plan *plan, double seconds, int64_t most_repetitions) {
    double left = seconds * 1e9;
    /* The longest first: each gets at least one repetition, and the time that is left is divided among the shorter
     * ones.
     */
    for (size_t i = plan->count; i-- > 0;) {
        struct impact_target *target = &plan->targets[i];
        const double time = (double)expected_ns(target);
        target->warmup_repetitions = target->target_ns <= LONGEST_WARMUP_NS ? 1 : 0;
        double repetitions = floor(left / (double)(i + 1) / slot_margin / time) - (double)target->warmup_repetitions;
        repetitions = fmin(fmax(repetitions, fmax(1, floor(LEAST_NS / time))), (double)most_repetitions);
        target->repetitions = (int64_t)repetitions;
        target->slot_ns =
            (int64_t)(slot_margin * time * (double)(target->repetitions + target->warmup_repetitions)) + SLOT_MARGIN_NS;
        left = fmax(left - (double)target->slot_ns, 0);
    }
}

int64_t impact_duration_ns(const struct impact_plan *plan) {
    int64_t sum = 0;
    for (size_t i = 0; i < plan->count; i++) {
        sum += plan->targets[i].slot_ns;
    }
    return sum;
}

char *impact_plan_parameters(const struct impact_plan *plan) {
    json_line *line = json_line_create();
    json_open_object(line, NULL);
    json_open_array(line, "comp_target_ns");
    for (size_t i = 0; i < plan->count; i++) {
        json_put_integer(line, NULL, plan->targets[i].target_ns);
    }
    json_close_array(line);
    json_open_array(line, "computation");
    json_put_string(line, NULL, compute_choices()[plan->computation].name);
    json_close_array(line);
    json_close_object(line);
    return json_line_take(line);
}

char *impact_plan_own(const struct impact_plan *plan) {
    json_line *line = json_line_create();
    json_open_object(line, NULL);
    json_open_array(line, "targets");
    for (size_t i = 0; i < plan->count; i++) {
        const struct impact_target *target = &plan->targets[i];
        json_open_object(line, NULL);
        json_put_integer(line, "comp_target_ns", target->target_ns);
        json_put_integer(line, "work_size", (int64_t)target->work_size);
        size_search_put(line, "calibration", &target->calibration);
        json_put_integer(line, "warmup_repetitions", target->warmup_repetitions);
        json_put_integer(line, "repetitions", target->repetitions);
        json_put_integer(line, "slot_ns", target->slot_ns);
        json_close_object(line);
    }
    json_close_array(line);
    json_close_object(line);
    return json_line_take(line);
}

static bool parse_count(const json_value *value, const char *name, int64_t least, int64_t *number) {
    uint64_t count = 0;
    if (!json_count_value(json_member(value, name), &count) || (int64_t)count < least) {
        return false;
    }
    *number = (int64_t)count;
    return true;
}

static bool parse_target(const json_value *value, struct impact_target *target) {
    const json_value *calibration = json_member(value, "calibration");
    const char *status = json_string(json_member(calibration, "status"));
    int64_t size = 0;
    int64_t time = 0;
    if (!parse_count(value, "comp_target_ns", 1, &target->target_ns) || !parse_count(value, "work_size", 1, &size) ||
        status == NULL || !size_status_parse(status, &target->calibration.status) ||
        !parse_count(calibration, "time_ns", 0, &time) ||
        !parse_count(value, "warmup_repetitions", 0, &target->warmup_repetitions) ||
        !parse_count(value, "repetitions", 1, &target->repetitions) ||
        !parse_count(value, "slot_ns", 1, &target->slot_ns)) {
        return false;
    }
    target->work_size = (uint64_t)size;
    target->calibration.time_ns = (double)time;
    return true;
}

static bool parse_computation(const char *name, enum compute_kind *kind) {
    for (int i = 0; name != NULL && i < COMPUTE_KINDS; i++) {
        if (strcmp(compute_choices()[i].name, name) == 0) {
            *kind = (enum compute_kind)i;
            return true;
        }
    }
    return false;
}

bool impact_plan_parse(const json_value *value, struct impact_plan *plan, char *error, size_t error_size) {
    const json_value *targets = json_member(json_member(value, "own"), "targets");
    const json_value *computation = json_item(json_member(json_member(value, "parameters"), "computation"), 0);
    *plan = (struct impact_plan){.count = json_count(targets)};
    if (!parse_computation(json_string(computation), &plan->computation) || plan->count == 0) {
        snprintf(error, error_size, "a plan needs a computation that this program knows, and at least one target");
        return false;
    }
    plan->targets = fail_alloc(plan->count, sizeof *plan->targets);
    for (size_t i = 0; i < plan->count; i++) {
        if (!parse_target(json_item(targets, i), &plan->targets[i])) {
            snprintf(error, error_size,
                     "target %zu of the plan needs times, a size, a calibration and repetitions above 0", i);
            impact_plan_free(plan);
            return false;
        }
    }
    return true;
}

void impact_plan_free(struct impact_plan *plan) {
    free(plan->targets);
    *plan = (struct impact_plan){0};
}

struct impact_samples *impact_samples_create(const struct impact_plan *plan) {
    struct impact_samples *samples = fail_alloc(plan->count, sizeof *samples);
    for (size_t i = 0; i < plan->count; i++) {
        samples[i].t_comp_ns = fail_alloc((size_t)plan->targets[i].repetitions, sizeof *samples[i].t_comp_ns);
    }
    return samples;
}

void impact_samples_free(const struct impact_plan *plan, struct impact_samples *samples) {
    for (size_t i = 0; samples != NULL && i < plan->count; i++) {
        free(samples[i].t_comp_ns);
    }
    free(samples);
}

void impact_prepare(compute_team *team, const struct impact_plan *plan) {
    uint64_t largest = 1;
    for (size_t i = 0; i < plan->count; i++) {
        largest = plan->targets[i].work_size > largest ? plan->targets[i].work_size : largest;
    }
    compute_reserve(team, largest);
}

int64_t impact_utc_ns(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) {
        fail_die("the time of day cannot be read");
    }
    return (int64_t)now.tv_sec * INT64_C(1000000000) + (int64_t)now.tv_nsec;
}

/* Computes, uncounted, until a local time: works of the target's size as long as one fits, then of the smallest size;
 * then spins. */
static void fill(compute_team *team, const struct impact_plan *plan, size_t near, int64_t until) {
    const struct impact_target *choices[] = {&plan->targets[near], &plan->targets[0]};
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        while (until - timer_now_ns() > expected_ns(choices[i]) * 5 / 4) {
            (void)compute_run(team, choices[i]->work_size, NULL);
        }
    }
    while (timer_now_ns() < until) {
    }
}

void impact_measure(compute_team *team, const struct impact_plan *plan, int64_t begin_utc_ns,
                    struct impact_samples *samples) {
    const int64_t offset =
        impact_utc_ns() - timer_now_ns(); /* one clock times everything; the other one places it in the day */
    int64_t slot = begin_utc_ns - offset;
    fill(team, plan, 0, slot);
    for (size_t i = 0; i < plan->count; i++) {
        const struct impact_target *target = &plan->targets[i];
        for (int64_t j = 0; j < target->warmup_repetitions; j++) {
            (void)compute_run(team, target->work_size, NULL);
        }
        samples[i].begin_utc_ns = timer_now_ns() + offset;
        for (int64_t j = 0; j < target->repetitions; j++) {
            samples[i].t_comp_ns[j] = compute_run(team, target->work_size, NULL);
        }
        samples[i].end_utc_ns = timer_now_ns() + offset;
        slot += target->slot_ns;
        fill(team, plan, i, slot);
    }
}

bool impact_write_point(record_file *record, const struct impact_plan *plan, size_t index, size_t ranks,
                        const int64_t *windows, const int64_t *t_comp_ns) {
    const struct impact_target *target = &plan->targets[index];
    json_line *parameters = json_line_create();
    json_open_object(parameters, NULL);
    json_put_integer(parameters, "comp_target_ns", target->target_ns);
    json_put_integer(parameters, "work_size", (int64_t)target->work_size);
    json_close_object(parameters);
    json_line *own = json_line_create();
    json_open_object(own, NULL);
    json_open_array(own, "window_utc_ns");
    for (size_t i = 0; i < ranks; i++) {
        json_put_integers(own, NULL, windows + 2 * i, 2);
    }
    json_close_array(own);
    json_close_object(own);
    const struct record_values times = {"t_comp_ns", t_comp_ns};
    const bool good = record_write_point(record, &(struct record_point){.parameters = json_line_text(parameters),
                                                                        .repetitions = (size_t)target->repetitions,
                                                                        .interval_relative_reached = NAN,
                                                                        .ranks = ranks,
                                                                        .rank_samples = {&times, 1},
                                                                        .own = json_line_text(own)});
    json_line_destroy(parameters);
    json_line_destroy(own);
    return good;
}
