#include "sampler.h"

#include "fail.h"
#include "fail_mpi.h"
#include "phase.h"
#include "series.h"
#include "table.h"
#include "timer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every rank's own samples are written up to this many ranks. */
enum { MOST_RANKS_WITH_SAMPLES = 64 };

/* Time for the end of the run: the footer and MPI_Finalize. */
#define CLOSING_SECONDS 0.1

/* What rank 0 decides after a repetition. DOUBT: the benchmark reviews the repetitions so far; the earlier it does, the
 * fewer are thrown away. NOT_BEGUN: the point cannot be measured, or not again, and has no repetition. */
enum decision {
    GO_ON,
    SYNCHRONISE,
    DOUBT,
    STOP_INTERVAL,
    STOP_REPETITIONS,
    STOP_SPOILT,
    STOP_BUDGET,
    STOP_DATA,
    NO_CLOCK,
    NOT_BEGUN
};

struct sampler {
    const struct sampler_kind *kind;
    void *context;
    const struct sampler_plan *plan;
    struct sampler_session session;
    start_line *line;
    samples *samples; /* of the point being measured */
    struct sampler_result result;
    int64_t spoilt;       /* repetitions of all points */
    uint64_t repetitions; /* of all points, valid or not */
    int together;         /* repetitions until the ranks combine their times: the same on all ranks */
    char reason[512];
};

sampler *sampler_create(const struct sampler_kind *kind, void *context, const struct sampler_plan *plan,
                        const struct sampler_session *session) {
    sampler *s = fail_alloc(1, sizeof *s);
    s->kind = kind;
    s->context = context;
    s->plan = plan;
    s->session = *session;
    s->line = start_create(MPI_COMM_WORLD, session->clock, plan->start);
    start_settle(s->line, plan->settle_ns);
    s->samples =
        samples_create(&kind->samples, session->clock, plan->rule.interval_relative, plan->rule.warmup_relative,
                       session->threads, plan->every_rank || session->ranks <= MOST_RANKS_WITH_SAMPLES);
    s->result.reason = s->reason;
    return s;
}

void sampler_destroy(sampler *s) {
    if (s != NULL) {
        start_destroy(s->line);
        samples_destroy(s->samples);
        free(s);
    }
}

start_line *sampler_start(sampler *s) {
    return s->line;
}

const samples *sampler_samples(const sampler *s) {
    return s->samples;
}

static bool takes_part(const struct sampler_point *p) {
    return p->comm != MPI_COMM_NULL;
}

static bool has_clock(const sampler *s) {
    return clock_quality_of(s->session.clock).method != CLOCK_NONE;
}

/* ---- repetitions ---- */

/* Rank 0: whether the repetitions tell what the point is for. */
static bool is_told(const sampler *s, bool narrow) {
    const enum sampler_answer answer = s->kind->answer != NULL ? s->kind->answer(s->context, s) : SAMPLER_BY_INTERVALS;
    return answer == SAMPLER_BY_INTERVALS ? narrow : answer == SAMPLER_TOLD;
}

/* Rank 0's decision after a repetition. */
static enum decision decide(const sampler *s, const struct sampler_point *p) {
    const struct sampler_rule *rule = &s->plan->rule;
    const int64_t now = timer_now_ns();
    const int64_t count = (int64_t)samples_count(s->samples);
    if (budget_is_over(&s->plan->budget)) {
        return STOP_BUDGET;
    }
    const double each = (double)(now - p->begin_ns) / (double)p->attempts;
    const bool spent = p->deadline_ns != 0 && (double)now + each > (double)p->deadline_ns;
    if (p->spoilt > rule->most_spoilt) {
        return STOP_SPOILT;
    }
    if (s->kind->doubts != NULL && s->kind->doubts(s->context, p, s)) {
        return DOUBT;
    }
    if (count >= rule->min_repetitions &&
        (spent || count >= rule->max_repetitions || series_look((size_t)count, (size_t)rule->min_repetitions))) {
        const struct samples_look look = samples_look_at(s->samples);
        if ((int64_t)look.count >= rule->min_repetitions) {
            if (rule->interval_relative > 0 && is_told(s, look.settled)) {
                return STOP_INTERVAL;
            }
            if ((int64_t)look.count >= rule->max_repetitions) {
                return STOP_REPETITIONS;
            }
            if (spent) {
                return STOP_BUDGET;
            }
        }
    }
    return clock_due(s->session.clock) ? SYNCHRONISE : GO_ON;
}

