#include "batches.h"

#include "barrier.h"
#include "calls.h"
#include "cpu_time.h"
#include "fail_mpi.h"
#include "group.h"
#include "node_time.h"
#include "phase.h"
#include "timer.h"
#include "topology.h"
#include "work.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What each rank times in a repetition, of a whole batch. BEGIN and END are local times; START is when the rank left
 * the common start. Those with REFERENCE are of the reference. */
enum term {
    START,
    BEGIN,
    END,
    WALL,
    CPU,
    THREAD_CPU,
    USER,
    SYSTEM,
    VOLUNTARY,
    INVOLUNTARY,
    SOAKED,
    REFERENCE_BEGIN,
    REFERENCE_END,
    REFERENCE_CPU,
    WORK,
    NODE_WINDOW, /* those with NODE are of a window: from before the common start until all ranks have made their calls
                  */
    NODE_BUSY,
    NODE_SOFTIRQ,
    NODE_RANKS,
    TERMS
};

/* A batch takes at least this long, and so many steps of the CPU clock; a clock with long steps must not make it longer
 * than the last value. */
enum { LEAST_BATCH_NS = 10000000, LEAST_STEPS = 200, MOST_BATCH_NS = 1000000000 };

/* The bisection, in millionths of the time of the collective: it begins between no work and so much that the collective
 * with it takes longer in any case. A collective grows where it takes GROWTH longer; the table decides again, with
 * intervals (postprocess). */
enum { WHOLE = 1000000, MOST_SHARE = 1250000 };
static const double growth = 1.05;

int64_t batches_target_ns(int64_t cpu_clock_step_ns) {
    const int64_t resolved = LEAST_STEPS * cpu_clock_step_ns;
    return resolved < LEAST_BATCH_NS ? LEAST_BATCH_NS : resolved > MOST_BATCH_NS ? MOST_BATCH_NS : resolved;
}

uint64_t batches_most_bytes(const struct program *program, const struct collective *collective) {
    const uint64_t counted = collective_most_bytes(collective, program->ranks);
    const uint64_t fits = program->memory_bytes / 2 / collective_most_blocks(collective, program->ranks);
    return program->memory_bytes > 0 && fits < counted ? fits : counted;
}

/* ---- the communicator ---- */

/* Collective: makes the communicator of so many ranks, and the buffers of those. */
static void use_communicator(struct batches *o, size_t index) {
    if (o->has_comm && o->comm_index == index) {
        return;
    }
    exchange_destroy(o->exchange);
    o->exchange = NULL;
    if (o->comm != MPI_COMM_NULL) {
        MPI_CHECK(MPI_Comm_free(&o->comm));
    }
    const bool member = o->program->rank < o->communicators[index];
    MPI_CHECK(MPI_Comm_split(MPI_COMM_WORLD, member ? 0 : MPI_UNDEFINED, o->program->rank, &o->comm));
    o->comm_index = index;
    o->has_comm = true;
    if (member) {
        MPI_CHECK(MPI_Comm_set_errhandler(o->comm, MPI_ERRORS_RETURN));
        o->exchange = exchange_create(o->comm, o->seed, false, o->program->memory_bytes);
    }
}

/* ---- a batch ---- */

/* A collective without data has one point, of 0 bytes. */
static int64_t message_of(const struct batches *o, const size_t at[AXES]) {
    return collective_has_message(&o->blocking[at[AXIS_OPERATION]]) ? o->message_bytes[at[AXIS_MESSAGE]] : 0;
}

static const struct way *way_of(const struct batches *o, const size_t at[AXES]) {
    return &way_table[o->ways[at[AXIS_WAY]]];
}

static const struct way *reference_way(const struct way *way) {
    return way->once ? way : &way_table[way->works ? WAY_NONBLOCKING : WAY_BLOCKING];
}

/* By how much the last rank comes late; 0 where none does. */
static int64_t lateness_of(const struct batches *o, const size_t at[AXES]) {
    return way_of(o, at)->late ? o->lateness_ns[at[AXIS_LATENESS]] : 0;
}

/* The rank that comes late to the calls of `late`. */
static bool is_late(const struct batches *o) {
    return o->point.way->late && o->program->rank + 1 == o->communicators[o->cell.at[AXIS_COMMUNICATOR]];
}

