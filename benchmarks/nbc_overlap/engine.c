#include "engine.h"

#include "bench.h"
#include "calibration.h"
#include "exchange.h"
#include "fail.h"
#include "fail_mpi.h"
#include "phase.h"
#include "samples.h"
#include "series.h"
#include "table.h"
#include "timer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Every rank's own samples are written up to this many ranks. */
enum { MOST_RANKS_WITH_SAMPLES = 64 };

/* What the end takes: the footer and MPI_Finalize. */
#define CLOSING_SECONDS 0.1

/* A reference that is this far from the time that its size was calibrated to, or that drifts this far during a point, is calibrated anew:
 * the convergence bound of section 5.1. A drift is believed at this probability of seeing it by chance. */
#define MOVED_LIMIT 0.10
#define DRIFT_P_VALUE 0.01

/* How often a point's sizes are looked at again: a second time where the first one chose another size, perhaps while the machine was disturbed. */
enum { MOST_RECALIBRATIONS = 2 };

/* Of the time that is left in a budget, what measuring a point once more may take. */
#define AGAIN_SHARE 0.2
/* And of a point's own time, what may be thrown away. Later, what was measured is worth more than a size that fits better: it is kept, and
 * the record says how far its references moved or drifted. */
#define EARLY_SHARE 0.5

/* What rank 0 decides after a repetition. MOVED: a reference is not what its size was chosen for, or drifts; seen early, little is thrown away. */
enum decision { GO_ON, SYNCHRONISE, MOVED, STOP_INTERVAL, STOP_REPETITIONS, STOP_LATE, STOP_BUDGET, STOP_DATA, NO_CLOCK };

struct engine {
    const struct plan *plan;
    struct bench bench;
    calibration *calibration;
    samples *samples; /* of the point being measured */
    struct size_table *sizes;
    record_file *record;
    struct engine_result result;
    int64_t late; /* starts of all points */
    int64_t doubt_ns; /* in which sizes were looked at again, with what was thrown away for it */
    char reason[512];
};

engine *engine_create(const struct plan *plan, clock_model *clock, compute_team *team, helper *helper, struct size_table *sizes,
                      record_file *record) {
    engine *e = fail_alloc(1, sizeof *e);
    e->plan = plan;
    e->sizes = sizes;
    e->record = record;
    e->bench = bench_begin(plan, clock, team, helper);
    e->calibration = calibration_create(plan, &e->bench, sizes);
    e->samples = samples_create(clock, plan->interval_relative, plan->threads);
    e->result.reason = e->reason;
    return e;
}

void engine_destroy(engine *e) {
    if (e != NULL) {
        bench_end(&e->bench);
        calibration_destroy(e->calibration);
        samples_destroy(e->samples);
        free(e);
    }
}

struct engine_result engine_result_of(const engine *e) {
    return e->result;
}

/* Collective. */
static int64_t report_data_errors(engine *e) {
    e->result.end = ENGINE_DATA_ERROR;
    return bench_faults(&e->bench, e->reason, sizeof e->reason);
}

bool engine_calibrate(engine *e) {
    if (!calibration_search(e->calibration)) {
        report_data_errors(e);
        return false;
    }
    return true;
}

/* ---- one point ---- */

struct point {
    int64_t index;
    size_t collective; /* of the plan */
    size_t comm_target;
    size_t comp_target;
    struct bench_work work;
    int64_t shortest_ns; /* of its two targets */
    int64_t attempts;    /* repetitions, good or not */
    int64_t late;
    int64_t late_now;    /* of them, since the point was last begun */
    int64_t discarded;
    int64_t recalibrations;
    int64_t data_errors;
    int64_t synchronisations; /* of the clock, before the point */
    bool looked;  /* before its end, and a reference had moved, or drifted */
    bool resized; /* when that was last looked into */
    enum start_method start;
    int64_t deadline; /* rank 0: the point's share of the budget ends; 0: none */
    int64_t begin;
};

static bool is_calibrated(const struct calibrate_result *result) {
    return result->status == CALIBRATE_CONVERGED || result->status == CALIBRATE_OFF_TARGET;
}