/* Collective: synchronises the clock, which closes the segment of repetitions since the last synchronisation. false:
 * the clock of these repetitions is refused now, and they cannot be used together with later ones. */
static bool close_segment(sampler *s) {
    const bool had_clock = has_clock(s);
    clock_synchronise(s->session.clock);
    samples_close(s->samples);
    return has_clock(s) == had_clock || !samples_need_clock(s->samples);
}

/* Rank 0: how many repetitions are made until the ranks combine their times: up to the next look at them, as far as
 * the budget and the clock reach. A point's first is alone: it tells how long the others take. */
static int together(const sampler *s, const struct sampler_point *p) {
    const struct sampler_rule *rule = &s->plan->rule;
    const struct budget *budget = &s->plan->budget;
    const int64_t now = timer_now_ns();
    const int64_t count = (int64_t)samples_count(s->samples);
    if (s->kind->samples.repeated.spoils || p->attempts == 0) {
        return 1;
    }
    int64_t most = (int64_t)series_next_look((size_t)count, (size_t)rule->min_repetitions) - count;
    most = most < REPETITION_MOST_TOGETHER ? most : REPETITION_MOST_TOGETHER;
    most = most < rule->max_repetitions - count ? most : rule->max_repetitions - count;
    double left = clock_left_seconds(s->session.clock);
    if (budget->seconds > 0 && count >= rule->min_repetitions) {
        left = fmin(left, (double)(p->deadline_ns - now) / 1e9);
    } else if (budget->seconds > 0) {
        left = fmin(left, budget_left_seconds(budget));
    }
    const double each = (double)(now - p->begin_ns) / (double)p->attempts / 1e9;
    return (int)fmax(1, fmin((double)most, left / each));
}

/* Collective: makes repetitions, and combines their times. Returns whether all data were right; if not, none of these
 * repetitions is kept. */
static bool make_repetitions(sampler *s, struct sampler_point *p) {
    struct repetition made[REPETITION_MOST_TOGETHER];
    struct repetition_outcome outcomes[REPETITION_MOST_TOGETHER];
    const struct repetition_maker maker = {.kind = &s->kind->samples.repeated,
                                           .context = s->context,
                                           .line = s->line,
                                           .clock = s->session.clock,
                                           .active = takes_part(p)};
    const size_t count = (size_t)s->together;
    const size_t before = samples_count(s->samples);
    const int64_t began = timer_now_ns();
    outcomes[0].spoilt = false;
    for (size_t i = 0; i < count; i++) {
        made[i] = (struct repetition){.number = s->repetitions++};
        phase_repetition(++p->attempts);
        if (maker.kind->spoils) {
            outcomes[0] = repetition_run(&maker, &made[0]);
        } else {
            repetition_make(&maker, &made[i], i > 0 ? &made[i - 1] : NULL);
        }
        if (!outcomes[0].spoilt) {
            samples_add(s->samples, s->context, &made[i], timer_now_ns() - p->first_ns);
        }
    }
    if (!maker.kind->spoils) {
        repetition_combine(&maker, made, count, outcomes);
    }
    if (outcomes[0].wrong_data) {
        samples_shorten(s->samples, before);
        return false;
    }
    if (outcomes[0].spoilt) {
        p->spoilt++;
        p->discarded++;
        s->spoilt++;
        s->result.thrown_away_seconds += (double)(timer_now_ns() - began) / 1e9;
        return true;
    }
    for (size_t i = 0; i < count; i++) {
        samples_tell(s->samples, before + i, outcomes[i].times);
    }
    return true;
}