static void spend(struct batches *o, const struct way *way, int64_t calls) {
    for (int64_t i = 0; i < calls; i++) {
        way->spend(o->exchange, o->point.units);
    }
}

struct calls_of_way {
    struct batches *o;
    const struct way *way;
};

static void make_calls(void *context, int64_t calls) {
    const struct calls_of_way *made = context;
    spend(made->o, made->way, calls);
}

/* Collective over the point's ranks: searches the number of calls of a batch, unless it is given. */
static struct batches_found search_calls(struct batches *o, const struct way *way) {
    struct calls_of_way made = {o, way};
    struct batches_found found = {.calls = way->once || way->late ? 1 : o->calls};
    if (found.calls > 0) {
        spend(o, way, 1); /* connections and buffers are made */
        found.time_ns = calls_time(o->comm, make_calls, &made, o->target_ns, found.calls);
    } else {
        found.calls = calls_search(o->comm, make_calls, &made, o->target_ns, &found.time_ns);
    }
    return found;
}

/* Collective over the point's ranks: the calls of a batch of a way, searched once for all points of an operation,
 * communicator and size. */
static struct batches_found calls_of(struct batches *o, const struct way *way, const struct collective *collective) {
    struct batches_found *found = &o->found[way - way_table];
    if (found->calls == 0) {
        exchange_prepare(o->exchange, collective, o->point.message_bytes);
        *found = search_calls(o, way);
        exchange_check(o->exchange);
    }
    return *found;
}

/* What was searched for another cell is forgotten. */
static void forget_calls(struct batches *o) {
    if (memcmp(o->found_for, o->cell.at, sizeof o->found_for) != 0) {
        memcpy(o->found_for, o->cell.at, sizeof o->found_for);
        memset(o->found, 0, sizeof o->found);
    }
}

/* ---- the parts of a repetition ---- */

static void prepare_reference(void *context) {
    struct batches *o = context;
    if (o->point.way->soaks) {
        soaker_rest(o->soaker); /* it is awake where this part is done again */
    }
    exchange_prepare(o->exchange, o->point.reference, o->point.message_bytes);
}

static void time_reference(void *context, start_line *line, struct repetition *r) {
    struct batches *o = context;
    start_spin(line);
    phase_enter(PHASE_CALL);
    const struct cpu_time before = cpu_time_now();
    r->terms[REFERENCE_BEGIN] = timer_now_ns();
    spend(o, reference_way(o->point.way), o->point.reference_calls);
    r->terms[REFERENCE_END] = timer_now_ns();
    r->terms[REFERENCE_CPU] = cpu_time_now().process_ns - before.process_ns;
}

static void prepare_way(void *context) {
    struct batches *o = context;
    exchange_prepare(o->exchange, o->point.own, o->point.message_bytes);
    if (o->point.way->soaks) {
        soaker_wake(o->soaker);
    }
}

static int64_t soaked_ns(const struct batches *o) {
    return o->point.way->soaks ? soaker_cpu_ns(o->soaker) : 0;
}

/* The node beside its ranks: rank 0 reads the CPU time of its machine, and each rank its own, before the common start,
 * which waits for that, and after a barrier that follows the batch. So the window of the machine and those of the ranks
 * begin and end together, also where some ranks have made their calls much earlier than others. The single call of
 * `once` has no window: it is too short. */
struct node_look {
    int64_t at;
    int64_t process_ns;
    struct node_time node;
};

static struct node_look look_at_node(const struct batches *o) {
    return (struct node_look){.at = timer_now_ns(),
                              .process_ns = cpu_time_now().process_ns,
                              .node = o->program->rank == 0 ? node_time_now() : (struct node_time){0}};
}

/* Collective over the point's ranks. */
static void close_window(const struct batches *o, const struct node_look *opened, struct repetition *r) {
    if (o->point.way->once) {
        r->terms[NODE_WINDOW] = r->terms[NODE_BUSY] = r->terms[NODE_SOFTIRQ] = r->terms[NODE_RANKS] = 0;
        return;
    }
    barrier_disseminate(o->comm);
    const struct node_look closed = look_at_node(o);
    r->terms[NODE_WINDOW] = o->program->rank == 0 ? closed.at - opened->at : 0;
    r->terms[NODE_BUSY] = closed.node.busy_ns - opened->node.busy_ns;
    r->terms[NODE_SOFTIRQ] = closed.node.softirq_ns - opened->node.softirq_ns;
    r->terms[NODE_RANKS] = o->on_first_machine ? closed.process_ns - opened->process_ns : 0;
}

