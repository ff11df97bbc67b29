#include "overlap.h"

#include "fail.h"
#include "overlap_table.h"
#include "recalibration.h"

#include <stdio.h>

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

/* Returns about how long a repetition takes: twice each reference, and the cost of starts and checks, and of running
 * short computations in. */
static double weight(void *context, const size_t at[SAMPLER_MOST_AXES]) {
    const struct overlap *o = context;
    const double besides = comp_target(o, at) < COMPUTE_SHORT_NS ? 8e-3 : 2e-3;
    return 2e-9 * (double)(comm_target(o, at) + comp_target(o, at)) + besides;
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

struct moved {
    double comm;
    double comp;
};
static const struct field moved_fields[] = {
    FIELD(struct moved, comm, "of the communication's reference"),
    FIELD(struct moved, comp, "of the computation's reference"),
    FIELDS_END,
};

static const struct field drift_fields[] = {
    FIELD(struct series_drift, change_relative,
          "how far the reference drifted from the first to the last repetition (Theil-Sen), relative to its median; "
          "null with too few repetitions"),
    FIELD(struct series_drift, p_value, "the probability of such a trend by chance (Mann-Kendall)"),
    FIELDS_END,
};

struct drifts {
    struct series_drift comm;
    struct series_drift comp;
};
static const struct field drifts_fields[] = {
    FIELD_STRUCT(struct drifts, comm, drift_fields, "of the communication's reference"),
    FIELD_STRUCT(struct drifts, comp, drift_fields, "of the computation's reference"),
    FIELDS_END,
};

struct row {
    uint64_t message_bytes;
    uint64_t work_size;
    struct size_report comm_calibration;
    struct size_report comp_calibration;
    int64_t recalibrations;
    size_t buffer_sets;
    struct drifts reference_drift;
    struct moved reference_moved;
    int64_t test_calls;
};

static const struct field parameter_fields[] = {
    FIELD(struct row, message_bytes,
          "what one rank hands to the collective (collectives.h says what that is for each)"),
    FIELD(struct row, work_size, "work of each computing thread: the order of its matrices (dgemm), elements (triad)"),
    FIELDS_END,
};

static const struct field own_fields[] = {
    FIELD_STRUCT(struct row, comm_calibration, size_report_fields, "how well the message meets its target"),
    FIELD_STRUCT(struct row, comp_calibration, size_report_fields, "how well the work meets its target"),
    FIELD(struct row, recalibrations, "how often a size was measured again because a reference had moved or drifted"),
    FIELD(struct row, buffer_sets, "the sets of buffers that took turns; 1 for warm caches"),
    FIELD_STRUCT(struct row, reference_drift, drifts_fields, "trends of the references within the point"),
    FIELD_STRUCT(struct row, reference_moved, moved_fields,
                 "median of the reference divided by the calibrated or given time of its size, minus 1"),
    FIELD(struct row, test_calls, "calls of MPI_Test in an overlapped repetition: the median, of the rank with most"),
    FIELDS_END,
};

static void fill(void *context, const struct sampler_point *p, const sampler *s, void *row) {
    const struct overlap *o = context;
    const samples *repetitions = sampler_samples(s);
    *(struct row *)row = (struct row){
        .message_bytes = o->point.work.message_bytes,
        .work_size = o->point.work.work_size,
        .comm_calibration = size_search_report(overlap_comm(o, p)),
        .comp_calibration = size_search_report(overlap_comp(o, p)),
        .recalibrations = o->point.recalibrations,
        .buffer_sets = exchange_sets(o->bench.x),
        .reference_drift = {samples_drift(repetitions, T_COMM_ALONE), samples_drift(repetitions, T_COMP_ALONE)},
        .reference_moved = {recalibration_moved(s, T_COMM_ALONE, overlap_comm(o, p)),
                            recalibration_moved(s, T_COMP_ALONE, overlap_comp(o, p))},
        .test_calls = samples_largest_median(repetitions, TEST_CALLS)};
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
    [T_MEASURED] = {.name = "t_measured_ns",
                    .over = OVER_SPAN,
                    .term = OVERLAP_AGREED,
                    .end = OVERLAP_END,
                    .stops = true,
                    .help = "communication and computation overlapped: max(end) - min(start) over ranks"},
    [T_COMM_ALONE] = {.name = "t_comm_ref_ns",
                      .over = OVER_SPAN,
                      .term = REF_AGREED,
                      .end = REF_END,
                      .stops = true,
                      .help = "communication alone, the nonblocking call followed at once by MPI_Wait: max(end) - "
                              "min(start) over ranks"},
    [T_COMP_ALONE] = {.name = "t_comp_ref_ns",
                      .over = OVER_LARGEST,
                      .term = T_COMP_ALL,
                      .stops = true,
                      .help = "computation alone: the slowest thread of all ranks"},
    [START_IMBALANCE] = {.name = "start_imbalance_ns", .over = OVER_IMBALANCE, .term = OVERLAP_START},
    [ORDER] = {.name = "order", .over = OVER_ORDER},
    [LATE_STARTS] = {.name = "late_starts", .over = OVER_LATE},
};

static const struct samples_sum spreads[] = {
    [SPREAD_CALL] = {"t_call_ns", 1, {T_CALL}, "in the nonblocking call; of a persistent form in MPI_Start"},
    [SPREAD_COMP] = {"t_comp_ns",
                     1,
                     {T_COMP},
                     "of the slowest thread, from the start of the computation, without the time in MPI_Test"},
    [SPREAD_TEST] = {"t_test_ns", 1, {T_TEST}, "in all calls of MPI_Test, on the thread that makes them"},
    [SPREAD_WAIT] = {"t_wait_ns", 1, {T_WAIT}, "in MPI_Wait"}};

static const struct samples_sum rank_medians[] = {
    [MEDIAN_MPI] = {"t_mpi_ns", 3, {T_CALL, T_TEST, T_WAIT}, "time inside MPI: t_call + t_test + t_wait"},
    [MEDIAN_COMM_REF] = {"t_comm_ref_ns", 1, {T_COMM_REF}, "the rank's own, from its own start to its own end"},
    [MEDIAN_COMP] = {"t_comp_ns", 1, {T_COMP}, "as in the spreads"},
    [MEDIAN_COMP_REF] = {"t_comp_ref_ns", 1, {T_COMP_REF}, "of the rank's own slowest thread"}};

static const struct samples_sum rank_samples[] = {
    {"t_call_ns", 1, {T_CALL}, NULL},         {"t_comp_ns", 1, {T_COMP}, NULL},
    {"t_test_ns", 1, {T_TEST}, NULL},         {"t_wait_ns", 1, {T_WAIT}, NULL},
    {"t_comm_ref_ns", 1, {T_COMM_REF}, NULL}, {"t_comp_ref_ns", 1, {T_COMP_REF}, NULL}};

static const struct samples_sum thread_medians[] = {
    {.name = "t_comp_ns", .help = "from the start of the computation to the end of the thread, without MPI_Test"},
    {.name = "t_comp_ref_ns", .help = "the same of the computation alone"}};

static const struct repetition_part *const parts[] = {&bench_communication, &bench_computation, &bench_overlap};

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
    .parameters = parameter_fields,
    .own = own_fields,
    .row_bytes = sizeof(struct row),
    .fill = fill,
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

void overlap_check(struct program *program, void *context, char *error, size_t error_size) {
    struct overlap *o = context;
    calibration_memory_check(o->plan, error, error_size);
    if (program->rank == 0 && error[0] == '\0' && o->sizes_file != NULL &&
        size_table_read(o->sizes_file, &o->sizes, error, error_size)) {
        calibration_sizes_check(o->plan, &o->sizes, o->sizes_file, error, error_size);
    }
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