/* Collective: repeats until rank 0 decides to stop. */
static enum decision repeat(sampler *s, struct sampler_point *p) {
    for (;;) {
        if (!make_repetitions(s, p)) {
            if (!close_segment(s)) {
                samples_clear(s->samples); /* their moments cannot be made global any more */
            }
            return STOP_DATA;
        }
        int decided[2] = {GO_ON, 1};
        if (s->session.rank == 0) {
            decided[0] = decide(s, p);
            decided[1] = together(s, p);
        }
        MPI_CHECK(MPI_Bcast(decided, 2, MPI_INT, 0, MPI_COMM_WORLD));
        s->together = decided[1];
        if (decided[0] != GO_ON && !close_segment(s)) {
            return NO_CLOCK;
        }
        if (decided[0] != GO_ON && decided[0] != SYNCHRONISE) {
            return (enum decision)decided[0];
        }
    }
}

/* Collective: repeats, and gathers the repetitions. It goes on where the interpolated times give wider intervals than
 * the extrapolated times by which the stop was decided. */
static enum decision measure_samples(sampler *s, struct sampler_point *p) {
    for (;;) {
        const enum decision decision = repeat(s, p);
        if (decision == NO_CLOCK) {
            return decision;
        }
        samples_gather(s->samples, takes_part(p));
        int more = 0;
        if (s->session.rank == 0 && decision == STOP_INTERVAL) {
            const struct samples_look look = samples_look_at(s->samples);
            const bool narrow = look.widest >= 0 && look.widest <= s->plan->rule.interval_relative;
            more = !is_told(s, narrow) || (int64_t)look.count < s->plan->rule.min_repetitions;
        }
        MPI_CHECK(MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD));
        if (more == 0) {
            return decision;
        }
    }
}

/* ---- one point ---- */

/* Collective: begins a point. Returns rank 0's answer whether it can be measured. */
static bool begin(sampler *s, struct sampler_point *p) {
    p->begin_ns = timer_now_ns();
    p->attempts = 0;
    p->spoilt = 0;
    s->together = 1;
    samples_clear(s->samples);
    int good = s->kind->begin == NULL || s->kind->begin(s->context, p);
    good = good != 0 && !budget_is_over(&s->plan->budget);
    p->beginnings++;
    MPI_CHECK(MPI_Bcast(&good, 1, MPI_INT, 0, MPI_COMM_WORLD));
    return good != 0;
}

/* Begins the starts of a point that has begun, or that goes on after its ranks did something else. */
static void begin_starts(sampler *s, struct sampler_point *p) {
    p->start = start_method_of(s->line);
    start_begin(s->line, repetition_tolerance(p->shortest_ns));
}

/* Collective: throws away the repetitions of a point and begins it again. Returns rank 0's answer whether it can be
 * measured. */
static bool begin_again(sampler *s, struct sampler_point *p) {
    p->discarded += (int64_t)samples_count(s->samples);
    s->result.thrown_away_seconds += samples_warmup_seconds(s->samples) + samples_seconds(s->samples);
    const bool begun = begin(s, p);
    begin_starts(s, p);
    p->first_ns = timer_now_ns();
    return begun;
}

/* Collective. */
static enum sampler_review review(sampler *s, struct sampler_point *p, enum decision decision) {
    if (s->kind->review == NULL || decision == STOP_DATA || decision == STOP_SPOILT) {
        return SAMPLER_ACCEPT;
    }
    return s->kind->review(s->context, p, s);
}

/* Collective: makes all repetitions of a point that has begun. */
static enum decision repeat_until_good(sampler *s, struct sampler_point *p) {
    for (;;) {
        const enum decision decision = measure_samples(s, p);
        if (decision == NO_CLOCK) {
            if (!begin_again(s, p)) { /* from a barrier */
                return NOT_BEGUN;
            }
            continue;
        }
        switch (review(s, p, decision)) {
        case SAMPLER_WRONG_DATA:
            return STOP_DATA;
        case SAMPLER_BEGIN_AGAIN:
            if (!begin_again(s, p)) {
                return NOT_BEGUN;
            }
            continue;
        case SAMPLER_KEEP:
            begin_starts(s, p);
            break;
        case SAMPLER_ACCEPT:
            break;
        }
        if (decision != DOUBT) {
            return decision;
        }
    }
}

static const char *stop_name(enum decision decision, bool measured) {
    if (!measured) {
        return "not_measured";
    }
    return decision == STOP_INTERVAL ? "interval"
           : decision == STOP_BUDGET ? "budget"
           : decision == STOP_SPOILT ? "spoilt"
                                     : "repetitions";
}