static void time_way(void *context, start_line *line, struct repetition *r) {
    struct batches *o = context;
    const struct node_look opened = look_at_node(o);
    r->terms[START] = start_spin(line);
    phase_enter(PHASE_CALL);
    const int64_t soaked_before = soaked_ns(o);
    const struct cpu_time before = cpu_time_now();
    r->terms[BEGIN] = timer_now_ns();
    spend(o, o->point.way, o->point.calls);
    r->terms[END] = timer_now_ns();
    const struct cpu_time after = cpu_time_now();
    const int64_t soaked = soaked_ns(o) - soaked_before;
    if (o->point.way->soaks) {
        soaker_rest(o->soaker);
    }
    close_window(o, &opened, r);
    r->terms[WALL] = r->terms[END] - r->terms[BEGIN];
    /* Of a call for which a rank comes late, only what waiting costs the others counts. */
    const bool waits = !is_late(o);
    r->terms[CPU] = waits ? after.process_ns - before.process_ns - soaked : 0;
    r->terms[THREAD_CPU] = waits ? after.thread_ns - before.thread_ns : 0;
    /* The kernel counts the soaker's own code, and the work of a late rank, with the rest. */
    const bool divided = !o->point.way->soaks && !o->point.way->late;
    r->terms[USER] = divided ? after.user_ns - before.user_ns : 0;
    r->terms[SYSTEM] = divided ? after.system_ns - before.system_ns : 0;
    r->terms[VOLUNTARY] = waits ? after.voluntary - before.voluntary : 0;
    r->terms[INVOLUNTARY] = waits ? after.involuntary - before.involuntary : 0;
    r->terms[SOAKED] = soaked;
}

static void check(void *context) {
    struct batches *o = context;
    phase_enter(PHASE_CHECK);
    exchange_check(o->exchange);
}

/* The same work without a collective. */
static void time_work(void *context, start_line *line, struct repetition *r) {
    const struct batches *o = context;
    start_spin(line);
    phase_enter(PHASE_COMPUTATION_ALONE);
    const bool works = o->point.units > 0;
    const int64_t began = timer_now_ns();
    for (int64_t i = 0; i < (works ? o->point.calls : 0); i++) {
        work_do(o->point.units);
    }
    r->terms[WORK] = works ? timer_now_ns() - began : 0;
}

static const struct repetition_part reference_part = {
    .prepare = prepare_reference, .time = time_reference, .finish = check};
static const struct repetition_part way_part = {.prepare = prepare_way, .time = time_way, .finish = check};
static const struct repetition_part work_part = {.time = time_work};
static const struct repetition_part *const parts[] = {&reference_part, &way_part, &work_part};

static bool wrong(void *context) {
    const struct batches *o = context;
    return exchange_faults(o->exchange) > 0;
}

/* ---- points ---- */

static bool is_detailed(const struct batches *o, const size_t at[AXES]) {
    const int64_t message_bytes = message_of(o, at);
    bool found = message_bytes == 0;
    for (size_t i = 0; i < o->detailed_count; i++) {
        found = found || o->detailed[i] == message_bytes;
    }
    return found;
}

/* The smallest of the sizes for which other ways than `blocking` are measured. A collective without data has one. */
static bool is_first_detailed(const struct batches *o, const size_t at[AXES]) {
    bool found = is_detailed(o, at);
    for (size_t i = 0; i < o->detailed_count; i++) {
        found = found && o->detailed[i] >= message_of(o, at);
    }
    return found || message_of(o, at) == 0;
}

static bool is_point(const struct batches *o, const size_t at[AXES]) {
    const struct collective *collective = &o->blocking[at[AXIS_OPERATION]];
    const struct way *way = way_of(o, at);
    /* The wait for a late rank is over before the data move: longer ones are measured with one size. */
    if (at[AXIS_LATENESS] > 0 && !(way->late && is_first_detailed(o, at))) {
        return false;
    }
    if (!collective_has_message(collective) && at[AXIS_MESSAGE] > 0) {
        return false;
    }
    if (o->preset && (uint64_t)message_of(o, at) > batches_most_bytes(o->program, collective)) {
        return false;
    }
    if (way->nonblocking && !o->nonblocking[at[AXIS_OPERATION]].available) {
        return false;
    }
    const struct operation *operation = o->operations[at[AXIS_OPERATION]];
    if ((way->once && !operation->modelled) || (way->late && !operation->waits_for_all)) {
        return false;
    }
    const bool all_ranks = at[AXIS_COMMUNICATOR] + 1 == o->communicator_count;
    return way->once || way == &way_table[WAY_BLOCKING] || (all_ranks && is_detailed(o, at));
}

