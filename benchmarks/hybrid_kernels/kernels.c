#include "kernels.h"

#include "bits.h"
#include "fail_hybrid.h"
#include "fail_mpi.h"
#include "group.h"
#include "phase.h"
#include "timer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct kernel *const kernel_table[KERNELS] = {&kernel_summa, &kernel_poisson, &kernel_bpmf};

const struct option_choice *kernel_choices(void) {
    static struct option_choice choices[KERNELS + 1];
    for (size_t i = 0; i < KERNELS; i++) {
        choices[i] = (struct option_choice){kernel_table[i]->name, kernel_table[i]->what};
    }
    return choices;
}

/* What each rank times in a repetition. START is when the rank left the first common start; HANDOVER_LEAST and
 * HANDOVER_MOST are of the hand-overs that are timed after each solve, ns; then come the begin and the end of each
 * solve, local times, and its computation, ns. */
enum { START, HANDOVER_LEAST, HANDOVER_MOST, FIRST_OF_SOLVE, TERMS = FIRST_OF_SOLVE + 3 * SOLVES };
#define BEGIN(solve) (FIRST_OF_SOLVE + 3 * (solve))
#define END(solve) (FIRST_OF_SOLVE + 3 * (solve) + 1)
#define COMPUTE(solve) (FIRST_OF_SOLVE + 3 * (solve) + 2)

static const char *const solve_names[SOLVES] = {"mpi", "openmp", "hybrid", "mpi again"};

static enum way way_of(int solve) {
    return solve == CONTROL ? WAY_MPI : (enum way)solve;
}

uint64_t kernel_digest_of(uint64_t number, double value) {
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    return bits_mix(number * BITS_STEP + bits_mix(bits + 1));
}

static bool has_size(const struct kernels *o, int64_t kernel, int64_t size) {
    for (size_t i = 0; i < o->of_kernel[kernel].count; i++) {
        if (o->of_kernel[kernel].values[i] == size) {
            return true;
        }
    }
    return false;
}

static struct problem problem_of(const struct kernels *o, int64_t size) {
    struct problem problem = o->problem;
    problem.size = size;
    return problem;
}

/* Collective: one line in error, the same on all ranks, where the shared memory of a node has no room for the windows
 * of the kernel. They are tried as one window. */
static void check_windows(const struct kernels *o, const struct kernel *kernel, const struct problem *problem,
                          char *error, size_t error_size) {
    hybrid_memory *trial = NULL;
    int64_t bytes = kernel->windows(&o->crew, problem);
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_INT64_T, MPI_SUM, o->crew.node));
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD));
    if (hybrid_memory_create_buffers(o->crew.hybrid, (size_t)bytes, 1, HYBRID_ONE, 1, &trial) == MPI_SUCCESS) {
        HYBRID_CHECK(hybrid_memory_free(&trial));
        return;
    }
    char reason[512];
    hybrid_last_error(reason, sizeof reason);
    snprintf(error, error_size, "--%s: %s of size %" PRId64 ": %s: choose a smaller size", kernel->option, kernel->name,
             problem->size, reason);
}

static void check_one(const struct kernels *o, const struct kernel *kernel, int64_t size, char *error,
                      size_t error_size) {
    const struct problem problem = problem_of(o, size);
    const uint64_t fits = o->program->memory_bytes;
    kernel->check(&o->crew, &problem, error, error_size);
    const double bytes = error[0] == '\0' ? kernel->bytes(&o->crew, &problem) : 0;
    if (fits > 0 && bytes > (double)fits / 2) {
        snprintf(error, error_size,
                 "--%s: %s of size %" PRId64
                 " needs up to %.0f MB per rank; half of a rank's share of memory is %.0f MB: "
                 "choose a smaller size",
                 kernel->option, kernel->name, size, bytes / 1e6, (double)fits / 2e6);
    }
    if (error[0] == '\0' && kernel->windows != NULL) {
        check_windows(o, kernel, &problem, error, error_size);
    }
}

void kernels_check(const struct kernels *o, char *error, size_t error_size) {
    for (size_t i = 0; i < o->chosen_count; i++) {
        const struct option_list *sizes = &o->of_kernel[o->chosen[i]];
        for (size_t j = 0; j < sizes->count && error[0] == '\0'; j++) {
            check_one(o, kernel_table[o->chosen[i]], sizes->values[j], error, error_size);
        }
    }
}

