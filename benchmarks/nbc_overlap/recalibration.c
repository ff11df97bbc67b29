#include "recalibration.h"

#include "fail_mpi.h"
#include "overlap_state.h"
#include "timer.h"

#include <math.h>

/* A reference that is this far from the time that its size was calibrated to, or that drifts this far during a point,
 * is calibrated anew: the convergence bound of section 5.1. A drift is believed at this probability of seeing it by
 * chance. */
#define MOVED_LIMIT 0.10
#define DRIFT_P_VALUE 0.01

/* How often the sizes of a point are rechecked at most: a second time where the first recheck chose another size,
 * perhaps because the machine was disturbed. */
enum { MOST_RECALIBRATIONS = 2 };

/* The share of the time left in a budget that measuring a point again may take. */
#define AGAIN_SHARE 0.2
/* The share of a point's own time that may be thrown away. Later the repetitions are worth more than a better size:
 * they are kept, and the record says how far the references moved or drifted. */
#define EARLY_SHARE 0.5

double recalibration_moved(const sampler *s, size_t series, const struct size_search_result *result) {
    const samples *repetitions = sampler_samples(s);
    const bool known = samples_count(repetitions) > 0 && result->time_ns > 0;
    return known ? (double)samples_median(repetitions, series) / result->time_ns - 1 : NAN;
}

static bool is_calibrated(const struct size_search_result *result) {
    return result->status == SIZE_CONVERGED || result->status == SIZE_OFF_TARGET;
}

/* Rank 0: whether a reference is far from the time that its size was calibrated to. */
static bool has_moved(const sampler *s, size_t series, const struct size_search_result *result) {
    return is_calibrated(result) && samples_moved(sampler_samples(s), series, result->time_ns, MOVED_LIMIT);
}

/* Rank 0: whether a reference has changed while the point was measured. */
static bool drifts(const sampler *s, size_t series, const struct size_search_result *result) {
    const struct series_drift drift = samples_drift(sampler_samples(s), series);
    return is_calibrated(result) && drift.p_value < DRIFT_P_VALUE && fabs(drift.change_relative) > MOVED_LIMIT;
}

static bool may_recalibrate(const struct overlap *o) {
    return !o->plan->sizes_given && o->point.recalibrations < MOST_RECALIBRATIONS &&
           (o->point.recalibrations == 0 || o->point.resized);
}

/* Checks whenever the intervals are looked at, until the answer has been true once. */
bool recalibration_doubts(void *context, const struct sampler_point *p, const sampler *s) {
    struct overlap *o = context;
    const struct sampler_rule *rule = &o->rule;
    if (o->point.looked || !may_recalibrate(o) ||
        !series_look(samples_count(sampler_samples(s)), (size_t)rule->min_repetitions)) {
        return false;
    }
    const struct size_search_result *comm = overlap_comm(o, p);
    const struct size_search_result *comp = overlap_comp(o, p);
    o->point.looked = has_moved(s, T_COMM_ALONE, comm) || has_moved(s, T_COMP_ALONE, comp) ||
                      drifts(s, T_COMM_ALONE, comm) || drifts(s, T_COMP_ALONE, comp);
    return o->point.looked;
}

enum { COMM, COMP, REFERENCES };

/* Rank 0: finds the references whose size must be rechecked, if there is time. took: the time of the point so far, ns.
 */
static void find_moved(const struct overlap *o, const struct sampler_point *p, const sampler *s, int64_t took,
                       int moved[REFERENCES]) {
    const struct budget *budget = &o->plan->budget;
    const int64_t now = timer_now_ns();
    const int64_t left = budget->began_ns + (int64_t)(budget->seconds * 1e9) - now;
    const bool time = budget->seconds <= 0 || (double)took < AGAIN_SHARE * (double)left;
    const bool early = p->deadline_ns == 0 || (double)took < EARLY_SHARE * (double)(p->deadline_ns - p->begin_ns);
    if (may_recalibrate(o) && time && early && size_search_may_recheck(o->doubt_ns, now - budget->began_ns)) {
        moved[COMM] = drifts(s, T_COMM_ALONE, overlap_comm(o, p)) || has_moved(s, T_COMM_ALONE, overlap_comm(o, p));
        moved[COMP] = drifts(s, T_COMP_ALONE, overlap_comp(o, p)) || has_moved(s, T_COMP_ALONE, overlap_comp(o, p));
    }
}

static bool has_clock(const struct overlap *o) {
    return clock_quality_of(o->bench.clock).method != CLOCK_NONE;
}

/*
 * Where a reference has moved or drifts, its size is rechecked, if there is time. Where the recheck chooses another
 * size, or the clock was refused meanwhile, the point begins again. Where the size, measured alone, still takes its
 * time, the size was not at fault: the reference takes another time beside the other parts of a repetition (caches, a
 * clock rate), or the machine drifts and would drift again. Then the repetitions are kept: references are measured
 * beside the times that they are compared with, and the record says how far they drifted. With given sizes nothing is
 * calibrated, and the record says how far the references moved.
 */
enum sampler_review recalibration_review(void *context, struct sampler_point *p, const sampler *s) {
    struct overlap *o = context;
    int moved[REFERENCES] = {0, 0};
    const struct size_search_result *comm = overlap_comm(o, p);
    const struct size_search_result *comp = overlap_comp(o, p);
    const int64_t review_begin = timer_now_ns();
    const int64_t took = review_begin - p->begin_ns;
    if (o->bench.rank == 0) {
        find_moved(o, p, s, took, moved);
    }
    MPI_CHECK(MPI_Bcast(moved, REFERENCES, MPI_INT, 0, MPI_COMM_WORLD));
    if (moved[COMM] == 0 && moved[COMP] == 0) {
        return SAMPLER_ACCEPT;
    }
    const bool had_clock = has_clock(o);
    const uint64_t sizes[REFERENCES] = {comm->size, comp->size};
    const int64_t deadline = o->plan->budget.seconds > 0 ? timer_now_ns() + took : 0;
    if ((moved[COMM] != 0 &&
         !calibration_renew(o->calibration, p->at[AXIS_COLLECTIVE], p->at[AXIS_COMM], MOVED_LIMIT, deadline)) ||
        (moved[COMP] != 0 &&
         !calibration_renew(o->calibration, CALIBRATION_COMPUTATION, p->at[AXIS_COMP], MOVED_LIMIT, deadline))) {
        return SAMPLER_WRONG_DATA;
    }
    o->point.recalibrations++;
    o->recalibrations++;
    o->point.resized = comm->size != sizes[COMM] || comp->size != sizes[COMP];
    /* Repetitions from before and after a refusal of the clock are never mixed. */
    const bool again = o->point.resized || has_clock(o) != had_clock;
    o->doubt_ns += timer_now_ns() - review_begin + (again ? took : 0);
    if (!again) {
        p->begin_ns += timer_now_ns() - review_begin; /* so that the mean time of a repetition does not include it */
        bench_take(&o->bench, &o->point.work);
        return SAMPLER_KEEP;
    }
    if (p->deadline_ns != 0 && p->deadline_ns < timer_now_ns() + took) {
        p->deadline_ns = timer_now_ns() + took;
    }
    o->point.looked = o->point.looked && !o->point.resized;
    return SAMPLER_BEGIN_AGAIN;
}
