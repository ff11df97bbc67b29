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

/* The bisection, in millionths of the time of the collective: it begins between no work and so much that the collective
 * with it takes longer in any case. A collective grows where it takes GROWTH longer; the table decides again, with
 * intervals (postprocess). */
enum { WHOLE = 1000000, MOST_SHARE = 1250000 };
static const double growth = 1.05;

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
    const bool member = o->program->rank < o->cells.communicators[index];
    MPI_CHECK(MPI_Comm_split(MPI_COMM_WORLD, member ? 0 : MPI_UNDEFINED, o->program->rank, &o->comm));
    o->comm_index = index;
    o->has_comm = true;
    if (member) {
        MPI_CHECK(MPI_Comm_set_errhandler(o->comm, MPI_ERRORS_RETURN));
        o->exchange = exchange_create(o->comm, o->seed, false, o->program->memory_bytes);
    }
}

/* ---- a batch ---- */

static const struct way *reference_way(const struct way *way) {
    return &way_table[way->reference];
}

/* Whether this rank comes late to the calls of a way. */
static bool is_late(const struct batches *o, const struct way *way) {
    return way->late && o->program->rank + 1 == o->cells.communicators[o->cell.at[AXIS_COMMUNICATOR]];
}

/* The units of work of a call of a batch. */
static int64_t units_of(const struct batches *o, const struct way *way, int64_t call) {
    return way->skewed ? (int64_t)((double)o->point.units * o->skew.shares[call % SKEW_CALLS]) : o->point.units;
}

static void spend(struct batches *o, const struct way *way, int64_t calls) {
    void (*spend_one)(exchange *, int64_t) = is_late(o, way) ? way->spend_late : way->spend;
    for (int64_t i = 0; i < calls; i++) {
        spend_one(o->exchange, units_of(o, way, i));
    }
}

/* The work of this rank in a call, ns: of a way with a late rank, for as long as that is late, the late rank's or,
 * beside a nonblocking call, that of all; 0 where it has none, or where it is searched. */
static int64_t work_of(const struct batches *o, const struct way *way) {
    const int64_t time_ns = cells_lateness(&o->cells, o->cell.at);
    if (way->late) {
        return is_late(o, way) || way->nonblocking ? time_ns : 0;
    }
    return way_is_timed(way) ? time_ns / SKEW_CALLS : 0;
}

/* The calls of a batch; 0: they are searched. */
static int64_t calls_of_batch(const struct batches *o, const struct way *way) {
    return way->once || way->late ? 1 : way_is_timed(way) ? SKEW_CALLS : o->calls;
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
    struct batches_found found = {.calls = calls_of_batch(o, way)};
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
    const bool waits = !is_late(o, o->point.way);
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
    if (!cells_way(&o->cells, cell->at)->works || cell->step + 1 >= o->bisections) {
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
        if (!cells_next(&o->cells, cell->at, p->index == 0)) {
            return false;
        }
        begin_bisection(cell, cells_way(&o->cells, cell->at)->works);
    }
    for (size_t i = 0; i < AXES; i++) {
        p->at[i] = cell->at[i];
    }
    return true;
}

static double points_of(const struct batches *o, const struct batches_cell *cell) {
    return cells_way(&o->cells, cell->at)->works ? (double)(o->bisections - cell->step) : 1;
}