/* Writes a value of an axis as a member of an object; name NULL: as an item of an array. */
static void put_value(json_line *line, const char *name, const struct sampler_axis *axis, size_t number) {
    if (axis->choices != NULL) {
        json_put_string(line, name, axis->choices[axis->numbers[number]].name);
    } else if (axis->millionths) {
        json_put_real(line, name, (double)axis->numbers[number] / 1e6);
    } else {
        json_put_integer(line, name, axis->numbers[number]);
    }
}

/* Returns the parameters of a point as a JSON object. Free it. */
static char *parameters_text(const sampler *s, const struct sampler_point *p, const void *row) {
    json_line *line = json_line_create();
    json_open_object(line, NULL);
    for (size_t i = 0; i < s->plan->axis_count; i++) {
        if (!s->plan->axes[i].of_plan) {
            put_value(line, s->plan->axes[i].name, &s->plan->axes[i], p->at[i]);
        }
    }
    fields_put(line, s->kind->parameters, row);
    json_close_object(line);
    return json_line_take(line);
}

static void print_row(const sampler *s, const struct sampler_point *p, const struct record_point *record) {
    if (s->kind->print_row != NULL) {
        s->kind->print_row(s->context, p, s, record);
    } else {
        table_print_row(s->kind, s->context, s->plan, p, s->samples, record);
    }
}

/* Rank 0: writes a point to the record and prints its row of the table. false: the disk refused. */
static bool write_point(sampler *s, struct sampler_point *p, enum decision decision) {
    const struct clock_quality quality = clock_quality_of(s->session.clock);
    const bool timed = quality.method != CLOCK_NONE;
    const struct record_point_clock clock = {.method = clock_method_name(quality.method),
                                             .residual_ns = timed ? quality.worst_residual_ns : NAN,
                                             .synchronisations = quality.synchronisations - p->synchronisations,
                                             .drift_ppm = timed ? quality.drift_ppm : NAN};
    p->stop_reason = stop_name(decision, samples_count(s->samples) > 0);
    void *row = fail_alloc(s->kind->row_bytes + 1, 1);
    if (s->kind->fill != NULL) {
        s->kind->fill(s->context, p, s, row);
    }
    char *parameters = parameters_text(s, p, row);
    char *own = fields_text(s->kind->own, row);
    struct record_point record = {.parameters = parameters,
                                  .late_repetitions = samples_late(s->samples),
                                  .discarded_repetitions = p->discarded,
                                  .stop_reason = p->stop_reason,
                                  .data_errors = p->data_errors,
                                  .start_method = start_method_name(p->start),
                                  .clock = s->session.clockless ? NULL : &clock,
                                  .own = own};
    samples_describe(s->samples, &record);
    s->result.measured_seconds += samples_seconds(s->samples);
    s->result.warmup_seconds += samples_warmup_seconds(s->samples);
    phase_total(&(struct phase_totals){.measured_ns = (int64_t)(s->result.measured_seconds * 1e9),
                                       .synchronisations = quality.synchronisations,
                                       .synchronisation_ns = (int64_t)(quality.seconds * 1e9)});
    if (!s->session.quiet) {
        print_row(s, p, &record);
    }
    const bool good = record_write_point(s->session.record, &record);
    free(parameters);
    free(own);
    free(row);
    return good;
}

/* Collective. */
static int64_t count_faults(sampler *s) {
    s->result.end = SAMPLER_DATA_ERROR;
    return s->kind->faults(s->context, s->reason, sizeof s->reason);
}

/* Collective: whether a rank of a point without repetitions has received wrong data, while the point began. */
static bool found_wrong_data(const sampler *s, const struct sampler_point *p) {
    const struct repetition_kind *kind = &s->kind->samples.repeated;
    int wrong = kind->wrong != NULL && takes_part(p) && kind->wrong(s->context);
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    return wrong != 0;
}

/* Notes the point for the line of a run that hangs. */
static void note_point(const sampler *s, const struct sampler_point *p) {
    char name[128] = "";
    if (s->kind->name != NULL) {
        s->kind->name(s->context, p, name, sizeof name);
    }
    phase_point(p->index, name);
}