/* Rank 0: whether a reference is far from the time that its size was calibrated to. */
static bool has_moved(const engine *e, enum global_time time, const struct calibrate_result *result) {
    return is_calibrated(result) && samples_moved(e->samples, time, result->time_ns, MOVED_LIMIT);
}

/* Rank 0: whether a reference has changed while the point was measured. */
static bool drifts(const engine *e, enum global_time time, const struct calibrate_result *result) {
    const struct record_reference reference = samples_reference(e->samples, time, result->time_ns);
    return is_calibrated(result) && reference.drift_p_value < DRIFT_P_VALUE && fabs(reference.drift_relative) > MOVED_LIMIT;
}

static bool may_recalibrate(const engine *e, const struct point *p) {
    return !e->plan->sizes_given && p->recalibrations < MOST_RECALIBRATIONS && (p->recalibrations == 0 || p->resized);
}

/* Rank 0, whenever the intervals are looked at, until it is so once: what is seen early throws little away. */
static bool looks_moved(const engine *e, const struct point *p) {
    if (p->looked || !may_recalibrate(e, p) || !series_look(samples_count(e->samples), (size_t)e->plan->min_repetitions)) {
        return false;
    }
    const struct calibrate_result *comm = calibration_comm(e->calibration, p->collective, p->comm_target);
    const struct calibrate_result *comp = calibration_comp(e->calibration, p->comp_target);
    return has_moved(e, GLOBAL_COMM_REF, comm) || has_moved(e, GLOBAL_COMP_REF, comp) || drifts(e, GLOBAL_COMM_REF, comm) ||
           drifts(e, GLOBAL_COMP_REF, comp);
}

/* Rank 0's decision after a repetition. */
static enum decision decide(const engine *e, const struct point *p) {
    const struct plan *plan = e->plan;
    const int64_t now = timer_now_ns();
    const size_t count = samples_count(e->samples);
    if (plan_is_over(plan)) {
        return STOP_BUDGET;
    }
    /* A machine on which nearly every start is late must not hold the run up for ever. */
    const bool too_late = p->late_now > 50 + 10 * plan->max_repetitions;
    const double each = (double)(now - p->begin) / (double)p->attempts;
    const bool spent = p->deadline != 0 && (double)now + each > (double)p->deadline;
    if (too_late) {
        return STOP_LATE;
    }
    if (looks_moved(e, p)) {
        return MOVED;
    }
    if ((int64_t)count >= plan->min_repetitions && (spent || (int64_t)count >= plan->max_repetitions ||
                                                    series_look(count, (size_t)plan->min_repetitions))) {
        const struct samples_look look = samples_look_at(e->samples);
        if ((int64_t)look.count >= plan->min_repetitions) {
            if (look.settled) {
                return STOP_INTERVAL;
            }
            if ((int64_t)look.count >= plan->max_repetitions) {
                return STOP_REPETITIONS;
            }
            if (spent) {
                return STOP_BUDGET;
            }
        }
    }
    return clock_due(e->bench.clock) ? SYNCHRONISE : GO_ON;
}

static bool has_clock(const engine *e) {
    return clock_quality_of(e->bench.clock).method != CLOCK_NONE;
}

/* Collective: the synchronisation that closes what was measured since the last. false: the clock that these repetitions began with is
 * refused now. */
static bool close_segment(engine *e) {
    const bool had = has_clock(e);
    clock_synchronise(e->bench.clock);
    samples_close(e->samples);
    return has_clock(e) == had;
}

/* Collective. Repeats until rank 0 says stop. */
static enum decision repeat(engine *e, struct point *p) {
    for (;;) {
        struct repetition r = {{0}};
        phase_repetition(p->attempts + 1);
        const struct bench_outcome outcome = bench_triple(&e->bench, &p->work, &r);
        p->attempts++;
        if (outcome.wrong_data) {
            if (!close_segment(e)) {
                samples_clear(e->samples); /* their timestamps cannot be made global any more */
            }
            return STOP_DATA;
        }
        p->late += outcome.late_starts;
        p->late_now += outcome.late_starts;
        e->late += outcome.late_starts;
        if (!outcome.late) {
            samples_add(e->samples, &e->bench, &r, outcome.times);
        }
        int decision = GO_ON;
        if (e->bench.rank == 0) {
            decision = decide(e, p);
        }
        MPI_CHECK(MPI_Bcast(&decision, 1, MPI_INT, 0, MPI_COMM_WORLD));
        if (decision != GO_ON && !close_segment(e)) {
            return NO_CLOCK;
        }
        if (decision != GO_ON && decision != SYNCHRONISE) {
            return (enum decision)decision;
        }
    }
}