/* Advances to the next cell of the product that is a point, or the first one. false: there is none. */
static bool next_cell(const struct batches *o, size_t at[AXES], bool first) {
    const size_t counts[AXES] = {o->operation_count, o->communicator_count, o->message_count, o->way_count,
                                 o->lateness_count};
    do {
        size_t i = AXES;
        while (!first && i > 0 && ++at[i - 1] == counts[i - 1]) {
            at[--i] = 0;
        }
        if (!first && i == 0) {
            return false;
        }
        first = false;
    } while (!is_point(o, at));
    return true;
}

/* The series T_WALL and T_REFERENCE_WALL below: the collective with work, and without. */
enum { SERIES_WALL, SERIES_REFERENCE_WALL };

/* Rank 0: what the repetitions of a step tell. */
static enum knee_answer answer_of_step(const samples *step, bool sure) {
    const int side = samples_ratio_side(step, SERIES_WALL, SERIES_REFERENCE_WALL, growth, sure);
    return side < 0 ? KNEE_FITS : side > 0 ? KNEE_TOO_MUCH : KNEE_UNTOLD;
}

/* A step is looked at again and again: so it must be sure. */
static enum sampler_answer answer(void *context, const sampler *s) {
    const struct batches *o = context;
    if (!o->point.way->works) {
        return SAMPLER_BY_INTERVALS;
    }
    return answer_of_step(sampler_samples(s), true) == KNEE_UNTOLD ? SAMPLER_UNTOLD : SAMPLER_TOLD;
}

static void begin_bisection(struct batches_cell *cell, bool works) {
    cell->knee = knee_begin(works ? MOST_SHARE : 0);
    cell->share = knee_next(&cell->knee);
    cell->step = 0;
}

/* Collective: the next step of a bisection. false: it is over, or its last step was not measured. */
static bool next_step(struct batches *o, const sampler *s) {
    struct batches_cell *cell = &o->cell;
    if (!way_of(o, cell->at)->works || cell->step + 1 >= o->bisections) {
        return false;
    }
    int64_t share = -1;
    if (o->program->rank == 0 && samples_count(sampler_samples(s)) > 0) {
        knee_note(&cell->knee, cell->share, answer_of_step(sampler_samples(s), false));
        share = knee_next(&cell->knee);
    }
    MPI_CHECK(MPI_Bcast(&share, 1, MPI_INT64_T, 0, MPI_COMM_WORLD));
    cell->share = share;
    cell->step++;
    return share >= 0;
}

static bool next_point(void *context, const sampler *s, struct sampler_point *p) {
    struct batches *o = context;
    struct batches_cell *cell = &o->cell;
    if (p->index == 0 || !next_step(o, s)) {
        if (!next_cell(o, cell->at, p->index == 0)) {
            return false;
        }
        begin_bisection(cell, way_of(o, cell->at)->works);
    }
    for (size_t i = 0; i < AXES; i++) {
        p->at[i] = cell->at[i];
    }
    return true;
}

static double points_of(const struct batches *o, const struct batches_cell *cell) {
    return way_of(o, cell->at)->works ? (double)(o->bisections - cell->step) : 1;
}

static double points_left(void *context) {
    const struct batches *o = context;
    double left = points_of(o, &o->cell);
    struct batches_cell cell = o->cell;
    cell.step = 0;
    while (next_cell(o, cell.at, false)) {
        left += points_of(o, &cell);
    }
    return left;
}

/* Collective over the point's ranks: the units of work that take the point's share of the collective's time on rank
 * 0. */
static void find_work(struct batches *o, int64_t reference_ns) {
    const int64_t call_ns = reference_ns / o->point.reference_calls;
    o->point.units = work_units((int64_t)((double)call_ns * (double)o->cell.share / WHOLE));
    MPI_CHECK(MPI_Bcast(&o->point.units, 1, MPI_INT64_T, 0, o->comm));
}

