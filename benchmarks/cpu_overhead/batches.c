#include "batches.h"

#include "cpu_time.h"
#include "fail_mpi.h"
#include "group.h"
#include "phase.h"
#include "timer.h"

#include <inttypes.h>
#include <stdio.h>

/* What each rank times in a repetition, of a whole batch. BEGIN and END are local times; START is when the rank left
 * the common start. */
enum term { START, BEGIN, END, WALL, CPU, THREAD_CPU, VOLUNTARY, INVOLUNTARY, TERMS };

/* A batch takes at least this long, and so many steps of the CPU clock; a clock with long steps must not make it longer
 * than the last value. */
enum { LEAST_BATCH_NS = 10000000, LEAST_STEPS = 200, MOST_BATCH_NS = 1000000000 };

enum { MOST_CALLS = 10000000, MOST_GROWTH = 16, MOST_TRIES = 20 };

int64_t batches_target_ns(int64_t cpu_clock_step_ns) {
    const int64_t resolved = LEAST_STEPS * cpu_clock_step_ns;
    return resolved < LEAST_BATCH_NS ? LEAST_BATCH_NS : resolved > MOST_BATCH_NS ? MOST_BATCH_NS : resolved;
}

uint64_t batches_most_bytes(const struct program *program, const struct collective *collective) {
    const uint64_t counted = collective_most_bytes(collective, program->ranks);
    const uint64_t fits = program->memory_bytes / 2 / collective_most_blocks(collective, program->ranks);
    return program->memory_bytes > 0 && fits < counted ? fits : counted;
}

/* ---- a batch ---- */

static const struct collective *collective_of(const struct batches *o, const size_t at[SAMPLER_MOST_AXES]) {
    return &o->collectives[at[AXIS_OPERATION]];
}

/* A collective without data has one point, of 0 bytes. */
static int64_t message_of(const struct batches *o, const size_t at[SAMPLER_MOST_AXES]) {
    return collective_has_message(collective_of(o, at)) ? o->message_bytes[at[AXIS_MESSAGE]] : 0;
}

static void call_all(struct batches *o, int64_t calls) {
    for (int64_t i = 0; i < calls; i++) {
        exchange_call(o->exchange);
    }
}

/* Collective: returns the time of so many calls, ns, on the slowest rank: the shortest of a few readings, so that one
 * in which a rank was preempted does not count. A few calls are read more often: a time slice of another process is
 * longer than they are. */
static int64_t time_calls(struct batches *o, int64_t calls) {
    enum { FEW_CALLS = 100, READINGS_OF_FEW = 10, READINGS = 2 };
    int64_t shorter = INT64_MAX;
    for (int i = 0; i < (calls < FEW_CALLS && shorter > o->target_ns / 2 ? READINGS_OF_FEW : READINGS); i++) {
        MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
        const int64_t began = timer_now_ns();
        call_all(o, calls);
        int64_t taken = timer_now_ns() - began;
        MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &taken, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD));
        shorter = taken < shorter ? taken : shorter;
    }
    return shorter;
}

/* Collective: searches the number of calls of a batch, and sets it. Returns the time of such a batch, ns. */
static int64_t search_calls(struct batches *o) {
    o->point.calls = 1;
    call_all(o, 1); /* connections and buffers are made */
    int64_t taken = time_calls(o, o->point.calls);
    for (int i = 0; i < MOST_TRIES && taken < o->target_ns && o->point.calls < MOST_CALLS; i++) {
        const double wanted = 1.1 * (double)o->target_ns / (double)(taken > 0 ? taken : 1);
        const double factor = wanted < MOST_GROWTH ? wanted : MOST_GROWTH;
        const int64_t more = (int64_t)(factor * (double)o->point.calls) + 1;
        o->point.calls = more < MOST_CALLS ? more : MOST_CALLS;
        taken = time_calls(o, o->point.calls);
    }
    return taken;
}

/* ---- the part of a repetition ---- */

static void prepare(void *context) {
    struct batches *o = context;
    exchange_prepare(o->exchange, o->point.collective, o->point.message_bytes);
}

static void time_batch(void *context, start_line *line, struct repetition *r) {
    struct batches *o = context;
    r->terms[START] = start_spin(line);
    phase_enter(PHASE_CALL);
    const struct cpu_time before = cpu_time_now();
    r->terms[BEGIN] = timer_now_ns();
    call_all(o, o->point.calls);
    r->terms[END] = timer_now_ns();
    const struct cpu_time after = cpu_time_now();
    r->terms[WALL] = r->terms[END] - r->terms[BEGIN];
    r->terms[CPU] = after.process_ns - before.process_ns;
    r->terms[THREAD_CPU] = after.thread_ns - before.thread_ns;
    r->terms[VOLUNTARY] = after.voluntary - before.voluntary;
    r->terms[INVOLUNTARY] = after.involuntary - before.involuntary;
}

