#include "solves.h"

#include "fail_mpi.h"
#include "group.h"
#include "phase.h"
#include "timer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* What each rank times in a repetition. START and the moments are local times. */
enum term {
    START,
    REFERENCE_BEGIN,
    REFERENCE_END,
    VARIANT_BEGIN,
    VARIANT_END,
    COMMUNICATION_BEGIN,
    COMMUNICATION_END,
    COMPUTATION,
    TERMS
};

/* The right side is scaled by 2^0 ... 2^(SCALES - 1). */
enum { SCALES = 16 };

/* About how long a solve takes for each unknown of a rank, seconds: only to divide the budget. */
#define SECONDS_PER_UNKNOWN 1e-6

/* The budget of a control, in budgets of another version: so the two controls have half of that of all eight versions.
 * Where they are not known well, nothing can be said of the others. */
#define CONTROL_BUDGETS 3

/* ---- what fits ---- */

/* Returns the bytes that rank 0 needs, the rank that needs most. */
static double bytes_of(int64_t points, int64_t unknowns, int ranks) {
    return partition_bytes(points) + domain_bytes(points, ranks) + solver_bytes(points, ranks, unknowns);
}

void solves_check(const struct solves *o, char *error, size_t error_size) {
    const int ranks = o->program->ranks;
    const uint64_t memory_bytes = o->program->memory_bytes;
    for (size_t i = 0; i < o->grid_count && error[0] == '\0'; i++) {
        const int64_t points = o->grid_points[i];
        if (ranks > partition_leaves(points)) {
            snprintf(error, error_size,
                     "--grid-points: %" PRId64 " points have at most %d parts, of %d points or more, and there are %d "
                     "ranks; ask for more points, or start fewer ranks%s",
                     points, partition_leaves(points), PARTITION_LEAST_POINTS, ranks,
                     ranks > PARTITION_MOST_LEAVES ? ", at most 1024" : "");
        }
        for (size_t j = 0; j < o->unknowns_count && error[0] == '\0'; j++) {
            const double bytes = bytes_of(points, o->unknowns[j], ranks);
            const double values = (double)points * (double)o->unknowns[j];
            if (values > INT32_MAX) {
                snprintf(error, error_size,
                         "--grid-points, --unknowns: %" PRId64 " points, unknowns per point: %" PRId64
                         ": more values than MPI counts; at most %d are possible",
                         points, o->unknowns[j], INT32_MAX);
            } else if (memory_bytes > 0 && bytes > (double)memory_bytes / 2) {
                snprintf(error, error_size,
                         "--grid-points, --unknowns: %" PRId64 " points, unknowns per point: %" PRId64
                         ": they take %.0f MiB of a rank, more than half of its share of memory, %.0f MiB; ask for "
                         "fewer, or start more ranks",
                         points, o->unknowns[j], bytes / 1048576, (double)memory_bytes / 1048576);
            }
        }
    }
}

/* ---- the system ---- */

static void free_system(struct solves *o) {
    if (o->system.made) {
        solver_free(&o->system.solver);
        domain_free(&o->system.domain);
        ordered_sum_free(&o->system.sum);
        o->system.made = false;
    }
}

/* Collective: makes the system of a point, unless it is there already. */
static void make_system(struct solves *o, int64_t points, int64_t unknowns) {
    const int rank = o->program->rank;
    if (o->system.made && o->system.points == points && o->system.unknowns == unknowns) {
        return;
    }
    free_system(o);
    o->system.grid = grid_make(points, o->seed);
    o->system.partition = partition_make(&o->system.grid, o->partitioner, MPI_COMM_WORLD);
    o->system.domain = domain_make(&o->system.grid, &o->system.partition, rank);
    o->system.sum = ordered_sum_make(&o->system.partition, rank);
    partition_free(&o->system.partition);
    o->system.facts = domain_facts_of(&o->system.domain, MPI_COMM_WORLD);
    o->system.solver = solver_make(&o->system.grid, &o->system.domain, &o->system.sum, (int)unknowns,
                                   o->program->threads, o->tolerance, o->max_iterations, MPI_COMM_WORLD);
    o->system.points = points;
    o->system.unknowns = unknowns;
    o->system.solved[false] = o->system.solved[true] = false;
    o->system.made = true;
}