/* Collective: whether the budget of the run is spent, as rank 0 sees it. */
static bool is_spent(const struct program *program) {
    const struct budget budget = {.seconds = program->settings.budget_seconds, .began_ns = program->began};
    return program_agree(budget_is_over(&budget));
}

static bool begin(void *context, struct sampler_point *p) {
    struct batches *o = context;
    const size_t operation = o->cell.at[AXIS_OPERATION];
    const struct way *way = way_of(o, o->cell.at);
    use_communicator(o, o->cell.at[AXIS_COMMUNICATOR]);
    p->comm = o->comm;
    if (is_spent(o->program)) {
        return false; /* the search takes time, too */
    }
    o->point.way = way;
    o->point.own = way->nonblocking ? &o->nonblocking[operation] : &o->blocking[operation];
    o->point.reference = reference_way(way)->nonblocking ? &o->nonblocking[operation] : &o->blocking[operation];
    o->point.message_bytes = (uint64_t)message_of(o, o->cell.at);
    o->point.units = is_late(o) ? work_units(lateness_of(o, o->cell.at)) : 0;
    phase_collective(o->point.own->mpi_name);
    phase_enter(PHASE_CALL);
    int64_t shortest = 0;
    forget_calls(o);
    if (o->exchange != NULL) {
        const struct batches_found reference = calls_of(o, reference_way(way), o->point.reference);
        /* A way that does something beside the calls of its reference makes as many of them. */
        const struct batches_found own = way->soaks || way->works ? reference : calls_of(o, way, o->point.own);
        o->point.reference_calls = reference.calls;
        o->point.calls = own.calls;
        if (way->works) {
            find_work(o, reference.time_ns);
        }
        shortest = own.time_ns < reference.time_ns ? own.time_ns : reference.time_ns;
    }
    MPI_CHECK(MPI_Bcast(&shortest, 1, MPI_INT64_T, 0, MPI_COMM_WORLD)); /* also to ranks that take no part */
    p->shortest_ns = shortest;
    return true;
}

static int64_t count_faults(void *context, char *text, size_t text_size) {
    const struct batches *o = context;
    int64_t faults = o->exchange != NULL ? (int64_t)exchange_faults(o->exchange) : 0;
    snprintf(text, text_size, "%s", faults > 0 ? exchange_fault_text(o->exchange) : "");
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &faults, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
    group_share_error(text, text_size);
    return faults;
}

static void put_parameters(void *context, const struct sampler_point *p, json_line *line) {
    const struct batches *o = context;
    json_put_string(line, "operation", o->operations[p->at[AXIS_OPERATION]]->name);
    json_put_integer(line, "communicator_ranks", o->communicators[p->at[AXIS_COMMUNICATOR]]);
    json_put_integer(line, "message_bytes", message_of(o, p->at));
    json_put_string(line, "way", way_of(o, p->at)->name);
    if (way_of(o, p->at)->late) {
        json_put_integer(line, "lateness_ns", lateness_of(o, p->at));
    }
}

static void put_own(void *context, const struct sampler_point *p, const sampler *s, json_line *line) {
    (void)p;
    (void)s;
    const struct batches *o = context;
    json_put_integer(line, "calls", o->point.calls);
    json_put_integer(line, "reference_calls", o->point.reference_calls);
    json_put_integer(line, "work_units", o->point.units);
}