/* Collective. Measures a point and writes it. false: the run ends here. */
static bool measure_point(sampler *s, struct sampler_point *p) {
    note_point(s, p);
    p->synchronisations = clock_quality_of(s->session.clock).synchronisations;
    const bool begun = begin(s, p);
    /* Opens the point. Where all ranks read one clock, the end of the last point has looked at it just now. */
    if (p->index == 0 || clock_quality_of(s->session.clock).method != CLOCK_SHARED) {
        clock_synchronise(s->session.clock);
    }
    clock_forget_residual(s->session.clock);
    begin_starts(s, p);
    p->first_ns = timer_now_ns();
    enum decision decision = begun ? repeat_until_good(s, p) : NOT_BEGUN;
    if (decision == NOT_BEGUN) {
        samples_gather(s->samples, takes_part(p));
        decision = found_wrong_data(s, p) ? STOP_DATA : NOT_BEGUN;
    }
    if (decision == STOP_DATA) {
        p->data_errors = count_faults(s);
    }
    phase_enter(PHASE_RECORD);
    int good = 1;
    if (s->session.rank == 0) {
        good = write_point(s, p, decision);
        if (good == 0) {
            snprintf(s->reason, sizeof s->reason, "%s", record_error(s->session.record));
        } else {
            s->result.points++;
        }
    }
    MPI_CHECK(MPI_Bcast(&good, 1, MPI_INT, 0, MPI_COMM_WORLD));
    if (good == 0) {
        s->result.end = SAMPLER_RECORD_ERROR;
        return false;
    }
    if (s->kind->end != NULL) {
        s->kind->end(s->context, p);
    }
    return decision != STOP_DATA;
}

/* ---- all points ---- */

/* Finds the next element of the axes' product that is a point, from `at` on. false: there is none. */
static bool find_point(const struct sampler_kind *kind, void *context, const struct sampler_plan *plan,
                       size_t at[SAMPLER_MOST_AXES], bool first) {
    for (size_t i = 0; i < plan->axis_count; i++) {
        if (plan->axes[i].count == 0) {
            return false;
        }
    }
    for (;;) {
        size_t i = plan->axis_count;
        while (!first && i > 0 && ++at[i - 1] == plan->axes[i - 1].count) {
            at[--i] = 0;
        }
        if (!first && i == 0) {
            return false;
        }
        if (kind->has_point == NULL || kind->has_point(context, at)) {
            return true;
        }
        first = false;
    }
}

static double weight_of(const struct sampler_kind *kind, void *context, const size_t at[SAMPLER_MOST_AXES]) {
    return kind->weight != NULL ? kind->weight(context, at) : 1;
}

/* The number of points, and the sum of their weights. */
struct points {
    int64_t count;
    double weight;
};

static struct points all_points(const struct sampler_kind *kind, void *context, const struct sampler_plan *plan) {
    size_t at[SAMPLER_MOST_AXES] = {0};
    struct points all = {0, 0};
    for (bool more = find_point(kind, context, plan, at, true); more;
         more = find_point(kind, context, plan, at, false)) {
        all.count++;
        all.weight += weight_of(kind, context, at);
    }
    return all;
}

int64_t sampler_count_points(const struct sampler_kind *kind, void *context, const struct sampler_plan *plan) {
    return kind->next_point != NULL ? RECORD_UNKNOWN : all_points(kind, context, plan).count;
}