static struct solve solve_once(struct solves *o, const struct variant *v) {
    solver_reset(&o->system.solver, 1, v->way != HALO_NOTHING);
    return solver_run(&o->system.solver, v);
}

/* One line in error where a solve did not converge. */
static void describe_divergence(const struct solves *o, const struct variant *v, const struct solve *found, char *error,
                                size_t error_size) {
    if (!found->converged) {
        snprintf(error, error_size,
                 "%s, %" PRId64 " points, unknowns per point: %" PRId64
                 ": after %d iterations the residual is %.3g of the first one, not %.3g; raise "
                 "--max-iterations",
                 v->name, o->system.points, o->system.unknowns, found->iterations, solve_residual(found), o->tolerance);
    }
}

/* One line in error where the residuals of a variant differ from those of its reference, and must not. */
static void describe_difference(const struct variant *v, const struct solve *found, const struct solve *reference,
                                char *error, size_t error_size) {
    if (v->equivalent && found->history != reference->history) {
        snprintf(error, error_size,
                 "%s: its residuals differ from those of the version without overlap: after %d iterations it is %.17g, "
                 "and must be %.17g after %d: wrong data were exchanged",
                 v->name, found->iterations, solve_residual(found), solve_residual(reference), reference->iterations);
    }
}

/* Collective: returns how the reference of a variant ends; it is solved once for each system. */
static struct solve solve_reference(struct solves *o, const struct variant *v) {
    const bool exchanges = v->way != HALO_NOTHING;
    if (!o->system.solved[exchanges]) {
        const struct variant reference = variant_reference(v);
        const int64_t began = timer_now_ns();
        o->system.expected[exchanges] = solve_once(o, &reference);
        o->system.solve_ns = timer_now_ns() - began;
        MPI_CHECK(MPI_Bcast(&o->system.solve_ns, 1, MPI_INT64_T, 0, MPI_COMM_WORLD));
        o->system.solved[exchanges] = true;
    }
    return o->system.expected[exchanges];
}

/* Collective: solves the system once by a variant. */
static void try_variant(struct solves *o, const struct variant *v, bool prints, char *error, size_t error_size) {
    const struct solve reference = solve_reference(o, v);
    const struct solve found = solve_once(o, v);
    describe_difference(v, &found, &reference, error, error_size);
    describe_divergence(o, v, &found, error, error_size);
    group_share_error(error, error_size);
    if (prints && o->program->rank == 0) {
        printf("%11" PRId64 " %8" PRId64 "  %-16s %10d  %8.2e  %016" PRIx64 "  %-11s %8" PRId64 "\n", o->system.points,
               o->system.unknowns, v->name, found.iterations, solve_residual(&found), found.history,
               o->system.partition.method, o->system.facts.edge_cut);
    }
}

void solves_try(struct solves *o, bool prints, char *error, size_t error_size) {
    if (prints && o->program->rank == 0) {
        printf("%11s %8s  %-16s %10s  %8s  %-16s  %-11s %8s\n", "grid_points", "unknowns", "variant", "iterations",
               "residual", "history", "partitioner", "edge_cut");
    }
    for (size_t i = 0; i < o->grid_count && error[0] == '\0'; i++) {
        for (size_t j = 0; j < o->unknowns_count && error[0] == '\0'; j++) {
            make_system(o, o->grid_points[i], o->unknowns[j]);
            for (size_t k = 0; k < o->variant_count && error[0] == '\0'; k++) {
                try_variant(o, &variant_table[o->variants[k]], prints, error, error_size);
            }
        }
    }
    free_system(o);
}

/* ---- faults ---- */

/* Returns whether a solve ended as it must. factor: of its right side. Where the bits of the residual need not be those
 * of another solver, its size must do. */
static bool ended_well(const struct variant *v, const struct solve *found, const struct solve *expected,
                       double factor) {
    if (v->equivalent) {
        return found->iterations == expected->iterations && found->squared == factor * factor * expected->squared;
    }
    return found->converged && abs(found->iterations - expected->iterations) <= SOLVES_MORE_ITERATIONS;
}