/* ---- one solve ---- */

static bool takes_part(const struct kernels *o, enum way way) {
    return crew_comm(&o->crew, way) != MPI_COMM_NULL;
}

/* What the processes of a way do, or the threads of its only process. */
struct task {
    const struct kernel *kernel;
    enum way way;
    void *state;
};

static void fill_in_team(void *context, struct team *team, int thread, struct crew_times *times) {
    const struct task *task = context;
    task->kernel->fill(task->state, team, thread);
}

static void settle_in_team(void *context, struct team *team, int thread, struct crew_times *times) {
    const struct task *task = context;
    struct stopwatch w = stopwatch_start();
    task->kernel->reset(task->state, team, thread, true);
    team_meet(team);
    task->kernel->solve[task->way](task->state, team, thread, &w);
    team_meet(team);
    task->kernel->reset(task->state, team, thread, false);
}

static void solve_in_team(void *context, struct team *team, int thread, struct crew_times *times) {
    const struct task *task = context;
    struct stopwatch w = stopwatch_start();
    task->kernel->solve[task->way](task->state, team, thread, &w);
    if (thread == 0) {
        *times = (struct crew_times){.began = w.began, .ended = w.since, .compute = w.compute};
    }
}

/* All ranks. Those that take no part sleep meanwhile. */
static struct crew_times work(struct kernels *o, enum way way, crew_work *of_team, bool *pinned) {
    struct task task = {o->point.kernel, way, o->point.states[way]};
    struct crew_times times = {0};
    if (way == WAY_OPENMP) {
        return crew_run_threads(&o->crew, of_team, &task, pinned);
    }
    of_team(&task, NULL, 0, &times);
    return times;
}

static void note_fault(struct kernels *o, int solve, const char *what) {
    if (o->faults++ == 0) {
        snprintf(o->fault, sizeof o->fault, "%s of size %" PRId64 ", variant %s: %s", o->point.kernel->name,
                 o->point.problem.size, solve_names[solve], what);
    }
}

/* Those that take part: checks how a solve ended. expected NULL: against the kernel's reference alone. */
static struct kernel_end check_end(struct kernels *o, enum way way, int solve, const struct kernel_end *expected) {
    const struct kernel_end found = o->point.kernel->end(o->point.states[way]);
    char what[256];
    if (!found.right) {
        snprintf(what, sizeof what, "its result is wrong: %s is %.17g after %" PRId64 " iterations",
                 o->point.kernel->error_help, found.error, found.iterations);
        note_fault(o, solve, what);
    } else if (expected != NULL && (found.digest != expected->digest || found.iterations != expected->iterations)) {
        snprintf(what, sizeof what,
                 "its result differs from that of the first solve: digest %016" PRIx64 " after %" PRId64
                 " iterations, and must be %016" PRIx64 " after %" PRId64,
                 found.digest, found.iterations, expected->digest, expected->iterations);
        note_fault(o, solve, what);
    }
    return found;
}

/* ---- the parts of a repetition ---- */

/* After this caches are as a solve of this way leaves them, and not as the solve before did. */
static void settle(struct kernels *o, int solve) {
    bool pinned = true;
    phase_enter(PHASE_CALL);
    work(o, way_of(solve), settle_in_team, &pinned);
}

static void time_solve(struct kernels *o, int solve, start_line *line, struct repetition *r) {
    bool pinned = true;
    const int64_t start = start_spin(line);
    r->terms[START] = r->turn == 0 ? start : r->terms[START];
    phase_enter(PHASE_CALL);
    const struct crew_times times = work(o, way_of(solve), solve_in_team, &pinned);
    r->terms[BEGIN(solve)] = times.began;
    r->terms[END(solve)] = times.ended;
    r->terms[COMPUTE(solve)] = times.compute;
    handover_note(o->between_cores, r->turn == 0, &o->point.handovers);
    r->terms[HANDOVER_LEAST] = o->point.handovers.least;
    r->terms[HANDOVER_MOST] = o->point.handovers.most;
}