/* Collective: a run without a single valid repetition ends as SAMPLER_NOTHING_MEASURED, with the reason. */
static void check_measured(sampler *s) {
    const struct budget *budget = &s->plan->budget;
    const bool may_be_empty = s->kind->may_be_empty != NULL && s->kind->may_be_empty(s->context);
    int nothing = s->result.measured_seconds <= 0 && !may_be_empty;
    MPI_CHECK(MPI_Bcast(&nothing, 1, MPI_INT, 0, MPI_COMM_WORLD));
    if (nothing == 0 || s->result.end != SAMPLER_COMPLETE) {
        return;
    }
    s->result.end = SAMPLER_NOTHING_MEASURED;
    if (s->spoilt > 0) {
        char with[64] = "";
        if (budget->seconds > 0) {
            snprintf(with, sizeof with, ", with a budget of %g s", budget->seconds);
        }
        snprintf(s->reason, sizeof s->reason,
                 "nothing could be measured in %.1f s%s: a rank came too late in %lld repetitions; something else uses "
                 "these cores, or a thread of the MPI library does",
                 budget_elapsed_seconds(budget), with, (long long)s->spoilt);
    } else if (!budget_is_over(budget)) {
        snprintf(s->reason, sizeof s->reason, "nothing was measured%s%s", s->kind->nothing != NULL ? ": " : "",
                 s->kind->nothing != NULL ? s->kind->nothing : "");
    } else {
        const int64_t fewest = s->plan->rule.min_repetitions;
        const double more =
            s->kind->next_point == NULL ? all_points(s->kind, s->context, s->plan).weight * (double)fewest : 0;
        char take[128] = "";
        if (s->kind->weight != NULL && more > 0) {
            snprintf(take, sizeof take, ", and %lld repetitions of every point take about %.0f s more",
                     (long long)fewest, ceil(more));
        }
        snprintf(s->reason, sizeof s->reason,
                 "a budget of %g s is too small for one repetition: start and calibration took %.1f s%s; raise "
                 "--budget-seconds, or ask for fewer points or shorter times",
                 budget->seconds, budget_elapsed_seconds(budget), take);
    }
}

/* Collective: the next point. false: there is none. */
static bool next_point(const sampler *s, struct sampler_point *next, const struct sampler_point *last) {
    *next = (struct sampler_point){.index = last != NULL ? last->index + 1 : 0, .comm = MPI_COMM_WORLD};
    for (size_t i = 0; last != NULL && i < SAMPLER_MOST_AXES; i++) {
        next->at[i] = last->at[i];
    }
    if (s->kind->next_point != NULL) {
        return s->kind->next_point(s->context, s, next);
    }
    return find_point(s->kind, s->context, s->plan, next->at, last == NULL);
}

/* Collective: measures all points. false: the run ended early. */
static bool measure_points(sampler *s) {
    const struct budget *budget = &s->plan->budget;
    const bool finds_points = s->kind->next_point != NULL;
    double weight_left = finds_points ? 0 : all_points(s->kind, s->context, s->plan).weight;
    struct sampler_point points[2];
    struct sampler_point *last = NULL;
    if (s->session.rank == 0 && !s->session.quiet) {
        if (s->kind->print_head != NULL) {
            s->kind->print_head(s->context);
        } else if (s->kind->print_row == NULL) {
            table_print_head(s->kind, s->plan);
        }
    }
    for (size_t i = 0; next_point(s, &points[i % 2], last); i++) {
        struct sampler_point *p = &points[i % 2];
        const double weight = finds_points ? 1 : weight_of(s->kind, s->context, p->at);
        if (finds_points) {
            weight_left = s->kind->points_left != NULL ? fmax(s->kind->points_left(s->context), 1) : 1;
        }
        if (budget->seconds > 0) {
            /* the remaining time is divided over the remaining points; time that a point does not need goes to the
             * others */
            const double left = budget->seconds - CLOSING_SECONDS - budget_elapsed_seconds(budget);
            p->deadline_ns = timer_now_ns() + (int64_t)(fmax(left, 0) * weight / weight_left * 1e9) + 1;
        }
        weight_left -= weight;
        if (!measure_point(s, p)) {
            return false;
        }
        last = p;
    }
    return true;
}

struct sampler_result sampler_measure(sampler *s) {
    const int64_t began = timer_now_ns();
    const double clock_seconds = clock_quality_of(s->session.clock).seconds;
    if (measure_points(s)) {
        check_measured(s);
    }
    s->result.clock_seconds = clock_quality_of(s->session.clock).seconds - clock_seconds;
    s->result.wall_seconds = (double)(timer_now_ns() - began) / 1e9;
    return s->result;
}

/* ---- the plan ---- */

char *sampler_plan_parameters(const struct sampler_plan *plan) {
    json_line *line = json_line_create();
    json_open_object(line, NULL);
    for (size_t i = 0; i < plan->axis_count; i++) {
        json_open_array(line, plan->axes[i].name);
        for (size_t j = 0; j < plan->axes[i].count; j++) {
            put_value(line, NULL, &plan->axes[i], j);
        }
        json_close_array(line);
    }
    json_close_object(line);
    return json_line_take(line);
}