static void note_fault(struct solves *o, int64_t count, const char *text) {
    if (o->faults == 0) {
        snprintf(o->fault, sizeof o->fault, "%s", text);
    }
    o->faults += count;
}

/* Collective: checks the last solve. */
static void check(struct solves *o, const struct variant *v, const struct solve *expected, double factor) {
    char text[sizeof o->fault];
    const int64_t ghosts = v->way != HALO_NOTHING ? solver_wrong_ghosts(&o->system.solver, v) : 0;
    if (!ended_well(v, &o->last, expected, factor)) {
        snprintf(text, sizeof text,
                 "%s: the solver ended after %d iterations with a squared residual of %.17g; it must be %d iterations "
                 "and %.17g: wrong data were exchanged",
                 v->name, o->last.iterations, o->last.squared, expected->iterations,
                 factor * factor * expected->squared);
        note_fault(o, 1, text);
    } else if (ghosts > 0) {
        snprintf(text, sizeof text,
                 "%s: %" PRId64 " values of other ranks are wrong at the end of a solve: wrong data "
                 "were exchanged",
                 v->name, ghosts);
        note_fault(o, ghosts, text);
    }
}

static bool wrong(void *context) {
    const struct solves *o = context;
    return o->faults > 0;
}

static int64_t count_faults(void *context, char *text, size_t text_size) {
    struct solves *o = context;
    const int64_t faults = o->faults;
    text[0] = '\0';
    if (faults > 0) {
        snprintf(text, text_size, "rank %d: %s", o->program->rank, o->fault);
    }
    return group_share_faults(faults, text, text_size);
}

/* ---- the parts of a repetition ---- */

static double scale_of(const struct solves *o) {
    return ldexp(1, (int)(o->repetition % SCALES));
}

static void prepare_alone(void *context) {
    struct solves *o = context;
    solver_reset(&o->system.solver, scale_of(o), false);
}

static void time_communication(void *context, start_line *line, struct repetition *r) {
    struct solves *o = context;
    start_spin(line);
    r->terms[COMMUNICATION_BEGIN] = start_moment(line);
    solver_communicate_alone(&o->system.solver, &o->point.reference, o->point.expected_of_reference.iterations,
                             o->point.variant.pipelined);
    r->terms[COMMUNICATION_END] = timer_now_ns();
}

static void time_computation(void *context, start_line *line, struct repetition *r) {
    struct solves *o = context;
    start_spin(line);
    solver_compute_alone(&o->system.solver, o->point.expected_of_reference.iterations);
    r->terms[COMPUTATION] = timer_now_ns() - start_moment(line);
}

/* One of the two solves that are compared. */
static void time_solve(struct solves *o, const struct variant *v, enum term begin, start_line *line,
                       struct repetition *r) {
    helper *h = o->program->helper;
    r->terms[START] = start_spin(line);
    r->terms[begin] = start_moment(line);
    if (h != NULL) {
        helper_progress(h, o->system.solver.halo.probed);
    }
    o->last = solver_run(&o->system.solver, v);
    r->terms[begin + 1] = timer_now_ns();
    if (h != NULL) {
        phase_enter(PHASE_HELPER);
        helper_rest(h);
    }
}

static void prepare_solve(void *context) {
    struct solves *o = context;
    o->repetition++;
    solver_reset(&o->system.solver, scale_of(o), o->point.variant.way != HALO_NOTHING);
}

static void time_reference(void *context, start_line *line, struct repetition *r) {
    struct solves *o = context;
    time_solve(o, &o->point.reference, REFERENCE_BEGIN, line, r);
}

static void time_variant(void *context, start_line *line, struct repetition *r) {
    struct solves *o = context;
    time_solve(o, &o->point.variant, VARIANT_BEGIN, line, r);
}

static void finish_reference(void *context) {
    struct solves *o = context;
    phase_enter(PHASE_CHECK);
    check(o, &o->point.reference, &o->point.expected_of_reference, scale_of(o));
}

static void finish_variant(void *context) {
    struct solves *o = context;
    phase_enter(PHASE_CHECK);
    check(o, &o->point.variant, &o->point.expected, scale_of(o));
}

