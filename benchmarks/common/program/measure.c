#include "program.h"

#include "fail.h"
#include "table.h"
#include "timer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Spoilt repetitions that a point may have: so many, and so many for each of --max-repetitions. */
enum { SPOILT = 50, SPOILT_PER_REPETITION = 10 };

struct sampler_plan program_plan(const struct program *program, const char *const *names,
                                 struct sampler_axis axes[SAMPLER_MOST_AXES]) {
    const struct program_settings *s = &program->settings;
    return (struct sampler_plan){.axes = axes,
                                 .axis_count = sampler_axes(program->options, names, axes),
                                 .rule = {.interval_relative = s->interval,
                                          .warmup_relative = s->interval / 2,
                                          .min_repetitions = s->min_repetitions,
                                          .max_repetitions = s->max_repetitions,
                                          .most_spoilt = SPOILT + SPOILT_PER_REPETITION * s->max_repetitions},
                                 .budget = {.seconds = s->budget_seconds, .began_ns = program->began},
                                 .start = (enum start_method)s->start,
                                 .settle_ns = s->settle_ns,
                                 .every_rank = s->rank_samples};
}

/* Returns the plan for the header; free it with program_free_header. */
static struct program_header header_of(const struct program *program, const struct program_measurement *m) {
    const struct sampler_plan *plan = &m->plan;
    const bool refused = program->clock != NULL && clock_quality_of(program->clock).method == CLOCK_NONE;
    return (struct program_header){
        .start_method = start_method_name(refused ? START_BARRIER : plan->start),
        .seed = m->seed,
        .plan = {.parameters = sampler_plan_parameters(plan),
                 .points = sampler_count_points(program->kind->points, m->context, plan),
                 .budget_seconds = plan->budget.seconds,
                 .interval_relative = plan->rule.interval_relative > 0 ? plan->rule.interval_relative : NAN,
                 .min_repetitions = plan->rule.min_repetitions,
                 .max_repetitions = plan->rule.max_repetitions,
                 .sizes_given = m->sizes_given,
                 .own = fields_text(program->kind->plan, m->plan_own)},
        .own = m->own};
}

void program_free_header(struct program_header *header) {
    free((char *)header->plan.parameters);
    free((char *)header->plan.own);
}

int program_refuse(struct program *program, const struct program_header *header, const char *reason) {
    if (!program_open_record(program)) {
        return PROGRAM_WRONG_USE;
    }
    const bool written =
        program_write_header(program, header) &&
        program_write_footer(program, &(struct program_footer){.reason = reason, .measured_seconds = 0});
    if (program->rank == 0) {
        fail_report("%s", written ? reason : record_error(program->record));
    }
    return written ? PROGRAM_WRONG_USE : PROGRAM_FAILED;
}

/* Collective: writes the footer, and the line on stderr. ended: on rank 0, why the run is not complete; "": it is. */
static int end_run(struct program *program, const struct sampler_result *result, const struct record_spent *spent,
                   const char *ended, int code) {
    bool written = true;
    const bool complete = program_agree(ended[0] == '\0');
    if (result->end != SAMPLER_RECORD_ERROR) {
        if (program_prints(program) && result->points > 0) {
            table_print_end(result->measured_seconds, (double)(timer_now_ns() - program->began) / 1e9);
        }
        written = program_write_footer(
            program,
            &(struct program_footer){.reason = ended, .measured_seconds = result->measured_seconds, .spent = spent});
    }
    if (program->rank == 0 && !complete) {
        fail_report("%s", ended);
    } else if (program->rank == 0 && !written) {
        fail_report("%s", record_error(program->record));
    }
    return written ? code : PROGRAM_FAILED;
}

/* Collective: everything between header and footer. */
static int measure(struct program *program, const struct program_measurement *m) {
    const struct program_kind *kind = program->kind;
    const struct sampler_session session = program_session(program);
    sampler *s = sampler_create(kind->points, m->context, &m->plan, &session);
    struct sampler_result result = {.end = SAMPLER_COMPLETE, .reason = ""};
    char reason[PROGRAM_MOST_REASON] = "";
    char unsaved[PROGRAM_MOST_REASON] = "";
    const int64_t began = timer_now_ns();
    const bool begun = kind->begin == NULL || kind->begin(program, m->context, s, reason, sizeof reason);
    const double calibration_seconds = (double)(timer_now_ns() - began) / 1e9;
    if (begun) {
        result = sampler_measure(s);
        snprintf(reason, sizeof reason, "%s", result.reason);
    }
    const bool saved = kind->end == NULL || kind->end(program, m->context, unsaved, sizeof unsaved);
    const char *ended = begun && !saved && reason[0] == '\0' ? unsaved : reason;
    const bool good = begun && saved && result.end == SAMPLER_COMPLETE;
    const bool refused = result.end == SAMPLER_NOTHING_MEASURED || (!begun && program->wrong_use);
    const int code = good ? PROGRAM_GOOD : refused ? PROGRAM_WRONG_USE : PROGRAM_FAILED;
    const struct record_spent spent = {.start_up = (double)(began - program->began) / 1e9,
                                       .calibration = calibration_seconds,
                                       .warm_up = result.warmup_seconds,
                                       .thrown_away = result.thrown_away_seconds,
                                       .clock = result.clock_seconds,
                                       .between = result.wall_seconds - result.measured_seconds -
                                                  result.warmup_seconds - result.thrown_away_seconds -
                                                  result.clock_seconds};
    const int exit_code = end_run(program, &result, &spent, ended, code);
    sampler_destroy(s);
    return exit_code;
}

int program_measure(struct program *program, const struct program_measurement *m) {
    char error[PROGRAM_MOST_REASON] = "";
    if (m->impossible[0] != '\0') {
        struct program_header header = header_of(program, m);
        const int code = program_refuse(program, &header, m->impossible);
        program_free_header(&header);
        return code;
    }
    if (program->kind->check != NULL) {
        program->kind->check(program, m->context, error, sizeof error);
    }
    if (!program_prepare(program, error)) {
        return PROGRAM_WRONG_USE;
    }
    program_synchronise(program);
    struct program_header header = header_of(program, m);
    const bool written = program_write_header(program, &header);
    program_free_header(&header);
    if (!written) {
        if (program->rank == 0) {
            fail_report("%s", record_error(program->record));
        }
        return PROGRAM_FAILED;
    }
    char absent[PROGRAM_MOST_REASON];
    program_verify(program, absent, sizeof absent);
    if (absent[0] != '\0') {
        return end_run(program, &(struct sampler_result){.end = SAMPLER_COMPLETE}, NULL, absent, PROGRAM_FAILED);
    }
    return measure(program, m);
}
