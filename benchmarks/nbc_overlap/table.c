#include "table.h"

#include "fail.h"
#include "stats.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void table_print_head(bool tests) {
    printf("# comm, comp: target times; comm_ref, comp_ref: each alone; measured: both together; all in ms, medians\n"
           "# comm_ref:%%, comp_ref:%%: by so much the reference has moved since its size was calibrated\n"
           "# r_overhead 0: overlap is perfect, 1: serialised; +-: half of the widest 95 %% interval of the three medians\n"
           "%s"
           "%-25s %8s %8s %11s %6s %9s %9s %9s %10s %7s %7s%s %4s  %s\n",
           tests ? "# tests: calls of MPI_Test in one computation; t_test: what they took together, ms\n" : "", "collective", "comm", "comp",
           "bytes", "size", "comm_ref", "comp_ref", "measured", "r_overhead", "r_comm", "r_comp", tests ? "  tests    t_test" : "", "reps", "stop");
    fflush(stdout);
}

void table_print_end(double measured_seconds, double wall_seconds) {
    printf("# %.1f %% of the wall time in valid repetitions, references included: %.3f of %.3f s\n",
           wall_seconds > 0 ? 100 * measured_seconds / wall_seconds : 0, measured_seconds, wall_seconds);
    fflush(stdout);
}

static double largest_ratio(const int64_t *above, const int64_t *below, size_t count) {
    double largest = 0;
    for (size_t i = 0; i < count; i++) {
        double ratio = below[i] > 0 ? (double)above[i] / (double)below[i] : 0;
        largest = ratio > largest ? ratio : largest;
    }
    return largest;
}

/* Median over repetitions, of the rank that had most. */
static int64_t test_time(const struct record_point *point) {
    int64_t *times = fail_alloc(point->repetitions, sizeof *times);
    memcpy(times, point->t_test_ns.max, point->repetitions * sizeof *times);
    const int64_t median = stats_median_of(times, point->repetitions);
    free(times);
    return median;
}

void table_print_row(const struct record_point *point, bool tests, int64_t t_measured, int64_t t_comm_ref, int64_t t_comp_ref) {
    printf("%-25s %8.4g %8.4g %11" PRId64 " %6" PRId64, point->collective, (double)point->comm_target_ns / 1e6,
           (double)point->comp_target_ns / 1e6, point->message_bytes, point->work_size);
    if (point->repetitions == 0) {
        printf(" %9s %9s %9s %10s %7s %7s%s %4d  %s", "-", "-", "-", "-", "-", "-", tests ? "      -         -" : "", 0, point->stop_reason);
    } else {
        int64_t longer = t_comm_ref > t_comp_ref ? t_comm_ref : t_comp_ref;
        int64_t shorter = t_comm_ref > t_comp_ref ? t_comp_ref : t_comm_ref;
        double overhead = shorter > 0 ? (double)(t_measured - longer) / (double)shorter : 0;
        printf(" %9.3f %9.3f %9.3f %10.3f %7.3f %7.3f", (double)t_comm_ref / 1e6, (double)t_comp_ref / 1e6,
               (double)t_measured / 1e6, overhead,
               largest_ratio(point->median_t_mpi_ns, point->median_t_comm_ref_ns, point->ranks),
               largest_ratio(point->median_t_comp_ns, point->median_t_comp_ref_ns, point->ranks));
        if (tests) {
            printf(" %6" PRId64 " %9.3f", point->test_calls, (double)test_time(point) / 1e6);
        }
        printf(" %4zu  %s", point->repetitions, point->stop_reason);
        if (point->interval_relative_reached >= 0) {
            printf(" (+-%.1f%%)", 50 * point->interval_relative_reached);
        }
    }
    if (point->comm.status != CALIBRATE_CONVERGED && point->comm.status != CALIBRATE_GIVEN) {
        printf(" comm:%s", calibrate_status_name(point->comm.status));
    }
    if (point->comp.status != CALIBRATE_CONVERGED && point->comp.status != CALIBRATE_GIVEN) {
        printf(" comp:%s", calibrate_status_name(point->comp.status));
    }
    if (fabs(point->comm_reference.moved_relative) > 0.1) {
        printf(" comm_ref:%+.0f%%", 100 * point->comm_reference.moved_relative);
    }
    if (fabs(point->comp_reference.moved_relative) > 0.1) {
        printf(" comp_ref:%+.0f%%", 100 * point->comp_reference.moved_relative);
    }
    if (point->recalibrations > 0) {
        printf(" recalibrated");
    }
    if (point->warmup_repetitions > 0) {
        printf(" warm-up:%zu", point->warmup_repetitions);
    }
    if (isnan(point->clock_residual_ns)) {
        printf(" NO-CLOCK");
    }
    if (point->late_repetitions > 0) {
        printf(" late:%" PRId64, point->late_repetitions);
    }
    if (point->data_errors > 0) {
        printf(" WRONG-DATA");
    }
    printf("\n");
    fflush(stdout);
}