static const struct repetition_part communication_part = {.prepare = prepare_alone, .time = time_communication};
static const struct repetition_part computation_part = {.prepare = prepare_alone, .time = time_computation};
static const struct repetition_part reference_part = {
    .prepare = prepare_solve, .time = time_reference, .finish = finish_reference};
static const struct repetition_part variant_part = {
    .prepare = prepare_solve, .time = time_variant, .finish = finish_variant};
static const struct repetition_part *const parts[] = {&communication_part, &computation_part, &reference_part,
                                                      &variant_part};

/* ---- points ---- */

static const struct variant *variant_of(const struct solves *o, const size_t at[SAMPLER_MOST_AXES]) {
    return &variant_table[o->variants[at[AXIS_VARIANT]]];
}

static double weight(void *context, const size_t at[SAMPLER_MOST_AXES]) {
    const struct solves *o = context;
    const double unknowns = (double)o->grid_points[at[AXIS_POINTS]] * (double)o->unknowns[at[AXIS_UNKNOWNS]];
    const int budgets = variant_is_control(variant_of(o, at)) ? CONTROL_BUDGETS : 1;
    return budgets * (SECONDS_PER_UNKNOWN * unknowns / o->program->ranks + 1e-3); /* starts and checks */
}

static bool begin(void *context, struct sampler_point *p) {
    struct solves *o = context;
    char fault[sizeof o->fault] = "";
    make_system(o, o->grid_points[p->at[AXIS_POINTS]], o->unknowns[p->at[AXIS_UNKNOWNS]]);
    o->point.variant = *variant_of(o, p->at);
    o->point.reference = variant_reference(&o->point.variant);
    phase_enter(PHASE_CALL);
    o->point.expected_of_reference = solve_reference(o, &o->point.variant);
    o->point.expected = solve_once(o, &o->point.variant);
    p->shortest_ns = o->system.solve_ns;
    describe_difference(&o->point.variant, &o->point.expected, &o->point.expected_of_reference, fault, sizeof fault);
    if (fault[0] != '\0') { /* the first repetition ends the run */
        note_fault(o, 1, fault);
        return true;
    }
    return o->point.expected.converged && o->point.expected_of_reference.converged;
}

/* ---- what the record has ---- */

struct row {
    int iterations;
    double residual;
    uint64_t history;
    int reference_iterations;
    double reference_residual;
    const char *partitioner;
    int64_t edge_cut;
    int64_t interface_points;
    double imbalance;
    int64_t messages;
    int64_t exchanged_bytes;
};

static void put_history(json_line *line, const char *name, const void *row) {
    char text[17];
    snprintf(text, sizeof text, "%016" PRIx64, ((const struct row *)row)->history);
    json_put_string(line, name, text);
}

static const struct field own_fields[] = {
    FIELD(struct row, iterations, "iterations of a solve by the version"),
    FIELD(struct row, residual, "norm of its last residual, relative to the first one"),
    FIELD_BY("history", put_history, "text",
             "digest (FNV-1a, 64 bits, in hexadecimal) of the bits of all squared residuals of the solve with the "
             "right side as it is: the same for all versions but pipelined and nothing, and for every number of ranks"),
    FIELD(struct row, reference_iterations, "iterations of a solve without overlap"),
    FIELD(struct row, reference_residual, "norm of its last residual, relative to the first one"),
    FIELD_ONE_OF(struct row, partitioner, partitioner_names,
                 "what divided the grid: bisection also where the library that was asked for could not"),
    FIELD(struct row, edge_cut, "edges of the grid between points of different ranks"),
    FIELD(struct row, interface_points, "points with such an edge, over all ranks"),
    FIELD(struct row, imbalance, "points of the largest part, relative to the mean"),
    FIELD(struct row, messages,
          "pairs of a rank and another one that it sends to: the messages of one exchange between pairs"),
    FIELD(struct row, exchanged_bytes, "bytes that all ranks send in one exchange"),
    FIELDS_END,
};