static void finish_solve(struct kernels *o, int solve) {
    phase_enter(PHASE_CHECK);
    if (takes_part(o, way_of(solve))) {
        check_end(o, way_of(solve), solve, &o->point.expected);
    }
}

#define PART(name, solve)                                                                                              \
    static void settle_##name(void *context) {                                                                         \
        settle(context, solve);                                                                                        \
    }                                                                                                                  \
    static void time_##name(void *context, start_line *line, struct repetition *r) {                                   \
        time_solve(context, solve, line, r);                                                                           \
    }                                                                                                                  \
    static void finish_##name(void *context) {                                                                         \
        finish_solve(context, solve);                                                                                  \
    }                                                                                                                  \
    static const struct repetition_part name = {.prepare = settle_##name, .time = time_##name, .finish = finish_##name};

PART(mpi_part, WAY_MPI)
PART(openmp_part, WAY_OPENMP)
PART(hybrid_part, WAY_HYBRID)
PART(control_part, CONTROL)

static const struct repetition_part *const parts[SOLVES] = {
    [WAY_MPI] = &mpi_part, [WAY_OPENMP] = &openmp_part, [WAY_HYBRID] = &hybrid_part, [CONTROL] = &control_part};

static bool wrong(void *context) {
    const struct kernels *o = context;
    return o->faults > 0;
}

/* ---- points ---- */

static bool has_point(void *context, const size_t at[SAMPLER_MOST_AXES]) {
    const struct kernels *o = context;
    return has_size(o, o->chosen[at[AXIS_KERNEL]], o->sizes[at[AXIS_SIZE]]);
}

/* All ranks. */
static void make_state(struct kernels *o, enum way way) {
    bool pinned = true;
    o->point.states[way] = takes_part(o, way) ? o->point.kernel->create(&o->crew, way, &o->point.problem) : NULL;
    work(o, way, fill_in_team, &pinned);
}

static void free_state(struct kernels *o, enum way way) {
    if (o->point.states[way] != NULL) {
        o->point.kernel->free(o->point.states[way]);
        o->point.states[way] = NULL;
    }
}

/* All ranks: makes a state, solves once with it, and checks the result. The first of all solves says what the others
 * must end with. */
static struct crew_times make_and_solve(struct kernels *o, enum way way, bool first, bool *pinned) {
    make_state(o, way);
    const struct crew_times times = work(o, way, solve_in_team, pinned);
    if (takes_part(o, way)) {
        const struct kernel_end end = check_end(o, way, way, first ? NULL : &o->point.expected);
        o->point.expected = first ? end : o->point.expected;
    }
    return times;
}

/* Collective: returns the largest value of all ranks. */
static int64_t largest_of_ranks(int64_t own) {
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &own, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD));
    return own;
}

static int64_t difference_of(int64_t after, int64_t before) {
    return after < 0 || before < 0 ? -1 : after > before ? after - before : 0;
}

/* Collective: returns what a way needs of memory now, on the node where it needs most. */
static struct memory_use weigh(const struct kernels *o, enum way way) {
    const struct memory_use use = memory_use_of_node(o->crew.node, takes_part(o, way));
    return (struct memory_use){.proportional = largest_of_ranks(use.proportional),
                               .resident = largest_of_ranks(use.resident),
                               .shared = largest_of_ranks(use.shared)};
}

/* Collective: solves once with a state, and notes what memory that takes, and the data of which a node could have one
 * copy. */
static void weigh_solve(struct kernels *o, enum way way) {
    bool pinned = true;
    int64_t bytes[] = {0, 0}; /* replicated; of one copy */
    struct way_memory *memory = &o->point.memory[way];
    const struct memory_use before = weigh(o, way);
    make_and_solve(o, way, false, &pinned);
    const struct memory_use after = weigh(o, way);
    void *state = o->point.states[way];
    if (state != NULL) {
        const struct kernel_bytes own = o->point.kernel->replicated(state);
        bytes[0] = own.replicated;
        bytes[1] = own.one_copy;
    }
    if (state != NULL && o->point.kernel->drop != NULL) {
        o->point.kernel->drop(state);
    }
    const struct memory_use without = weigh(o, way);
    free_state(o, way);
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, bytes, 2, MPI_INT64_T, MPI_SUM, o->crew.node));
    memory->growth = difference_of(after.proportional, before.proportional);
    memory->shared = after.shared;
    memory->replicated = largest_of_ranks(bytes[0]);
    memory->dropped = o->point.kernel->drop == NULL ? 0 : difference_of(after.proportional, without.proportional);
    o->point.copy_bytes = way == WAY_HYBRID ? largest_of_ranks(bytes[1]) : o->point.copy_bytes;
    o->point.pinned = way == WAY_OPENMP ? largest_of_ranks(!pinned) == 0 : o->point.pinned;
}

