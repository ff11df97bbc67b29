#include "overlap.h"

#include "fail.h"
#include "overlap_table.h"
#include "recalibration.h"

#include <stdio.h>

const struct size_search_result *overlap_comm(const struct overlap *o, const struct sampler_point *p) {
    return calibration_comm(o->calibration, p->at[AXIS_COLLECTIVE], p->at[AXIS_COMM]);
}

const struct size_search_result *overlap_comp(const struct overlap *o, const struct sampler_point *p) {
    return calibration_comp(o->calibration, p->at[AXIS_COMP]);
}

static int64_t comm_target(const struct overlap *o, const size_t at[SAMPLER_MOST_AXES]) {
    return o->plan->comm_targets_ns[at[AXIS_COMM]];
}

static int64_t comp_target(const struct overlap *o, const size_t at[SAMPLER_MOST_AXES]) {
    return o->plan->comp_targets_ns[at[AXIS_COMP]];
}

/* ---- which points there are ---- */

/* A collective without a message takes one time, whatever the target. */
static bool has_point(void *context, const size_t at[SAMPLER_MOST_AXES]) {
    const struct plan *plan = ((struct overlap *)context)->plan;
    const struct collective *collective = &collective_table[plan->collectives[at[AXIS_COLLECTIVE]]];
    return at[AXIS_COMM] < collective_comm_times(collective, plan->comm_target_count);
}

/* Returns about how long a repetition takes: twice each reference, and the cost of starts and checks. */
static double weight(void *context, const size_t at[SAMPLER_MOST_AXES]) {
    const struct overlap *o = context;
    return 2e-9 * (double)(comm_target(o, at) + comp_target(o, at)) + 2e-3;
}

static void name_point(void *context, const struct sampler_point *p, char *text, size_t text_size) {
    const struct overlap *o = context;
    snprintf(text, text_size, "%g ms x %g ms", (double)comm_target(o, p->at) / 1e6,
             (double)comp_target(o, p->at) / 1e6);
}

/* ---- one point ---- */

static void set_work(struct overlap *o, const struct sampler_point *p) {
    struct bench_work *work = &o->point.work;
    const size_t index = size_table_point_index(&o->sizes, p->at[AXIS_COLLECTIVE], p->at[AXIS_COMM], p->at[AXIS_COMP]);
    work->collective = &collective_table[o->plan->collectives[p->at[AXIS_COLLECTIVE]]];
    work->message_bytes = overlap_comm(o, p)->size;
    work->work_size = overlap_comp(o, p)->size;
    work->pieces = plan_pieces(o->plan, comp_target(o, p->at));
    if (o->plan->sizes_given) {
        work->message_bytes = o->sizes.points[index].message_bytes;
        work->work_size = o->sizes.points[index].work_size;
    } else {
        o->sizes.points[index] = (struct size_point){work->message_bytes, work->work_size};
    }
}

/* Rank 0, once per computation: reports an interval of MPI_Test that cannot be reached. */
static void say_pieces(const struct overlap *o, const struct sampler_point *p) {
    const struct bench_work *work = &o->point.work;
    const uint64_t pieces = compute_pieces(o->plan->computation, work->work_size, work->pieces);
    const double target_ns = (double)comp_target(o, p->at);
    if (o->plan->test_interval_ns == 0 || o->bench.rank != 0 || p->at[AXIS_COLLECTIVE] > 0 || p->at[AXIS_COMM] > 0 ||
        p->beginnings > 0) {
        return;
    }
    if (pieces == 1) {
        fail_report(
            "the computation of %g ms (size %llu) cannot be cut into pieces: MPI_Test is not called in it every %g us",
            target_ns / 1e6, (unsigned long long)work->work_size, (double)o->plan->test_interval_ns / 1e3);
    } else if (pieces < work->pieces) {
        fail_report("the computation of %g ms (size %llu) can be cut into %llu pieces only: MPI_Test is called "
                    "about every %g us in it, not every %g us",
                    target_ns / 1e6, (unsigned long long)work->work_size, (unsigned long long)pieces,
                    target_ns / 1e3 / (double)pieces, (double)o->plan->test_interval_ns / 1e3);
    }
}