static struct sampler_axis axis_of(const struct option_entry *entry) {
    struct sampler_axis axis = {.name = entry->parameter,
                                .choices = entry->choices,
                                .of_plan = entry->of_plan,
                                .millionths = entry->kind == OPTION_REALS};
    if (option_is_list(entry->kind)) {
        const struct option_list *list = entry->target;
        axis.numbers = list->values;
        axis.count = list->count;
    } else {
        axis.only = entry->kind == OPTION_CHOICE ? *(int *)entry->target : *(int64_t *)entry->target;
        axis.count = 1;
    }
    return axis;
}

/* Appends the axis of an entry, unless an axis of its name is there. */
static void add_axis(const struct option_entry *entry, struct sampler_axis axes[SAMPLER_MOST_AXES], size_t *count) {
    for (size_t i = 0; i < *count; i++) {
        if (strcmp(entry->parameter, axes[i].name) == 0) {
            return;
        }
    }
    if (*count == SAMPLER_MOST_AXES) {
        fail_die("more than %d options are axes", SAMPLER_MOST_AXES);
    }
    struct sampler_axis *axis = &axes[(*count)++];
    *axis = axis_of(entry);
    if (axis->numbers == NULL && axis->count == 1) {
        axis->numbers = &axis->only;
    }
}

size_t sampler_axes(const struct option_entry *entries, const char *const *names,
                    struct sampler_axis axes[SAMPLER_MOST_AXES]) {
    size_t count = 0;
    for (; names != NULL && *names != NULL; names++) {
        const struct option_entry *entry = entries;
        while (entry->name != NULL && (entry->parameter == NULL || strcmp(entry->parameter, *names) != 0)) {
            entry++;
        }
        if (entry->name == NULL) {
            fail_die("no option has the values of the axis %s", *names);
        }
        add_axis(entry, axes, &count);
    }
    for (; entries->name != NULL; entries++) {
        if (entries->parameter != NULL) {
            add_axis(entries, axes, &count);
        }
    }
    return count;
}

/* ---- describing ---- */

/* What the series say that every benchmark can have. */
static const char *help_of(const struct repetition_series *series) {
    static const char *const usual[] = {
        [OVER_IMBALANCE] = "max(start) - min(start) over ranks; left out without a clock",
        [OVER_ELAPSED] = "the time since the point began",
        [OVER_ORDER] = "in which order the parts ran: a digit each, counted as the family lists them",
        [OVER_LATE] = "at how many of its starts a rank was late",
    };
    return series->help != NULL ? series->help : usual[series->over];
}

static void describe_series(json_line *line, const struct repetition_series *series) {
    json_open_object(line, NULL);
    json_put_string(line, "name", series->name);
    if (series->stops) {
        json_put_boolean(line, "stops", true);
    }
    if (series->over == OVER_IMBALANCE || series->may_lack) {
        json_put_boolean(line, "may_lack", true);
    }
    json_put_string(line, "help", help_of(series));
    json_close_object(line);
}

static void describe_sums(json_line *line, const char *name, const struct samples_sum *sums, size_t count) {
    json_open_array(line, name);
    for (size_t i = 0; i < count; i++) {
        json_open_object(line, NULL);
        json_put_string(line, "name", sums[i].name);
        if (sums[i].help != NULL) {
            json_put_string(line, "help", sums[i].help);
        }
        json_close_object(line);
    }
    json_close_array(line);
}

void sampler_describe(json_line *line, const struct sampler_kind *kind) {
    const struct samples_kind *samples = &kind->samples;
    json_open_object(line, NULL);
    fields_describe(line, "parameters", kind->parameters);
    json_open_array(line, "series");
    for (size_t i = 0; i < samples->repeated.series_count; i++) {
        describe_series(line, &samples->repeated.series[i]);
    }
    json_close_array(line);
    describe_sums(line, "spreads", samples->spreads, samples->spread_count);
    describe_sums(line, "rank_medians", samples->rank_medians, samples->rank_median_count);
    describe_sums(line, "thread_medians", samples->thread_medians, samples->thread_median_count);
    describe_sums(line, "rank_samples", samples->rank_samples, samples->rank_sample_count);
    fields_describe(line, "own", kind->own);
    json_close_object(line);
}