/* Collective: whether the point is repeated. Where only memory is measured, a repetition tells of a wrong result. */
static bool is_repeated(const struct kernels *o) {
    return largest_of_ranks(o->faults) > 0 || !o->memory_only;
}

static bool may_be_empty(void *context) {
    const struct kernels *o = context;
    return o->memory_only;
}

static bool begin(void *context, struct sampler_point *p) {
    struct kernels *o = context;
    bool pinned = true;
    if (p->beginnings > 0) {
        return is_repeated(o);
    }
    o->point.kernel = kernel_table[o->chosen[p->at[AXIS_KERNEL]]];
    o->point.problem = problem_of(o, o->sizes[p->at[AXIS_SIZE]]);
    crew_look(&o->crew);
    phase_collective(o->point.kernel->collective);
    phase_enter(PHASE_CALL);
    memory_use_begin();
    /* A solve of each way whose memory does not count: libraries and threads allocate what they need once. */
    p->shortest_ns = INT64_MAX;
    for (int way = 0; way < WAYS; way++) {
        const struct crew_times times = make_and_solve(o, (enum way)way, way == WAY_MPI, &pinned);
        const int64_t taken_ns = times.ended - times.began;
        p->shortest_ns = taken_ns < p->shortest_ns ? taken_ns : p->shortest_ns;
        free_state(o, (enum way)way);
    }
    MPI_CHECK(MPI_Bcast(&p->shortest_ns, 1, MPI_INT64_T, 0, MPI_COMM_WORLD));
    for (int way = 0; way < WAYS; way++) {
        o->point.memory[way].before = weigh(o, (enum way)way);
    }
    for (int way = 0; way < WAYS; way++) {
        weigh_solve(o, (enum way)way);
    }
    const bool repeated = is_repeated(o);
    for (int way = 0; way < WAYS && repeated; way++) {
        make_state(o, (enum way)way);
    }
    memory_use_end();
    return repeated;
}

static void end_point(void *context, const struct sampler_point *p) {
    struct kernels *o = context;
    for (int way = 0; way < WAYS; way++) {
        free_state(o, (enum way)way);
    }
}

static int64_t count_faults(void *context, char *text, size_t text_size) {
    struct kernels *o = context;
    const int64_t faults = o->faults;
    snprintf(text, text_size, "%s", o->fault);
    return group_share_faults(faults, text, text_size);
}

/* ---- what the record has ---- */

struct of_way {
    int lines;
    int64_t memory_bytes;
    int64_t growth_bytes;
    int64_t shared_bytes;
    int64_t replicated_bytes;
    int64_t replicated_pss_bytes;
};
static const struct field way_fields[] = {
    FIELD(struct of_way, lines,
          "lines of source with which this variant makes, uses and frees what not all variants need"),
    FIELD_OR_NULL(struct of_way, memory_bytes,
                  "PSS of the processes that compute, on the node where they need most; null: the kernel of the system "
                  "does not tell"),
    FIELD_OR_NULL(struct of_way, growth_bytes, "how much of it the kernel's data and a solve added"),
    FIELD_OR_NULL(struct of_way, shared_bytes, "pages that several processes of the node have"),
    FIELD(struct of_way, replicated_bytes, "allocated on that node for data that several of its ranks need"),
    FIELD_OR_NULL(struct of_way, replicated_pss_bytes, "how much less PSS there is when these data are freed"),
    FIELDS_END,
};