static bool begin(void *context, struct sampler_point *p) {
    struct overlap *o = context;
    const struct size_search_result *comm = overlap_comm(o, p);
    const int64_t comm_time = comm->status == SIZE_NO_MESSAGE ? (int64_t)comm->time_ns : comm_target(o, p->at);
    p->shortest_ns = comm_time < comp_target(o, p->at) ? comm_time : comp_target(o, p->at);
    if (p->beginnings == 0) {
        o->point.recalibrations = 0;
        o->point.looked = false;
        o->point.resized = false;
    }
    set_work(o, p);
    if (!calibration_can_take(comm) || !calibration_can_take(overlap_comp(o, p))) {
        return false;
    }
    say_pieces(o, p);
    bench_take(&o->bench, &o->point.work);
    return true;
}

/* ---- what the record has ---- */

static void put_parameters(void *context, const struct sampler_point *p, json_line *line) {
    const struct overlap *o = context;
    json_put_string(line, "collective", o->point.work.collective->name);
    json_put_integer(line, "comm_target_ns", comm_target(o, p->at));
    json_put_integer(line, "comp_target_ns", comp_target(o, p->at));
    json_put_integer(line, "message_bytes", (int64_t)o->point.work.message_bytes);
    json_put_integer(line, "work_size", (int64_t)o->point.work.work_size);
}

static void put_drift(json_line *line, const char *name, const struct series_drift *drift) {
    json_open_object(line, name);
    json_put_real(line, "change_relative", drift->change_relative);
    json_put_real(line, "p_value", drift->p_value);
    json_close_object(line);
}

static void put_own(void *context, const struct sampler_point *p, const sampler *s, json_line *line) {
    const struct overlap *o = context;
    const samples *repetitions = sampler_samples(s);
    const struct series_drift comm = samples_drift(repetitions, T_COMM_ALONE);
    const struct series_drift comp = samples_drift(repetitions, T_COMP_ALONE);
    size_search_put(line, "comm_calibration", overlap_comm(o, p));
    size_search_put(line, "comp_calibration", overlap_comp(o, p));
    json_put_integer(line, "recalibrations", o->point.recalibrations);
    json_put_integer(line, "buffer_sets", (int64_t)exchange_sets(o->bench.x));
    json_open_object(line, "reference_drift");
    put_drift(line, "comm", &comm);
    put_drift(line, "comp", &comp);
    json_close_object(line);
    json_open_object(line, "reference_moved");
    json_put_real(line, "comm", recalibration_moved(s, T_COMM_ALONE, overlap_comm(o, p)));
    json_put_real(line, "comp", recalibration_moved(s, T_COMP_ALONE, overlap_comp(o, p)));
    json_close_object(line);
    json_put_integer(line, "test_calls", samples_largest_median(repetitions, TEST_CALLS));
}

static int64_t faults(void *context, char *text, size_t text_size) {
    return bench_faults(&((struct overlap *)context)->bench, text, text_size);
}

static const int64_t *thread_times(void *context, size_t number) {
    const struct overlap *o = context;
    return number == 0 ? o->bench.thread_comp_ns : o->bench.thread_comp_ref_ns;
}

static void print_head(void *context) {
    overlap_table_head(((struct overlap *)context)->plan->test_interval_ns > 0);
}

/* ---- all of it ---- */

static const struct repetition_series series[SERIES] = {
    [T_MEASURED] =
        {.name = "t_measured_ns", .over = OVER_SPAN, .term = OVERLAP_AGREED, .end = OVERLAP_END, .stops = true},
    [T_COMM_ALONE] = {.name = "t_comm_ref_ns", .over = OVER_SPAN, .term = REF_AGREED, .end = REF_END, .stops = true},
    [T_COMP_ALONE] = {.name = "t_comp_ref_ns", .over = OVER_LARGEST, .term = T_COMP_ALL, .stops = true},
    [START_IMBALANCE] = {.name = "start_imbalance_ns", .over = OVER_IMBALANCE, .term = OVERLAP_START},
    [ORDER] = {.name = "order", .over = OVER_ORDER},
    [LATE_STARTS] = {.name = "late_starts", .over = OVER_LATE},
};