/* Collective. Repeats, and brings the repetitions together; goes on where interpolated times are a little wider than the extrapolated ones
 * that the stop was decided on: then it was none. */
static enum decision measure_samples(engine *e, struct point *p) {
    for (;;) {
        const enum decision decision = repeat(e, p);
        if (decision == NO_CLOCK) {
            return decision;
        }
        samples_gather(e->samples);
        int more = 0;
        if (e->bench.rank == 0 && decision == STOP_INTERVAL) {
            const struct samples_look look = samples_look_at(e->samples);
            more = look.widest < 0 || look.widest > e->plan->interval_relative || (int64_t)look.count < e->plan->min_repetitions;
        }
        MPI_CHECK(MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD));
        if (more == 0) {
            return decision;
        }
    }
}

static void set_work(const engine *e, struct point *p) {
    p->work.collective = &collective_table[e->plan->collectives[p->collective]];
    p->work.message_bytes = calibration_comm(e->calibration, p->collective, p->comm_target)->size;
    p->work.work_size = calibration_comp(e->calibration, p->comp_target)->size;
    p->work.pieces = plan_pieces(e->plan, e->plan->comp_targets_ns[p->comp_target]);
    const size_t index = sizes_index(e->sizes, p->collective, p->comm_target, p->comp_target);
    if (e->plan->sizes_given) {
        p->work.message_bytes = e->sizes->points[index].message_bytes;
        p->work.work_size = e->sizes->points[index].work_size;
    } else {
        e->sizes->points[index] = (struct size_point){p->work.message_bytes, p->work.work_size};
    }
}

/* Throws away what a point has. */
static void begin_again(engine *e, struct point *p) {
    p->discarded += (int64_t)samples_count(e->samples);
    p->begin = timer_now_ns();
    p->attempts = 0;
    p->late_now = 0;
    samples_clear(e->samples);
    set_work(e, p);
    p->start = start_method_of(e->bench.line);
    bench_prepare(&e->bench, &p->work, p->shortest_ns);
}

/* What a new calibration says of a point's repetitions. */
enum verdict { NOTHING_NEW, BEGIN_AGAIN, KEEP };

/* Collective. Where a reference has moved, or drifts, its size is looked for again, if there is time; with another size, or where the clock was
 * refused meanwhile, the point is begun anew, and looked at as any other. A size that still takes its time by itself was not at fault: the reference
 * is another one beside the other parts of a repetition (caches, a clock rate), or the machine drifts, and would again. Its repetitions are kept:
 * references are measured beside what they are compared with, and the record says how far they drifted. With given sizes nothing is calibrated: the
 * record says how far they moved. */