static void name_point(void *context, const struct sampler_point *p, char *text, size_t text_size) {
    const struct batches *o = context;
    char work[32] = "";
    if (way_of(o, p->at)->works) {
        snprintf(work, sizeof work, " %.2f", (double)o->cell.share / WHOLE);
    } else if (way_of(o, p->at)->late) {
        snprintf(work, sizeof work, " by %.0f ms", (double)lateness_of(o, p->at) / 1e6);
    }
    snprintf(text, text_size, "%s, %" PRId64 " ranks, %" PRId64 " bytes, %s%s",
             o->operations[p->at[AXIS_OPERATION]]->name, o->communicators[p->at[AXIS_COMMUNICATOR]],
             message_of(o, p->at), way_of(o, p->at)->name, work);
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Of a whole batch. */
static const struct repetition_series series[] = {
    [SERIES_WALL] = {.name = "t_wall_ns", .over = OVER_SPAN, .term = BEGIN, .end = END, .stops = true},
    [SERIES_REFERENCE_WALL] = {.name = "t_reference_wall_ns",
                               .over = OVER_SPAN,
                               .term = REFERENCE_BEGIN,
                               .end = REFERENCE_END},
    {.name = "t_cpu_ns", .over = OVER_LARGEST, .term = CPU},
    {.name = "t_reference_cpu_ns", .over = OVER_LARGEST, .term = REFERENCE_CPU},
    {.name = "t_thread_cpu_ns", .over = OVER_LARGEST, .term = THREAD_CPU},
    {.name = "t_user_all_ranks_ns", .over = OVER_SUM, .term = USER},
    {.name = "t_system_all_ranks_ns", .over = OVER_SUM, .term = SYSTEM},
    {.name = "voluntary_switches", .over = OVER_LARGEST, .term = VOLUNTARY},
    {.name = "involuntary_switches", .over = OVER_LARGEST, .term = INVOLUNTARY},
    {.name = "t_soaked_all_ranks_ns", .over = OVER_SUM, .term = SOAKED},
    {.name = "t_work_ns", .over = OVER_LARGEST, .term = WORK},
    {.name = "t_node_window_ns", .over = OVER_LARGEST, .term = NODE_WINDOW},
    {.name = "t_node_busy_ns", .over = OVER_LARGEST, .term = NODE_BUSY},
    {.name = "t_node_softirq_ns", .over = OVER_LARGEST, .term = NODE_SOFTIRQ},
    {.name = "t_node_ranks_ns", .over = OVER_SUM, .term = NODE_RANKS},
    {.name = "start_imbalance_ns", .over = OVER_IMBALANCE, .term = START},
    {.name = "order", .over = OVER_ORDER},
    {.name = "late_starts", .over = OVER_LATE},
};

static const struct samples_sum rank_medians[] = {
    {.name = "t_wall_ns", .count = 1, .terms = {WALL}},
    {.name = "t_cpu_ns", .count = 1, .terms = {CPU}},
    {.name = "t_thread_cpu_ns", .count = 1, .terms = {THREAD_CPU}},
};

const struct sampler_kind batches_points = {
    .samples = {.repeated = {.parts = parts,
                             .part_count = COUNT(parts),
                             .group = COUNT(parts),
                             .terms = TERMS,
                             .series = series,
                             .series_count = COUNT(series),
                             .wrong = wrong},
                .rank_medians = rank_medians,
                .rank_median_count = COUNT(rank_medians)},
    .next_point = next_point,
    .points_left = points_left,
    .answer = answer,
    .begin = begin,
    .faults = count_faults,
    .parameters = put_parameters,
    .own = put_own,
    .name = name_point,
};

static bool has_way(const struct batches *o, const struct way *way) {
    bool found = false;
    for (size_t i = 0; i < o->way_count; i++) {
        found = found || &way_table[o->ways[i]] == way;
    }
    return found;
}

/* Collective: whether this rank runs on the machine of rank 0. Nodes that share a kernel are one machine. */
static bool is_on_first_machine(void) {
    enum { MOST_ID = 128 };
    char own[MOST_ID] = "";
    char first[MOST_ID] = "";
    topology_boot_id(own, sizeof own);
    memcpy(first, own, sizeof first);
    MPI_CHECK(MPI_Bcast(first, MOST_ID, MPI_CHAR, 0, MPI_COMM_WORLD));
    return strcmp(own, first) == 0;
}

bool batches_begin(struct program *program, void *context, sampler *s, char *reason, size_t reason_size) {
    (void)s;
    struct batches *o = context;
    char error[256] = "";
    o->comm = MPI_COMM_NULL;
    work_units(1); /* reads the CPU's speed */
    o->on_first_machine = is_on_first_machine();
    if (has_way(o, &way_table[WAY_SOAKING])) {
        placement_look_again(program->place);
        o->soaker = soaker_create(error, sizeof error);
        placement_own_threads(program->place);
    }
    group_share_error(error, sizeof error);
    snprintf(reason, reason_size, "%s", error);
    return error[0] == '\0';
}

bool batches_end(struct program *program, void *context, char *reason, size_t reason_size) {
    (void)program;
    (void)reason;
    (void)reason_size;
    struct batches *o = context;
    soaker_destroy(o->soaker);
    exchange_destroy(o->exchange);
    if (o->comm != MPI_COMM_NULL) {
        MPI_CHECK(MPI_Comm_free(&o->comm));
    }
    return true;
}
