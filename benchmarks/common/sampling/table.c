#include "table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { NARROWEST = 12 };

/* Whether a series has a column: how long something took. */
static bool is_shown(const struct repetition_series *series) {
    return series->over == OVER_LARGEST || series->over == OVER_SPAN;
}

static bool is_named(const struct sampler_kind *kind) {
    return kind->next_point != NULL && kind->name != NULL;
}

void table_print_head(const struct sampler_kind *kind, const struct sampler_plan *plan) {
    const struct repetition_kind *repeated = &kind->samples.repeated;
    printf("# medians; +-: half of the widest 95 %% interval of those that are measured until theirs is narrow\n");
    if (is_named(kind)) {
        printf("%*s ", NARROWEST, "point");
    }
    for (size_t i = 0; i < plan->axis_count && kind->next_point == NULL; i++) {
        if (!plan->axes[i].of_plan) {
            printf("%*s ", NARROWEST, plan->axes[i].name);
        }
    }
    for (size_t i = 0; i < repeated->series_count; i++) {
        if (is_shown(&repeated->series[i])) {
            printf("%*s ", NARROWEST, repeated->series[i].name);
        }
    }
    printf(" reps  stop\n");
    fflush(stdout);
}

/* Prints the point's name or parameters. */
static void print_parameters(const struct sampler_kind *kind, void *context, const struct sampler_plan *plan,
                             const struct sampler_point *point) {
    if (is_named(kind)) {
        char name[64] = "";
        kind->name(context, point, name, sizeof name);
        printf("%*s ", NARROWEST, name);
    }
    for (size_t i = 0; i < plan->axis_count && kind->next_point == NULL; i++) {
        const struct sampler_axis *axis = &plan->axes[i];
        if (!axis->of_plan && axis->choices != NULL) {
            printf("%*s ", NARROWEST, axis->choices[axis->numbers[point->at[i]]].name);
        } else if (!axis->of_plan && axis->millionths) {
            printf("%*g ", NARROWEST, (double)axis->numbers[point->at[i]] / 1e6);
        } else if (!axis->of_plan) {
            printf("%*" PRId64 " ", NARROWEST, axis->numbers[point->at[i]]);
        }
    }
}

void table_print_row(const struct sampler_kind *kind, void *context, const struct sampler_plan *plan,
                     const struct sampler_point *point, const samples *s, const struct record_point *record) {
    const struct repetition_kind *repeated = &kind->samples.repeated;
    print_parameters(kind, context, plan, point);
    for (size_t i = 0; i < repeated->series_count; i++) {
        if (is_shown(&repeated->series[i]) && record->repetitions > 0) {
            printf("%*" PRId64 " ", NARROWEST, samples_median(s, i));
        } else if (is_shown(&repeated->series[i])) {
            printf("%*s ", NARROWEST, "-");
        }
    }
    printf("%5zu  %s", record->repetitions, record->stop_reason);
    if (!isnan(record->interval_relative_reached) && record->repetitions > 0) {
        printf(" (+-%.1f%%)", 50 * record->interval_relative_reached);
    }
    if (record->late_repetitions > 0) {
        printf(" late:%" PRId64, record->late_repetitions);
    }
    if (record->clock != NULL && isnan(record->clock->residual_ns)) {
        printf(" NO-CLOCK");
    }
    if (record->data_errors > 0) {
        printf(" WRONG-DATA");
    }
    printf("\n");
    fflush(stdout);
}

void table_print_end(double measured_seconds, double wall_seconds) {
    printf("# %.1f %% of the wall time in valid repetitions: %.3f of %.3f s\n",
           wall_seconds > 0 ? 100 * measured_seconds / wall_seconds : 0, measured_seconds, wall_seconds);
    fflush(stdout);
}