struct of_ways {
    struct of_way mpi;
    struct of_way openmp;
    struct of_way hybrid;
};
static const struct field ways_fields[] = {
    FIELD_STRUCT(struct of_ways, mpi, way_fields, "a process per core, and the MPI library's collectives"),
    FIELD_STRUCT(struct of_ways, openmp, way_fields, "a process per node with a thread on the core of each rank"),
    FIELD_STRUCT(struct of_ways, hybrid, way_fields,
                 "a process per core, and collectives that keep one copy of the data per node"),
    FIELDS_END,
};

struct row {
    int64_t iterations;
    double error;
    uint64_t digest;
    const char *collective;
    int64_t copy_bytes;
    bool pinned;
    struct of_ways variants;
};

static void put_digest(json_line *line, const char *name, const void *row) {
    char text[17];
    snprintf(text, sizeof text, "%016" PRIx64, ((const struct row *)row)->digest);
    json_put_string(line, name, text);
}

static const char *const collectives[] = {"MPI_Bcast", "MPI_Allreduce", "MPI_Allgather", NULL};
static const struct field own_fields[] = {
    FIELD(struct row, iterations, "of the kernel's own loop; summa: 1"),
    FIELD(
        struct row, error,
        "summa: largest difference between C x and A (B x), whole numbers; poisson: largest difference from the exact "
        "grid; bpmf: root mean square error of the ratings that were left out"),
    FIELD_BY("digest", put_digest, "text",
             "of all bits of the result, 64 bits, in hexadecimal; the same in every variant"),
    FIELD_ONE_OF(struct row, collective, collectives, "the collective that is timed"),
    FIELD(
        struct row, copy_bytes,
        "one copy on the node of each piece of data that several ranks need, on the node that needs most; 0: there is "
        "none"),
    FIELD(struct row, pinned, "whether each thread of openmp ran on one CPU of its own"),
    FIELD_STRUCT(struct row, variants, ways_fields, "what each variant needs"),
    FIELDS_END,
};

static struct of_way way_row(const struct kernels *o, enum way way) {
    const struct way_memory *memory = &o->point.memory[way];
    const int64_t before = memory->before.proportional;
    return (struct of_way){.lines = o->point.kernel->lines[way],
                           .memory_bytes = before < 0 || memory->growth < 0 ? -1 : before + memory->growth,
                           .growth_bytes = memory->growth,
                           .shared_bytes = memory->shared,
                           .replicated_bytes = memory->replicated,
                           .replicated_pss_bytes = memory->dropped};
}

static void fill(void *context, const struct sampler_point *p, const sampler *s, void *row) {
    const struct kernels *o = context;
    *(struct row *)row =
        (struct row){.iterations = o->point.expected.iterations,
                     .error = o->point.expected.error,
                     .digest = o->point.expected.digest,
                     .collective = o->point.kernel->collective,
                     .copy_bytes = o->point.copy_bytes,
                     .pinned = o->point.pinned,
                     .variants = {way_row(o, WAY_MPI), way_row(o, WAY_OPENMP), way_row(o, WAY_HYBRID)}};
}

static void name_point(void *context, const struct sampler_point *p, char *text, size_t text_size) {
    const struct kernels *o = context;
    snprintf(text, text_size, "%s of size %" PRId64, kernel_table[o->chosen[p->at[AXIS_KERNEL]]]->name,
             o->sizes[p->at[AXIS_SIZE]]);
}

/* ---- the table for people ---- */

static void print_head(void *context) {
    const struct kernels *o = context;
    if (o->memory_only) {
        printf("# memory only, and no times: bytes of the node that needs most; - where the kernel does not tell\n");
        printf("%8s %8s %9s %16s %16s %16s %6s %10s  %s\n", "kernel", "size", "variant", "growth_bytes",
               "replicated_bytes", "copy_bytes", "iters", "error", "stop");
        return;
    }
    printf("# medians, ns; ratio: to the MPI variant, of the medians\n");
    printf("%8s %8s %9s %14s %14s %6s %6s %10s %5s  %s\n", "kernel", "size", "variant", "t", "t_compute", "ratio",
           "iters", "error", "reps", "stop");
}