static const struct samples_sum spreads[] = {[SPREAD_CALL] = {"t_call_ns", 1, {T_CALL}},
                                             [SPREAD_COMP] = {"t_comp_ns", 1, {T_COMP}},
                                             [SPREAD_TEST] = {"t_test_ns", 1, {T_TEST}},
                                             [SPREAD_WAIT] = {"t_wait_ns", 1, {T_WAIT}}};

static const struct samples_sum rank_medians[] = {[MEDIAN_MPI] = {"t_mpi_ns", 3, {T_CALL, T_TEST, T_WAIT}},
                                                  [MEDIAN_COMM_REF] = {"t_comm_ref_ns", 1, {T_COMM_REF}},
                                                  [MEDIAN_COMP] = {"t_comp_ns", 1, {T_COMP}},
                                                  [MEDIAN_COMP_REF] = {"t_comp_ref_ns", 1, {T_COMP_REF}}};

static const struct samples_sum rank_samples[] = {
    {"t_call_ns", 1, {T_CALL}}, {"t_comp_ns", 1, {T_COMP}},         {"t_test_ns", 1, {T_TEST}},
    {"t_wait_ns", 1, {T_WAIT}}, {"t_comm_ref_ns", 1, {T_COMM_REF}}, {"t_comp_ref_ns", 1, {T_COMP_REF}}};

static const char *const thread_medians[] = {"t_comp_ns", "t_comp_ref_ns"};

static const struct repetition_part *const parts[] = {&bench_communication, &bench_computation, &bench_overlap};

#define COUNT(array) (sizeof(array) / sizeof *(array))

const struct sampler_kind overlap_points = {
    .samples = {.repeated = {.parts = parts,
                             .part_count = COUNT(parts),
                             .group = COUNT(parts),
                             .terms = TERMS,
                             .series = series,
                             .series_count = SERIES,
                             .wrong = bench_wrong},
                .spreads = spreads,
                .spread_count = COUNT(spreads),
                .rank_medians = rank_medians,
                .rank_median_count = COUNT(rank_medians),
                .rank_samples = rank_samples,
                .rank_sample_count = COUNT(rank_samples),
                .thread_medians = thread_medians,
                .thread_median_count = COUNT(thread_medians),
                .threads = thread_times},
    .has_point = has_point,
    .weight = weight,
    .begin = begin,
    .doubts = recalibration_doubts,
    .review = recalibration_review,
    .faults = faults,
    .parameters = put_parameters,
    .own = put_own,
    .name = name_point,
    .print_head = print_head,
    .print_row = overlap_table_row,
    .nothing = "no size of a message, or of the computation, takes any of the times that were asked for; ask for other "
               "times, or allow larger messages with --max-message-bytes",
};

/* ---- before and after the points ---- */

/* Collective: rank 0 writes the sizes where that was asked for. false on all ranks where it could not; rank 0's error
 * says why. */
static bool save_sizes(const struct program *program, const struct overlap *o, char *error, size_t error_size) {
    bool saved = true;
    if (program->rank == 0 && o->save_sizes != NULL) {
        saved = size_table_write(o->save_sizes, &o->sizes, error, error_size);
    }
    return program_agree(saved);
}

bool overlap_begin(struct program *program, void *context, sampler *s, char *reason, size_t reason_size) {
    struct overlap *o = context;
    calibration_sizes_share(&o->sizes);
    o->bench = bench_begin(o->plan, program->clock, program->team, program->helper, sampler_start(s));
    o->calibration = calibration_create(o->plan, &o->bench, &o->sizes);
    if (!calibration_search(o->calibration)) {
        bench_faults(&o->bench, reason, reason_size);
        return false;
    }
    return save_sizes(program, o, reason, reason_size);
}

bool overlap_end(struct program *program, void *context, char *reason, size_t reason_size) {
    struct overlap *o = context;
    const bool saved = o->recalibrations == 0 || save_sizes(program, o, reason, reason_size);
    calibration_destroy(o->calibration);
    bench_end(&o->bench);
    return saved;
}
