#include "overlap_table.h"

#include "fail.h"
#include "overlap_state.h"
#include "recalibration.h"
#include "stats.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void overlap_table_head(bool tests) {
    printf("# comm, comp: target times; comm_ref, comp_ref: each alone; measured: both together; all in ms, medians\n"
           "# comm_ref:%%, comp_ref:%%: by so much the reference has moved since its size was calibrated\n"
           "# r_overhead 0: overlap is perfect, 1: serialised\n"
           "# +-: half of the widest 95 %% interval of the three medians\n"
           "%s%-25s %8s %8s %11s %6s %9s %9s %9s %10s %7s %7s%s %4s  %s\n",
           tests ? "# tests: calls of MPI_Test in one computation; t_test: what they took together, ms\n" : "",
           "collective", "comm", "comp", "bytes", "size", "comm_ref", "comp_ref", "measured", "r_overhead", "r_comm",
           "r_comp", tests ? "  tests    t_test" : "", "reps", "stop");
    fflush(stdout);
}

/* Returns the largest ratio of two medians of a rank. */
static double largest_ratio(const struct record_point *record, size_t above, size_t below) {
    const int64_t *numerators = record->rank_medians.items[above].values;
    const int64_t *denominators = record->rank_medians.items[below].values;
    double largest = 0;
    for (size_t i = 0; i < record->ranks; i++) {
        double ratio = denominators[i] > 0 ? (double)numerators[i] / (double)denominators[i] : 0;
        largest = ratio > largest ? ratio : largest;
    }
    return largest;
}

/* Returns the median over repetitions of the largest value over ranks. */
static int64_t test_time(const struct record_point *record) {
    int64_t *times = fail_alloc(record->repetitions, sizeof *times);
    memcpy(times, record->spreads[SPREAD_TEST].max, record->repetitions * sizeof *times);
    const int64_t median = stats_median_of(times, record->repetitions);
    free(times);
    return median;
}

static void print_times(const samples *repetitions, const struct record_point *record, bool tests) {
    const int64_t t_measured = samples_median(repetitions, T_MEASURED);
    const int64_t t_comm_ref = samples_median(repetitions, T_COMM_ALONE);
    const int64_t t_comp_ref = samples_median(repetitions, T_COMP_ALONE);
    int64_t longer = t_comm_ref > t_comp_ref ? t_comm_ref : t_comp_ref;
    int64_t shorter = t_comm_ref > t_comp_ref ? t_comp_ref : t_comm_ref;
    double overhead = shorter > 0 ? (double)(t_measured - longer) / (double)shorter : 0;
    printf(" %9.3f %9.3f %9.3f %10.3f %7.3f %7.3f", (double)t_comm_ref / 1e6, (double)t_comp_ref / 1e6,
           (double)t_measured / 1e6, overhead, largest_ratio(record, MEDIAN_MPI, MEDIAN_COMM_REF),
           largest_ratio(record, MEDIAN_COMP, MEDIAN_COMP_REF));
    if (tests) {
        printf(" %6" PRId64 " %9.3f", samples_largest_median(repetitions, TEST_CALLS), (double)test_time(record) / 1e6);
    }
    printf(" %4zu  %s", record->repetitions, record->stop_reason);
    if (!isnan(record->interval_relative_reached)) {
        printf(" (+-%.1f%%)", 50 * record->interval_relative_reached);
    }
}

static void print_reference(const char *name, const struct size_search_result *result) {
    if (result->status != SIZE_CONVERGED && result->status != SIZE_GIVEN) {
        printf(" %s:%s", name, size_status_name(result->status));
    }
}

static void print_moved(const char *name, double moved_relative) {
    if (fabs(moved_relative) > 0.1) {
        printf(" %s:%+.0f%%", name, 100 * moved_relative);
    }
}

void overlap_table_row(void *context, const struct sampler_point *p, const sampler *s,
                       const struct record_point *record) {
    const struct overlap *o = context;
    const bool tests = o->plan->test_interval_ns > 0;
    printf("%-25s %8.4g %8.4g %11" PRIu64 " %6" PRIu64, o->point.work.collective->name,
           (double)o->plan->comm_targets_ns[p->at[AXIS_COMM]] / 1e6,
           (double)o->plan->comp_targets_ns[p->at[AXIS_COMP]] / 1e6, o->point.work.message_bytes,
           o->point.work.work_size);
    if (record->repetitions == 0) {
        printf(" %9s %9s %9s %10s %7s %7s%s %4d  %s", "-", "-", "-", "-", "-", "-", tests ? "      -         -" : "", 0,
               record->stop_reason);
    } else {
        print_times(sampler_samples(s), record, tests);
    }
    print_reference("comm", overlap_comm(o, p));
    print_reference("comp", overlap_comp(o, p));
    print_moved("comm_ref", recalibration_moved(s, T_COMM_ALONE, overlap_comm(o, p)));
    print_moved("comp_ref", recalibration_moved(s, T_COMP_ALONE, overlap_comp(o, p)));
    if (o->point.recalibrations > 0) {
        printf(" recalibrated");
    }
    if (record->warmup_repetitions > 0) {
        printf(" warm-up:%zu", record->warmup_repetitions);
    }
    if (isnan(record->clock->residual_ns)) {
        printf(" NO-CLOCK");
    }
    if (record->late_repetitions > 0) {
        printf(" late:%" PRId64, record->late_repetitions);
    }
    if (record->data_errors > 0) {
        printf(" WRONG-DATA");
    }
    printf("\n");
    fflush(stdout);
}