/* What the variant takes; bytes that are not known are a dash. */
static void print_memory(const struct kernels *o, int way) {
    const int64_t bytes[] = {o->point.memory[way].growth, o->point.memory[way].replicated, o->point.copy_bytes};
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        if (bytes[i] < 0) {
            printf(" %16s", "-");
        } else {
            printf(" %16" PRId64, bytes[i]);
        }
    }
}

/* The times of a solve; nothing without repetitions. */
static void print_times(const samples *repeated, int solve, bool measured) {
    if (!measured) {
        printf(" %14s %14s %6s", "-", "-", "-");
        return;
    }
    const int64_t t = samples_median(repeated, 2 * (size_t)solve);
    printf(" %14" PRId64 " %14" PRId64 " %6.3f", t, samples_median(repeated, 2 * (size_t)solve + 1),
           (double)t / (double)samples_median(repeated, 0));
}

static void print_row(void *context, const struct sampler_point *p, const sampler *s,
                      const struct record_point *record) {
    const struct kernels *o = context;
    for (int solve = 0; solve < (o->memory_only ? WAYS : SOLVES); solve++) {
        printf("%8s %8" PRId64 " %9s", o->point.kernel->name, o->point.problem.size, solve_names[solve]);
        if (o->memory_only) {
            print_memory(o, solve);
        } else {
            print_times(sampler_samples(s), solve, record->repetitions > 0);
        }
        printf(" %6" PRId64 " %10.3g", o->point.expected.iterations, o->point.expected.error);
        if (!o->memory_only) {
            printf(" %5zu", record->repetitions);
        }
        printf("  %s%s\n", record->stop_reason, record->data_errors > 0 ? " WRONG-DATA" : "");
    }
    fflush(stdout);
}

#define SPAN(solve, name_ns, compute_ns, stops_point, who)                                                             \
    {.name = (name_ns),                                                                                                \
     .over = OVER_SPAN,                                                                                                \
     .term = BEGIN(solve),                                                                                             \
     .end = END(solve),                                                                                                \
     .stops = (stops_point),                                                                                           \
     .help = "a solve by " who ": max(end) - min(begin) over ranks"},                                                  \
        {.name = (compute_ns),                                                                                         \
         .over = OVER_LARGEST,                                                                                         \
         .term = COMPUTE(solve),                                                                                       \
         .help = "a solve by " who ": the computation of the rank that computed longest"}

/* print_times knows their order. */
static const struct repetition_series series[] = {
    SPAN(WAY_MPI, "t_mpi_ns", "t_mpi_compute_ns", true, "mpi"),
    SPAN(WAY_OPENMP, "t_openmp_ns", "t_openmp_compute_ns", true, "openmp"),
    SPAN(WAY_HYBRID, "t_hybrid_ns", "t_hybrid_compute_ns", true, "hybrid"),
    SPAN(CONTROL, "t_mpi_again_ns", "t_mpi_again_compute_ns", false, "the control, mpi once more with the same data"),
    {.name = "handover_least_ns",
     .over = OVER_LARGEST,
     .term = HANDOVER_LEAST,
     .help = "the least time in which ranks of a node handed a cache line to each other, of those after each solve; 0: "
             "no two ranks share a node"},
    {.name = "handover_most_ns", .over = OVER_LARGEST, .term = HANDOVER_MOST, .help = "the most time of these"},
    {.name = "order",
     .over = OVER_ORDER,
     .help = "in which order the solves ran, a digit each: 1 mpi, 2 openmp, 3 hybrid, 4 the control"},
    {.name = "late_starts", .over = OVER_LATE},
    {.name = "start_imbalance_ns",
     .over = OVER_IMBALANCE,
     .term = START,
     .help = "max(start) - min(start) over ranks of the first solve; left out without a clock"},
};

const struct sampler_kind kernels_points = {
    .samples = {.repeated = {.parts = parts,
                             .part_count = COUNT(parts),
                             .group = COUNT(parts),
                             .terms = TERMS,
                             .series = series,
                             .series_count = COUNT(series),
                             .wrong = wrong}},
    .has_point = has_point,
    .begin = begin,
    .end = end_point,
    .faults = count_faults,
    .own = own_fields,
    .row_bytes = sizeof(struct row),
    .fill = fill,
    .may_be_empty = may_be_empty,
    .name = name_point,
    .print_head = print_head,
    .print_row = print_row,
};