static enum verdict recalibrate(engine *e, struct point *p, enum decision *decision) {
    const struct plan *plan = e->plan;
    enum { COMM, COMP };
    int moved[2] = {0, 0};
    const struct calibrate_result *comm = calibration_comm(e->calibration, p->collective, p->comm_target);
    const struct calibrate_result *comp = calibration_comp(e->calibration, p->comp_target);
    const int64_t asked = timer_now_ns();
    const int64_t took = timer_now_ns() - p->begin;
    const int64_t left = plan->began_ns + (int64_t)(plan->budget_seconds * 1e9) - timer_now_ns();
    const bool time = plan->budget_seconds <= 0 || (double)took < AGAIN_SHARE * (double)left;
    const bool early = p->deadline == 0 || (double)took < EARLY_SHARE * (double)(p->deadline - p->begin);
    const bool doubt = calibrate_may_doubt(e->doubt_ns, asked - plan->began_ns);
    if (e->bench.rank == 0 && may_recalibrate(e, p) && time && early && doubt && *decision != STOP_DATA && *decision != STOP_LATE) {
        moved[COMM] = drifts(e, GLOBAL_COMM_REF, comm) || has_moved(e, GLOBAL_COMM_REF, comm);
        moved[COMP] = drifts(e, GLOBAL_COMP_REF, comp) || has_moved(e, GLOBAL_COMP_REF, comp);
    }
    MPI_CHECK(MPI_Bcast(moved, 2, MPI_INT, 0, MPI_COMM_WORLD));
    if (moved[COMM] == 0 && moved[COMP] == 0) {
        return NOTHING_NEW;
    }
    const bool had_clock = has_clock(e);
    const uint64_t sizes[2] = {comm->size, comp->size};
    const int64_t deadline = plan->budget_seconds > 0 ? timer_now_ns() + took : 0;
    if ((moved[COMM] != 0 && !calibration_renew(e->calibration, p->collective, p->comm_target, MOVED_LIMIT, deadline)) ||
        (moved[COMP] != 0 && !calibration_renew(e->calibration, CALIBRATION_COMPUTATION, p->comp_target, MOVED_LIMIT, deadline))) {
        *decision = STOP_DATA;
        return NOTHING_NEW;
    }
    p->recalibrations++;
    e->result.recalibrations++;
    p->resized = comm->size != sizes[COMM] || comp->size != sizes[COMP];
    /* Without the clock that the repetitions so far were taken by, those to come are of another kind: the two are never mixed. */
    const bool again = p->resized || has_clock(e) != had_clock;
    e->doubt_ns += timer_now_ns() - asked + (again ? took : 0);
    if (!again) {
        p->begin += timer_now_ns() - asked; /* what a repetition takes is reckoned without it */
        bench_prepare(&e->bench, &p->work, p->shortest_ns);
        return KEEP;
    }
    if (p->deadline != 0 && p->deadline < timer_now_ns() + took) {
        p->deadline = timer_now_ns() + took;
    }
    p->looked = p->looked && !p->resized;
    begin_again(e, p);
    return BEGIN_AGAIN;
}

static const char *stop_name(enum decision decision, bool measured) {
    if (!measured) {
        return "not_measured";
    }
    return decision == STOP_INTERVAL ? "interval" : decision == STOP_BUDGET ? "budget" : decision == STOP_LATE ? "late" : "repetitions";
}

static struct record_calibration calibration_record(const struct calibrate_result *result) {
    return (struct record_calibration){result->status, (int64_t)result->time_ns, result->error_relative, result->measurements};
}

/* Rank 0: everything the record says about a point, and the point's row of the table. false: the disk refused. */
static bool write_point(engine *e, const struct point *p, enum decision decision) {
    const struct plan *plan = e->plan;
    const struct calibrate_result *comm = calibration_comm(e->calibration, p->collective, p->comm_target);
    const struct calibrate_result *comp = calibration_comp(e->calibration, p->comp_target);
    const struct clock_quality clock = clock_quality_of(e->bench.clock);
    struct record_point record = {
        .index = p->index,
        .collective = p->work.collective->name,
        .comm_target_ns = plan->comm_targets_ns[p->comm_target],
        .comp_target_ns = plan->comp_targets_ns[p->comp_target],
        .message_bytes = (int64_t)p->work.message_bytes,
        .work_size = (int64_t)p->work.work_size,
        .comm = calibration_record(comm),
        .comp = calibration_record(comp),
        .start_method = start_method_name(p->start),
        .late_repetitions = p->late,
        .discarded_repetitions = p->discarded,
        .recalibrations = p->recalibrations,
        .buffer_sets = (int64_t)exchange_sets(e->bench.x),
        .comm_reference = samples_reference(e->samples, GLOBAL_COMM_REF, comm->time_ns),
        .comp_reference = samples_reference(e->samples, GLOBAL_COMP_REF, comp->time_ns),
        .stop_reason = stop_name(decision, samples_count(e->samples) > 0),
        .data_errors = p->data_errors,
        .clock_method = clock_method_name(clock.method),
        .clock_residual_ns = clock.method != CLOCK_NONE ? clock.worst_residual_ns : NAN,
        .clock_synchronisations = clock.synchronisations - p->synchronisations,
        .clock_drift_ppm = clock.method != CLOCK_NONE ? clock.drift_ppm : NAN,
    };
    samples_describe(e->samples, plan->rank_samples || e->bench.ranks <= MOST_RANKS_WITH_SAMPLES, &record);
    e->result.measured_seconds += samples_seconds(e->samples);
    phase_total(&(struct phase_totals){.measured_ns = (int64_t)(e->result.measured_seconds * 1e9),
                                       .synchronisations = clock.synchronisations,
                                       .synchronisation_ns = (int64_t)(clock.seconds * 1e9)});
    if (!plan->quiet) {
        table_print_row(&record, plan->test_interval_ns > 0, samples_median(e->samples, T_MEASURED), samples_median(e->samples, GLOBAL_COMM_REF),
                        samples_median(e->samples, GLOBAL_COMP_REF));
    }
    return record_write_point(e->record, &record);
}

