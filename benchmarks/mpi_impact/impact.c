#include "impact.h"

#include "fail.h"
#include "timer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* A slot is this much longer than the work in it is expected to take: who was held up is back in step at the next one.
 */
static const double slot_margin = 1.4;
enum { SLOT_MARGIN_NS = 2000000 };

/* A short work is repeated for at least this long, so that an occasional interruption does not change its median. */
enum { LEAST_NS = 50000000 };

/* Above this, the first repetition of a size is as good as the others. */
enum { LONGEST_WARMUP_NS = 100000000 };

static int64_t expected_ns(const struct impact_target *target) {
    return target->calibration.time_ns > 0 ? (int64_t)target->calibration.time_ns : target->comp_target_ns;
}

void impact_schedule(struct impact_plan *plan, double seconds, int64_t most_repetitions) {
    double left = seconds * 1e9;
    /* The longest first: each gets at least one repetition, and the time that is left is divided among the shorter
     * ones.
     */
    for (size_t i = plan->count; i-- > 0;) {
        struct impact_target *target = &plan->targets[i];
        const double time = (double)expected_ns(target);
        target->warmup_repetitions = target->comp_target_ns <= LONGEST_WARMUP_NS ? 1 : 0;
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

/* ---- the record ---- */

static void put_calibration(json_line *line, const char *name, const void *of) {
    const struct size_report report = size_search_report(&((const struct impact_target *)of)->calibration);
    json_open_object(line, name);
    fields_put(line, size_report_fields, &report);
    json_close_object(line);
}

static const char work_size_help[] =
    "work of each computing thread: the order of its matrices (dgemm), elements (triad)";

#define TARGET(member, sentence) FIELD(struct impact_target, member, sentence)
static const struct field target_fields[] = {
    TARGET(comp_target_ns, "the computation time that the work was searched for"),
    TARGET(work_size, work_size_help),
    {.name = "calibration",
     .kind = FIELD_OTHER,
     .shape = "object",
     .put = put_calibration,
     .members = size_report_fields,
     .help = "how well the work meets its target"},
    TARGET(warmup_repetitions, "repetitions before the others, in every launch, which do not count"),
    TARGET(repetitions, "repetitions that count, in every launch"),
    TARGET(slot_ns, "from the beginning of this time to that of the next in the timetable of all processes; a process "
                    "that is done earlier goes on computing, uncounted"),
    FIELDS_END,
};

const struct field impact_plan_fields[] = {
    FIELD_STRUCTS(struct impact_plan, targets, count, target_fields,
                  "the computation times, ascending, and what every process of every launch does for each"),
    FIELDS_END,
};

struct row {
    uint64_t work_size;
    const int64_t *windows; /* [ranks][2] */
    size_t ranks;
};

static void put_windows(json_line *line, const char *name, const void *of) {
    const struct row *row = of;
    json_open_array(line, name);
    for (size_t i = 0; i < row->ranks; i++) {
        json_put_integers(line, NULL, row->windows + 2 * i, 2);
    }
    json_close_array(line);
}

const struct field impact_parameter_fields[] = {FIELD(struct row, work_size, work_size_help), FIELDS_END};

const struct field impact_own_fields[] = {
    FIELD_BY("window_utc_ns", put_windows, "lists",
             "by rank: the times of day, since 1970, at which its counted repetitions began and ended"),
    FIELDS_END,
};

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
    const struct row row = {target->work_size, windows, ranks};
    json_line *parameters = json_line_create();
    json_open_object(parameters, NULL);
    json_put_integer(parameters, "comp_target_ns", target->comp_target_ns);
    fields_put(parameters, impact_parameter_fields, &row);
    json_close_object(parameters);
    char *own = fields_text(impact_own_fields, &row);
    const struct record_values times = {"t_comp_ns", t_comp_ns};
    const bool good = record_write_point(record, &(struct record_point){.parameters = json_line_text(parameters),
                                                                        .repetitions = (size_t)target->repetitions,
                                                                        .interval_relative_reached = NAN,
                                                                        .ranks = ranks,
                                                                        .rank_samples = {&times, 1},
                                                                        .own = own});
    json_line_destroy(parameters);
    free(own);
    return good;
}