static double points_left(void *context) {
    const struct batches *o = context;
    double left = points_of(o, &o->cell);
    struct batches_cell cell = o->cell;
    cell.step = 0;
    while (cells_next(&o->cells, cell.at, false)) {
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

static bool begin(void *context, struct sampler_point *p) {
    struct batches *o = context;
    const size_t operation = o->cell.at[AXIS_OPERATION];
    const struct way *way = cells_way(&o->cells, o->cell.at);
    use_communicator(o, o->cell.at[AXIS_COMMUNICATOR]);
    p->comm = o->comm;
    o->point.calls = o->point.reference_calls = o->point.units = 0;
    if (program_is_spent(o->program)) {
        return false; /* the search takes time, too */
    }
    o->point.way = way;
    o->point.own = way->nonblocking ? &o->cells.nonblocking[operation] : &o->cells.blocking[operation];
    o->point.reference =
        reference_way(way)->nonblocking ? &o->cells.nonblocking[operation] : &o->cells.blocking[operation];
    o->point.message_bytes = (uint64_t)cells_message(&o->cells, o->cell.at);
    const int64_t work_ns = work_of(o, way);
    o->point.units = work_ns > 0 ? work_units(work_ns) : 0;
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
    const int64_t faults = o->exchange != NULL ? (int64_t)exchange_faults(o->exchange) : 0;
    snprintf(text, text_size, "%s", faults > 0 ? exchange_fault_text(o->exchange) : "");
    return group_share_faults(faults, text, text_size);
}

struct row {
    const char *operation;
    int64_t communicator_ranks;
    int64_t message_bytes;
    const char *way;
    int64_t lateness_ns;
    int64_t calls;
    int64_t reference_calls;
    int64_t work_units;
};

static const struct field parameter_fields[] = {
    FIELD(struct row, operation, "the blocking collective: MPI_Bcast and so on"),
    FIELD(struct row, communicator_ranks, "the ranks of the communicator, the first ones of the launch"),
    FIELD(struct row, message_bytes,
          "bcast, reduce, allreduce, scan: the buffer. gather, allgather: one rank's contribution. scatter, alltoall, "
          "reduce_scatter_block: one destination's block. barrier: 0"),
    FIELD(struct row, way, "how a rank spends the time of the collective"),
    FIELD_MAY_LACK(struct row, lateness_ns,
                   "of the ways late and late_working: by how much the last rank comes late; of those with even or "
                   "skewed: the work of a rank in a batch"),
    FIELDS_END,
};

static const struct field own_fields[] = {
    FIELD(struct row, calls, "calls of a batch, searched once"),
    FIELD(struct row, reference_calls, "calls of the reference's batch"),
    FIELD(struct row, work_units,
          "work beside a call on rank 0, in units of the program, on average over a batch; 0 for ways without"),
    FIELDS_END,
};

static void fill(void *context, const struct sampler_point *p, const sampler *s, void *row) {
    const struct batches *o = context;
    const struct way *way = cells_way(&o->cells, p->at);
    *(struct row *)row =
        (struct row){.operation = o->cells.operations[p->at[AXIS_OPERATION]]->name,
                     .communicator_ranks = o->cells.communicators[p->at[AXIS_COMMUNICATOR]],
                     .message_bytes = cells_message(&o->cells, p->at),
                     .way = way->name,
                     .lateness_ns = way_is_timed(way) ? cells_lateness(&o->cells, p->at) : RECORD_UNKNOWN,
                     .calls = o->point.calls,
                     .reference_calls = o->point.reference_calls,
                     .work_units = o->point.units};
}

static void name_point(void *context, const struct sampler_point *p, char *text, size_t text_size) {
    const struct batches *o = context;
    char work[32] = "";
    if (cells_way(&o->cells, p->at)->works) {
        snprintf(work, sizeof work, " %.2f", (double)o->cell.share / WHOLE);
    } else if (way_is_timed(cells_way(&o->cells, p->at))) {
        snprintf(work, sizeof work, " by %.0f ms", (double)cells_lateness(&o->cells, p->at) / 1e6);
    }
    snprintf(text, text_size, "%s, %" PRId64 " ranks, %" PRId64 " bytes, %s%s",
             o->cells.operations[p->at[AXIS_OPERATION]]->name, o->cells.communicators[p->at[AXIS_COMMUNICATOR]],
             cells_message(&o->cells, p->at), cells_way(&o->cells, p->at)->name, work);
}

/* Of a whole batch. */
static const struct repetition_series series[] = {
    [SERIES_WALL] = {.name = "t_wall_ns",
                     .over = OVER_SPAN,
                     .term = BEGIN,
                     .end = END,
                     .stops = true,
                     .help = "of a whole batch, as all of these: max(end) - min(begin) over ranks"},
    [SERIES_REFERENCE_WALL] = {.name = "t_reference_wall_ns",
                               .over = OVER_SPAN,
                               .term = REFERENCE_BEGIN,
                               .end = REFERENCE_END,
                               .help =
                                   "of the reference's batch, which each way has in the list of ways: most often the "
                                   "blocking call"},
    {.name = "t_cpu_ns",
     .over = OVER_LARGEST,
     .term = CPU,
     .help = "CPU time of the process (CLOCK_PROCESS_CPUTIME_ID), the largest over ranks; of the ways late and "
             "late_working, over the other ranks, as t_thread_cpu_ns and the context switches are"},
    {.name = "t_reference_cpu_ns",
     .over = OVER_LARGEST,
     .term = REFERENCE_CPU,
     .help = "CPU time of the process in the reference's batch, the largest over ranks"},
    {.name = "t_thread_cpu_ns",
     .over = OVER_LARGEST,
     .term = THREAD_CPU,
     .help = "CPU time of the thread that makes the calls (CLOCK_THREAD_CPUTIME_ID), the largest over ranks"},
    {.name = "t_user_all_ranks_ns",
     .over = OVER_SUM,
     .term = USER,
     .help = "CPU time of the processes in their own code, all ranks together (getrusage, ru_utime); 0 for the ways "
             "soaking, late and late_working"},
    {.name = "t_system_all_ranks_ns", .over = OVER_SUM, .term = SYSTEM, .help = "the same in the kernel (ru_stime)"},
    {.name = "voluntary_switches",
     .over = OVER_LARGEST,
     .term = VOLUNTARY,
     .help = "context switches of the process because it waited (getrusage, ru_nvcsw), the largest over ranks"},
    {.name = "involuntary_switches",
     .over = OVER_LARGEST,
     .term = INVOLUNTARY,
     .help = "context switches because the kernel took its CPU (ru_nivcsw), likewise"},
    {.name = "t_soaked_all_ranks_ns",
     .over = OVER_SUM,
     .term = SOAKED,
     .help = "CPU time of the threads of the lowest priority, all ranks together; t_cpu_ns does not contain it"},
    {.name = "t_work_ns",
     .over = OVER_LARGEST,
     .term = WORK,
     .help = "the work of a batch done alone, on the slowest rank; 0 for ways without"},
    {.name = "t_node_window_ns",
     .over = OVER_LARGEST,
     .term = NODE_WINDOW,
     .help = "on rank 0, from before the common start to the end of the batch; 0 for the way once; this and the next "
             "three are left out in older records"},
    {.name = "t_node_busy_ns",
     .over = OVER_LARGEST,
     .term = NODE_BUSY,
     .help = "CPU time of all CPUs of the machine of rank 0 in that window, whoever used it (/proc/stat: all but idle, "
             "iowait and steal); 0 where the system does not tell"},
    {.name = "t_node_softirq_ns",
     .over = OVER_LARGEST,
     .term = NODE_SOFTIRQ,
     .help = "of it, in soft interrupts, such as those in which a network's data arrive"},
    {.name = "t_node_ranks_ns",
     .over = OVER_SUM,
     .term = NODE_RANKS,
     .help = "of it, charged to the ranks on that machine (CLOCK_PROCESS_CPUTIME_ID), all together"},
    {.name = "start_imbalance_ns", .over = OVER_IMBALANCE, .term = START},
    {.name = "order", .over = OVER_ORDER},
    {.name = "late_starts", .over = OVER_LATE},
};

static const struct samples_sum rank_medians[] = {
    {"t_wall_ns", 1, {WALL}, "of the rank's own batch, from its own begin to its own end"},
    {"t_cpu_ns", 1, {CPU}, "CPU time of the process in the rank's own batch"},
    {"t_thread_cpu_ns", 1, {THREAD_CPU}, "CPU time of the thread that makes the calls, in the rank's own batch"},
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
    .parameters = parameter_fields,
    .own = own_fields,
    .row_bytes = sizeof(struct row),
    .fill = fill,
    .name = name_point,
};

static bool has_way(const struct batches *o, const struct way *way) {
    bool found = false;
    for (size_t i = 0; i < o->cells.asked->ways.count; i++) {
        found = found || &way_table[o->cells.asked->ways.values[i]] == way;
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
    struct batches *o = context;
    char error[256] = "";
    o->comm = MPI_COMM_NULL;
    work_units(1); /* reads the CPU's speed */
    o->skew = skew_of(program->rank, o->seed);
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
    struct batches *o = context;
    soaker_destroy(o->soaker);
    exchange_destroy(o->exchange);
    if (o->comm != MPI_COMM_NULL) {
        MPI_CHECK(MPI_Comm_free(&o->comm));
    }
    return true;
}