/* Rank 0, once for every computation: an interval of MPI_Test that cannot be had. */
static void say_pieces(const engine *e, const struct point *p) {
    const uint64_t pieces = compute_pieces(e->plan->computation, p->work.work_size, p->work.pieces);
    const double target_ns = (double)e->plan->comp_targets_ns[p->comp_target];
    if (e->plan->test_interval_ns == 0 || e->bench.rank != 0 || p->collective > 0 || p->comm_target > 0) {
        return;
    }
    if (pieces == 1) {
        fail_report("the computation of %g ms, of size %llu, is one piece: MPI_Test, every %g us, is not called in it", target_ns / 1e6,
                    (unsigned long long)p->work.work_size, (double)e->plan->test_interval_ns / 1e3);
    } else if (pieces < p->work.pieces) {
        fail_report("the computation of %g ms, of size %llu, is cut into %llu pieces, no more: MPI_Test is called about every %g us in it, not every "
                    "%g us", target_ns / 1e6, (unsigned long long)p->work.work_size, (unsigned long long)pieces,
                    target_ns / 1e3 / (double)pieces, (double)e->plan->test_interval_ns / 1e3);
    }
}

/* Collective. Measures a point and writes it. false: the run ends here. */
static bool measure_point(engine *e, struct point *p) {
    const struct plan *plan = e->plan;
    const int64_t comm_target = plan->comm_targets_ns[p->comm_target];
    const int64_t comp_target = plan->comp_targets_ns[p->comp_target];
    const struct calibrate_result *comm = calibration_comm(e->calibration, p->collective, p->comm_target);
    const int64_t comm_time = comm->status == CALIBRATE_NO_MESSAGE ? (int64_t)comm->time_ns : comm_target;
    p->shortest_ns = comm_time < comp_target ? comm_time : comp_target;
    phase_point(p->index, comm_target, comp_target);
    p->begin = timer_now_ns();
    p->synchronisations = clock_quality_of(e->bench.clock).synchronisations;
    samples_clear(e->samples);
    set_work(e, p);
    int measure = calibration_can_take(calibration_comm(e->calibration, p->collective, p->comm_target)) &&
                  calibration_can_take(calibration_comp(e->calibration, p->comp_target)) && !plan_is_over(plan);
    MPI_CHECK(MPI_Bcast(&measure, 1, MPI_INT, 0, MPI_COMM_WORLD));

    enum decision decision = STOP_REPETITIONS;
    clock_synchronise(e->bench.clock); /* opens the point */
    clock_forget_residual(e->bench.clock);
    p->start = start_method_of(e->bench.line);
    if (measure != 0) {
        say_pieces(e, p);
        bench_prepare(&e->bench, &p->work, p->shortest_ns);
        enum verdict verdict = NOTHING_NEW;
        do {
            decision = measure_samples(e, p);
            p->looked = p->looked || decision == MOVED;
            if (decision == NO_CLOCK) {
                begin_again(e, p); /* from a barrier */
            } else {
                verdict = recalibrate(e, p, &decision);
            }
        } while (decision == NO_CLOCK || verdict == BEGIN_AGAIN || decision == MOVED);
    } else {
        samples_gather(e->samples);
    }
    if (decision == STOP_DATA) {
        p->data_errors = report_data_errors(e);
    }
    phase_enter(PHASE_RECORD);
    int good = 1;
    if (e->bench.rank == 0) {
        good = write_point(e, p, decision);
        if (good == 0) {
            snprintf(e->reason, sizeof e->reason, "%s", record_error(e->record));
        } else {
            e->result.points++;
        }
    }
    MPI_CHECK(MPI_Bcast(&good, 1, MPI_INT, 0, MPI_COMM_WORLD));
    if (good == 0) {
        e->result.end = ENGINE_RECORD_ERROR;
        return false;
    }
    return decision != STOP_DATA;
}