static void fill(void *context, const struct sampler_point *p, const sampler *s, void *row) {
    const struct solves *o = context;
    const struct domain_facts *facts = &o->system.facts;
    const bool exchanges = o->point.variant.way != HALO_NOTHING;
    *(struct row *)row = (struct row){
        .iterations = o->point.expected.iterations,
        .residual = solve_residual(&o->point.expected),
        .history = o->point.expected.history,
        .reference_iterations = o->point.expected_of_reference.iterations,
        .reference_residual = solve_residual(&o->point.expected_of_reference),
        .partitioner = o->system.partition.method,
        .edge_cut = facts->edge_cut,
        .interface_points = facts->interface_points,
        .imbalance = (double)facts->largest_part * o->program->ranks / (double)o->system.points,
        .messages = exchanges ? facts->messages : 0,
        .exchanged_bytes = exchanges ? facts->points_sent * o->system.unknowns * (int64_t)sizeof(double) : 0};
}

static void name_point(void *context, const struct sampler_point *p, char *text, size_t text_size) {
    const struct solves *o = context;
    snprintf(text, text_size, "%s, %" PRId64 " points, %" PRId64 " unknowns", variant_of(o, p->at)->name,
             o->grid_points[p->at[AXIS_POINTS]], o->unknowns[p->at[AXIS_UNKNOWNS]]);
}

enum { T_NONOVERLAP, T_OVERLAP, T_COMM, T_COMP, START_IMBALANCE, ORDER, LATE_STARTS, SERIES };
static const struct repetition_series series[SERIES] = {
    [T_NONOVERLAP] = {.name = "t_nonoverlap_ns",
                      .over = OVER_SPAN,
                      .term = REFERENCE_BEGIN,
                      .end = REFERENCE_END,
                      .stops = true,
                      .help =
                          "a whole solve that computes all, then exchanges; beside the version nothing it exchanges "
                          "nothing, either: max(end) - min(begin) over ranks"},
    [T_OVERLAP] = {.name = "t_overlap_ns",
                   .over = OVER_SPAN,
                   .term = VARIANT_BEGIN,
                   .end = VARIANT_END,
                   .stops = true,
                   .help = "a whole solve by the version, in the same repetition: max(end) - min(begin) over ranks"},
    [T_COMM] = {.name = "t_comm_ns",
                .over = OVER_SPAN,
                .term = COMMUNICATION_BEGIN,
                .end = COMMUNICATION_END,
                .help =
                    "the exchanges of a solve alone, for pipelined with its sums: max(end) - min(begin) over ranks"},
    [T_COMP] = {.name = "t_comp_ns",
                .over = OVER_LARGEST,
                .term = COMPUTATION,
                .help = "the computation of a solve alone, without MPI: the longest of the ranks' own durations"},
    [START_IMBALANCE] = {.name = "start_imbalance_ns",
                         .over = OVER_IMBALANCE,
                         .term = START,
                         .help =
                             "max(start) - min(start) over ranks of the later of the two solves; left out without a "
                             "clock"},
    [ORDER] = {.name = "order",
               .over = OVER_ORDER,
               .help = "in which order the parts ran, a digit each: 1 the exchanges, 2 the computation, 3 the solve "
                       "without overlap, 4 the version"},
    [LATE_STARTS] = {.name = "late_starts", .over = OVER_LATE},
};

/* 1 - improvement. */
static const struct samples_ratio time_ratio = {.numerator = T_OVERLAP, .denominator = T_NONOVERLAP, .width = 1};

const struct sampler_kind solves_points = {
    .samples.repeated = {.parts = parts,
                         .part_count = COUNT(parts),
                         .group = COUNT(parts),
                         .terms = TERMS,
                         .series = series,
                         .series_count = SERIES,
                         .wrong = wrong},
    .samples.ratio = &time_ratio,
    .weight = weight,
    .begin = begin,
    .faults = count_faults,
    .own = own_fields,
    .row_bytes = sizeof(struct row),
    .fill = fill,
    .name = name_point,
    .nothing = "no point was measured: the time was too short, or a solver did not converge; raise --budget-seconds or "
               "--max-iterations",
};

bool solves_end(struct program *program, void *context, char *reason, size_t reason_size) {
    free_system(context);
    return true;
}