static void finish(void *context) {
    struct batches *o = context;
    phase_enter(PHASE_CHECK);
    exchange_check(o->exchange);
}

static const struct repetition_part batch_part = {.prepare = prepare, .time = time_batch, .finish = finish};
static const struct repetition_part *const parts[] = {&batch_part};

static bool wrong(void *context) {
    const struct batches *o = context;
    return exchange_faults(o->exchange) > 0;
}

/* ---- points ---- */

static bool has_point(void *context, const size_t at[SAMPLER_MOST_AXES]) {
    const struct batches *o = context;
    const struct collective *collective = collective_of(o, at);
    if (!collective_has_message(collective)) {
        return at[AXIS_MESSAGE] == 0;
    }
    return !o->preset || (uint64_t)message_of(o, at) <= batches_most_bytes(o->program, collective);
}

static bool begin(void *context, struct sampler_point *p) {
    struct batches *o = context;
    const struct collective *collective = collective_of(o, p->at);
    o->point.collective = collective;
    o->point.message_bytes = (uint64_t)message_of(o, p->at);
    phase_collective(collective->mpi_name);
    phase_enter(PHASE_CALL);
    prepare(o);
    p->shortest_ns = search_calls(o);
    exchange_check(o->exchange);
    return true;
}

static int64_t count_faults(void *context, char *text, size_t text_size) {
    const struct batches *o = context;
    int64_t faults = (int64_t)exchange_faults(o->exchange);
    snprintf(text, text_size, "%s", faults > 0 ? exchange_fault_text(o->exchange) : "");
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &faults, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
    group_share_error(text, text_size);
    return faults;
}

static void put_parameters(void *context, const struct sampler_point *p, json_line *line) {
    const struct batches *o = context;
    json_put_string(line, "operation", collective_of(o, p->at)->name);
    json_put_integer(line, "message_bytes", message_of(o, p->at));
}

static void put_own(void *context, const struct sampler_point *p, const sampler *s, json_line *line) {
    const struct batches *o = context;
    (void)p;
    (void)s;
    json_put_integer(line, "calls", o->point.calls);
}

static void name_point(void *context, const struct sampler_point *p, char *text, size_t text_size) {
    const struct batches *o = context;
    snprintf(text, text_size, "%s, %" PRId64 " bytes", collective_of(o, p->at)->name, message_of(o, p->at));
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Of a whole batch. */
static const struct repetition_series series[] = {
    {.name = "t_wall_ns", .over = OVER_SPAN, .term = BEGIN, .end = END, .stops = true},
    {.name = "t_cpu_ns", .over = OVER_LARGEST, .term = CPU},
    {.name = "t_thread_cpu_ns", .over = OVER_LARGEST, .term = THREAD_CPU},
    {.name = "voluntary_switches", .over = OVER_LARGEST, .term = VOLUNTARY},
    {.name = "involuntary_switches", .over = OVER_LARGEST, .term = INVOLUNTARY},
    {.name = "start_imbalance_ns", .over = OVER_IMBALANCE, .term = START},
};

static const struct samples_sum rank_medians[] = {
    {.name = "t_wall_ns", .count = 1, .terms = {WALL}},
    {.name = "t_cpu_ns", .count = 1, .terms = {CPU}},
    {.name = "t_thread_cpu_ns", .count = 1, .terms = {THREAD_CPU}},
};

const struct sampler_kind batches_points = {
    .samples = {.repeated = {.parts = parts,
                             .part_count = COUNT(parts),
                             .terms = TERMS,
                             .series = series,
                             .series_count = COUNT(series),
                             .wrong = wrong},
                .rank_medians = rank_medians,
                .rank_median_count = COUNT(rank_medians)},
    .has_point = has_point,
    .begin = begin,
    .faults = count_faults,
    .parameters = put_parameters,
    .own = put_own,
    .name = name_point,
};

bool batches_begin(struct program *program, void *context, sampler *s, char *reason, size_t reason_size) {
    struct batches *o = context;
    (void)s;
    (void)reason;
    (void)reason_size;
    o->exchange = exchange_create(MPI_COMM_WORLD, o->seed, false, program->memory_bytes);
    return true;
}

bool batches_end(struct program *program, void *context, char *reason, size_t reason_size) {
    struct batches *o = context;
    (void)program;
    (void)reason;
    (void)reason_size;
    exchange_destroy(o->exchange);
    return true;
}