/* Rows of a collective's part of the grid. */
static size_t comm_times(const struct plan *plan, size_t collective) {
    return collective_comm_times(&collective_table[plan->collectives[collective]], plan->comm_target_count);
}

/* What a point takes, relative to others: two times each of its references, and what starting and checking cost. */
static double point_weight(const engine *e, size_t comm_target, size_t comp_target) {
    return 2e-9 * (double)(e->plan->comm_targets_ns[comm_target] + e->plan->comp_targets_ns[comp_target]) + 2e-3;
}

static double all_weights(const engine *e) {
    double sum = 0;
    for (size_t c = 0; c < e->plan->collective_count; c++) {
        for (size_t i = 0; i < comm_times(e->plan, c); i++) {
            for (size_t j = 0; j < e->plan->comp_target_count; j++) {
                sum += point_weight(e, i, j);
            }
        }
    }
    return sum;
}

/* Collective. A run without a single repetition is none. */
static void check_measured(engine *e) {
    const struct plan *plan = e->plan;
    int nothing = e->result.measured_seconds <= 0;
    MPI_CHECK(MPI_Bcast(&nothing, 1, MPI_INT, 0, MPI_COMM_WORLD));
    if (nothing == 0 || e->result.end != ENGINE_COMPLETE) {
        return;
    }
    e->result.end = ENGINE_NOTHING_MEASURED;
    if (e->late > 0) {
        char budget[64] = "";
        if (plan->budget_seconds > 0) {
            snprintf(budget, sizeof budget, ", with a budget of %g s", plan->budget_seconds);
        }
        snprintf(e->reason, sizeof e->reason,
                 "nothing could be measured in %.1f s%s: a rank came late to %lld starts; something else uses these cores, or a thread "
                 "of the MPI library does", plan_elapsed_seconds(plan), budget, (long long)e->late);
    } else if (!plan_is_over(plan)) {
        snprintf(e->reason, sizeof e->reason,
                 "nothing was measured: no size of a message, or of the computation, takes any of the times that were asked for; ask for other "
                 "times, or allow larger messages with --max-message-bytes");
    } else {
        snprintf(e->reason, sizeof e->reason,
                 "a budget of %g s is too small for one repetition: start and calibration took %.1f s, and %lld repetitions of every "
                 "point take about %.0f s more; raise --budget-seconds, or ask for fewer points or shorter times",
                 plan->budget_seconds, plan_elapsed_seconds(plan), (long long)plan->min_repetitions,
                 ceil(all_weights(e) * (double)plan->min_repetitions));
    }
}

void engine_measure(engine *e) {
    const struct plan *plan = e->plan;
    double weight_left = all_weights(e);
    struct point p = {0};
    int64_t index = 0;
    if (e->bench.rank == 0 && !plan->quiet) {
        table_print_head(plan->test_interval_ns > 0);
    }
    for (size_t c = 0; c < plan->collective_count; c++) {
        for (size_t i = 0; i < comm_times(plan, c); i++) {
            for (size_t j = 0; j < plan->comp_target_count; j++) {
                double weight = point_weight(e, i, j);
                double left = plan->budget_seconds - CLOSING_SECONDS - plan_elapsed_seconds(plan);
                p = (struct point){.index = index++, .collective = c, .comm_target = i, .comp_target = j};
                if (plan->budget_seconds > 0) {
                    /* the remaining time is divided over the remaining points; what one does not need goes to the others */
                    p.deadline = timer_now_ns() + (int64_t)(fmax(left, 0) * weight / weight_left * 1e9) + 1;
                }
                weight_left -= weight;
                if (!measure_point(e, &p)) {
                    return;
                }
            }
        }
    }
    check_measured(e);
}
