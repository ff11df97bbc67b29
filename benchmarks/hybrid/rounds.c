#include "rounds.h"

#include "calls.h"
#include "fail.h"
#include "fail_hybrid.h"
#include "fail_mpi.h"
#include "group.h"
#include "phase.h"
#include "timer.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What each rank times in a repetition, of whole batches; moments are local times. START is when the rank left the
 * first common start; HANDOVER_LEAST and HANDOVER_MOST are of the hand-overs that are timed after each batch, ns; then
 * come the begin and the end of each batch. */
enum { START, HANDOVER_LEAST, HANDOVER_MOST, FIRST_BEGIN, TERMS = FIRST_BEGIN + 2 * BATCHES };
_Static_assert((int)TERMS <= (int)REPETITION_MOST_TERMS, "REPETITION_MOST_TERMS is too small");
#define BEGIN(batch) (FIRST_BEGIN + 2 * (batch))
#define END(batch) (FIRST_BEGIN + 2 * (batch) + 1)

enum {
    ELEMENT = sizeof(uint64_t),
    LINE = 128,
    BATCH_TARGET_NS = 500000, /* so long that the error of the clock and the spread of starts are below 1 % */
    WORK_UNIT_NS = 10000,     /* of a computation that takes as long as a collective between nodes */
    SETTLING_CALLS = 4,       /* before each batch: each of the two buffers of long messages is used twice */
    CHECKED_CALLS = 8 /* whole calls before a point in which every element is checked; MPICH changes its algorithm
                         after five calls on a communicator */
};

/* ---- sizes ---- */

/* The bytes of one of the buffers of a node, by rank. */
static uint64_t shared_bytes(const struct operation *operation, uint64_t contributed, uint64_t read) {
    switch (operation->shape) {
    case HYBRID_REDUCTION:
        return 3 * contributed; /* its row, and at most two results */
    case HYBRID_PAIRS:
        return contributed + read;
    default:
        return read;
    }
}

/* Returns the bytes of the buffers that a rank needs for a message, its node's memory included. */
static uint64_t buffer_bytes(const struct rounds *o, const struct operation *operation, uint64_t message_bytes) {
    const uint64_t contributed = message_bytes * operation_contributed_blocks(operation, o->info.ranks);
    const uint64_t read = message_bytes * operation_read_blocks(operation, o->info.ranks);
    const uint64_t library = read + (operation_in_place(operation) ? 0 : contributed);
    const uint64_t exchanged = operation->shape == HYBRID_PAIRS && o->info.nodes > 1 ? contributed + read : 0;
    return library + 2 * shared_bytes(operation, contributed, read) + exchanged;
}

/* Returns the largest message_bytes: the buffers take at most half of the memory of a rank, and MPI counts with int. */
static uint64_t most_bytes(const struct rounds *o, const struct operation *operation) {
    const uint64_t fits = o->program->memory_bytes / 2 / buffer_bytes(o, operation, 1);
    /* What one call counts: of an exchange between nodes, the blocks of all pairs of ranks. */
    const uint64_t ranks = (uint64_t)o->info.ranks;
    const uint64_t of_rank = operation->scatters || operation_read_blocks(operation, o->info.ranks) > 1 ? ranks : 1;
    const uint64_t blocks = operation->shape == HYBRID_PAIRS && o->info.nodes > 1 ? ranks * ranks : of_rank;
    const uint64_t counted = INT_MAX / blocks * ELEMENT;
    return (o->program->memory_bytes > 0 && fits < counted ? fits : counted) / ELEMENT * ELEMENT;
}

void rounds_check(const struct rounds *o, char *error, size_t error_size) {
    for (size_t i = 0; i < o->operation_count && !o->preset && error[0] == '\0'; i++) {
        const struct operation *operation = &operation_table[o->operations[i]];
        const uint64_t most = most_bytes(o, operation);
        for (size_t j = 0; j < o->message_count; j++) {
            if ((uint64_t)o->message_bytes[j] > most) {
                snprintf(error, error_size,
                         "--message-bytes: %" PRId64 " bytes are too many for %s on %d ranks: at most %" PRIu64
                         " fit into half of a rank's share of memory and into MPI's counts",
                         o->message_bytes[j], operation->name, o->info.ranks, most);
            }
        }
    }
}

/* ---- contents ---- */

/* Element i of a rank's contribution to a call, over all of its blocks. Words are an arithmetic progression modulo
 * 2^64; terms are whole numbers, so small that their sums are exact in any order. */
enum { TERM_PERIOD = 256, TERM_CALLS = 1009 };

static uint64_t first_word(uint64_t call, int rank) {
    return call * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)(rank + 1) * UINT64_C(0xbf58476d1ce4e5b9);
}

static double first_term(uint64_t call, int rank) {
    return (double)(call % TERM_CALLS) + (double)rank;
}

static void write_words(uint64_t *words, size_t count, uint64_t first) {
    for (size_t i = 0; i < count; i++) {
        words[i] = first + i;
    }
}

static void write_terms(double *terms, size_t count, double first) {
    for (size_t i = 0; i < count; i++) {
        terms[i] = first + (double)(int)(i % TERM_PERIOD);
    }
}

static uint64_t read_words(const uint64_t *words, size_t count) {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += words[i];
    }
    return sum;
}

/* A sum of terms is exact, so it is compared bit by bit. */
static uint64_t bits_of(double sum) {
    uint64_t bits = 0;
    memcpy(&bits, &sum, sizeof bits);
    return bits;
}

/* Several sums side by side: otherwise each addition would wait for the last one, and not for memory. */
static uint64_t read_terms(const double *terms, size_t count) {
    enum { SUMS = 16 };
    double sums[SUMS] = {0};
    size_t i = 0;
    for (; i + SUMS <= count; i += SUMS) {
        for (size_t j = 0; j < SUMS; j++) {
            sums[j] += terms[i + j];
        }
    }
    for (; i < count; i++) {
        sums[0] += terms[i];
    }
    for (size_t j = 1; j < SUMS; j++) {
        sums[0] += sums[j];
    }
    return bits_of(sums[0]);
}

static uint64_t sum_of_words(uint64_t first, uint64_t count) {
    const uint64_t pairs = count % 2 == 0 ? count / 2 * (count - 1) : (count - 1) / 2 * count;
    return count * first + pairs;
}

/* Of the first `count` terms, but for the first one's value. */
static double sum_of_terms(size_t count) {
    const double whole = (double)(count / TERM_PERIOD) * (TERM_PERIOD - 1) * TERM_PERIOD / 2;
    const double rest = (double)(count % TERM_PERIOD);
    return whole + rest * (rest - 1) / 2;
}

/* Which element of the contributions this rank's result begins with. */
static size_t first_read(const struct rounds *o) {
    return o->point.operation->scatters ? (size_t)o->info.rank * o->point.count : 0;
}

/* Who has contributed a block of a result that is no sum. */
static int contributor(const struct rounds *o, size_t block) {
    return o->point.operation->from_root ? ROOT : (int)block;
}

/* The first terms of all ranks, added. */
static double first_terms(const struct rounds *o) {
    const int ranks = o->info.ranks;
    return first_term(o->call, 0) * ranks + (double)ranks * (ranks - 1) / 2;
}

/* What this rank must read, in all. */
static uint64_t expected_sum(const struct rounds *o) {
    const size_t count = o->point.count;
    const size_t begin = first_read(o);
    if (o->point.operation->reduces) {
        const double of_each = sum_of_terms(begin + count) - sum_of_terms(begin);
        return bits_of(first_terms(o) * (double)count + o->info.ranks * of_each);
    }
    uint64_t sum = 0;
    for (size_t block = 0; block < o->point.blocks; block++) {
        sum += sum_of_words(first_word(o->call, contributor(o, block)) + begin, count);
    }
    return sum;
}

static void count_fault(struct rounds *o, const char *who, const char *what) {
    if (o->faults++ == 0) {
        snprintf(o->fault, sizeof o->fault, "rank %d received wrong data from %s (%s, %zu bytes): %s", o->info.rank,
                 who, o->point.operation->name, o->point.bytes, what);
    }
}

static bool is_right(const struct rounds *o, const void *result, size_t block, size_t i) {
    const uint64_t *words = result;
    const double *sums = result;
    const size_t from = first_read(o) + i;
    return o->point.operation->reduces
               ? sums[i] == first_terms(o) + (double)o->info.ranks * (double)(from % TERM_PERIOD)
               : words[block * o->point.count + i] == first_word(o->call, contributor(o, block)) + from;
}

/* Checks every element of a result. */
static void check_elements(struct rounds *o, const char *who, const void *result) {
    for (size_t block = 0; block < o->point.blocks; block++) {
        for (size_t i = 0; i < o->point.count; i++) {
            if (!is_right(o, result, block, i)) {
                char what[64];
                snprintf(what, sizeof what, "element %zu of block %zu", i, block);
                count_fault(o, who, what);
                return;
            }
        }
    }
}

static void write_own(const struct rounds *o, void *own) {
    const size_t count = o->point.contributed_bytes / ELEMENT;
    if (o->point.operation->reduces) {
        write_terms(own, count, first_term(o->call, o->info.rank));
    } else if (!o->point.operation->from_root || o->info.rank == ROOT) {
        write_words(own, count, first_word(o->call, o->info.rank));
    }
}

static void read_all(struct rounds *o, const char *who, const void *result, bool every_element) {
    const size_t count = o->point.blocks * o->point.count;
    const uint64_t sum = o->point.operation->reduces ? read_terms(result, count) : read_words(result, count);
    if (sum != expected_sum(o)) {
        count_fault(o, who, "their sum is wrong");
    }
    if (every_element) {
        check_elements(o, who, result);
    }
}

/* ---- one call ---- */

enum timed { ALONE, WHOLE, WHOLE_CHECKED };

/* How the hybrid library makes a call: in one step, or in two, without or with a computation between them. */
enum steps { ONE_STEP, TWO_STEPS, COMPUTES_BETWEEN };

/* Where the MPI library expects what this rank writes. Its allgather is at its best in place. */
static void *library_own(const struct rounds *o) {
    const bool own_block = !o->point.operation->from_root;
    if (operation_in_place(o->point.operation)) {
        return (char *)o->point.received + (own_block ? (size_t)o->info.rank * o->point.bytes : 0);
    }
    return o->point.sent;
}

static void call_library(struct rounds *o, enum hybrid_method method, enum timed timed, enum steps steps) {
    o->call++;
    if (timed != ALONE) {
        write_own(o, library_own(o));
    }
    MPI_CHECK(o->point.operation->library(o->point.sent, o->point.received, (int)o->point.count));
    if (timed != ALONE) {
        read_all(o, "the MPI library", o->point.received, timed == WHOLE_CHECKED);
    }
}

static void call_hybrid(struct rounds *o, enum hybrid_method method, enum timed timed, enum steps steps) {
    hybrid_memory *memory = o->point.memory;
    void *own = NULL;
    const void *result = NULL;
    o->call++;
    HYBRID_CHECK(o->point.operation->write(memory, o->point.contributed_bytes, &own));
    if (timed != ALONE) {
        write_own(o, own);
    }
    if (steps == ONE_STEP) {
        HYBRID_CHECK(o->point.operation->hybrid(memory, o->point.count, method));
    } else {
        HYBRID_CHECK(o->point.operation->start(memory, o->point.count, method));
        if (steps == COMPUTES_BETWEEN) {
            fixed_work_do(&o->work, o->point.units);
        }
        HYBRID_CHECK(hybrid_wait(memory));
    }
    if (timed != ALONE) {
        HYBRID_CHECK(hybrid_read(memory, &result));
        read_all(o, "the hybrid library", result, timed == WHOLE_CHECKED);
    }
    HYBRID_CHECK(hybrid_read_end(memory));
}

static void call_computation(struct rounds *o, enum hybrid_method method, enum timed timed, enum steps steps) {
    fixed_work_do(&o->work, o->point.units);
}

/* ---- the parts of a repetition ---- */

struct batch_kind {
    void (*call)(struct rounds *o, enum hybrid_method method, enum timed timed, enum steps steps);
    bool papers; /* by the paper's own method, instead of the point's variant */
    enum timed timed;
    enum steps steps;
};
static const struct batch_kind batch_kinds[BATCHES] = {
    [LIBRARY_WHOLE] = {.call = call_library, .timed = WHOLE},
    [HYBRID_WHOLE] = {.call = call_hybrid, .timed = WHOLE},
    [PAPERS_WHOLE] = {.call = call_hybrid, .papers = true, .timed = WHOLE},
    [LIBRARY_ALONE] = {.call = call_library, .timed = ALONE},
    [HYBRID_ALONE] = {.call = call_hybrid, .timed = ALONE},
    [PAPERS_ALONE] = {.call = call_hybrid, .papers = true, .timed = ALONE},
    [STEPS] = {.call = call_hybrid, .timed = ALONE, .steps = TWO_STEPS},
    [COMPUTATION] = {.call = call_computation, .timed = ALONE},
    [OVERLAP] = {.call = call_hybrid, .timed = ALONE, .steps = COMPUTES_BETWEEN},
};

static void make_calls(struct rounds *o, const struct batch_kind *kind, int64_t calls) {
    const struct variant *variant = kind->papers ? variant_of_paper(o->point.operation) : o->point.variant;
    const struct hybrid_way *way = kind->papers ? &o->point.papers_way : &o->point.way;
    HYBRID_CHECK(hybrid_comm_set_sync(o->comm, variant->sync));
    HYBRID_CHECK(hybrid_memory_set_eviction(o->point.memory, way->evicts));
    for (int64_t i = 0; i < calls; i++) {
        kind->call(o, way->method, kind->timed, kind->steps);
    }
}

/* With cold caches: after this none of the buffers is in a cache. */
static void leave_caches(struct rounds *o) {
    enum { CACHE_LINE = 64 };
    for (size_t i = 0; i < o->other_bytes; i += CACHE_LINE) {
        o->other_data[i]++;
    }
}

/* Untimed: with warm caches, calls of the same kind as in the batch that follows. After them the caches are as these
 * calls leave them, and not as the batch before did: without them the first calls of a batch pay for what others left
 * in the caches, and batches are short where messages are long. */
static void settle(struct rounds *o, enum batch batch) {
    phase_enter(PHASE_CALL);
    if (o->other_bytes > 0) {
        leave_caches(o);
    } else {
        make_calls(o, &batch_kinds[batch], SETTLING_CALLS);
    }
}

/* Batches of a group take turns: the whole, the collective alone, its two steps. */
enum { GROUP = 3 };
_Static_assert((int)LIBRARY_ALONE == GROUP && (int)STEPS == 2 * GROUP && (int)BATCHES == 3 * GROUP,
               "the batches of each group");

static void time_batch(struct rounds *o, enum batch batch, start_line *line, struct repetition *r) {
    const int64_t start = start_spin(line);
    r->terms[START] = r->turn == 0 ? start : r->terms[START];
    phase_enter(PHASE_CALL);
    r->terms[BEGIN(batch)] = start_moment(line);
    make_calls(o, &batch_kinds[batch], o->point.calls[batch]);
    r->terms[END(batch)] = timer_now_ns();
    handover_note(o->between_cores, r->turn == 0, &o->point.handovers);
    r->terms[HANDOVER_LEAST] = o->point.handovers.least;
    r->terms[HANDOVER_MOST] = o->point.handovers.most;
}

#define PART(name, batch)                                                                                              \
    static void settle_##name(void *context) {                                                                         \
        settle(context, batch);                                                                                        \
    }                                                                                                                  \
    static void time_##name(void *context, start_line *line, struct repetition *r) {                                   \
        time_batch(context, batch, line, r);                                                                           \
    }                                                                                                                  \
    static const struct repetition_part name##_part = {.prepare = settle_##name, .time = time_##name};
PART(library_whole, LIBRARY_WHOLE)
PART(hybrid_whole, HYBRID_WHOLE)
PART(papers_whole, PAPERS_WHOLE)
PART(library_alone, LIBRARY_ALONE)
PART(hybrid_alone, HYBRID_ALONE)
PART(papers_alone, PAPERS_ALONE)
PART(steps, STEPS)
PART(computation, COMPUTATION)
PART(overlap, OVERLAP)
static const struct repetition_part *const parts[BATCHES] = {
    &library_whole_part, &hybrid_whole_part, &papers_whole_part, &library_alone_part, &hybrid_alone_part,
    &papers_alone_part,  &steps_part,        &computation_part,  &overlap_part};

/* A batch, for calls.h. */
struct batch_calls {
    struct rounds *o;
    enum batch batch;
};

static void call_batch(void *context, int64_t calls) {
    const struct batch_calls *b = context;
    make_calls(b->o, &batch_kinds[b->batch], calls);
}

static bool wrong(void *context) {
    const struct rounds *o = context;
    return o->faults > 0;
}

/* ---- points ---- */

static const struct operation *operation_of(const struct rounds *o, const size_t at[SAMPLER_MOST_AXES]) {
    return &operation_table[o->operations[at[AXIS_OPERATION]]];
}

static const struct variant *variant_of(const struct rounds *o, const size_t at[SAMPLER_MOST_AXES]) {
    return &variant_table[o->variants[at[AXIS_VARIANT]]];
}

static bool has_point(void *context, const size_t at[SAMPLER_MOST_AXES]) {
    const struct rounds *o = context;
    const struct operation *operation = operation_of(o, at);
    if (!variant_makes(variant_of(o, at), operation)) {
        return false;
    }
    return !o->preset || (uint64_t)o->message_bytes[at[AXIS_MESSAGE]] <= most_bytes(o, operation);
}

static void *buffer(size_t bytes) {
    void *made = NULL;
    const size_t padded = (bytes + LINE - 1) / LINE * LINE;
    if (posix_memalign(&made, LINE, padded > 0 ? padded : LINE) != 0) {
        fail_die("no memory for %zu bytes", padded);
    }
    memset(made, 0, padded);
    return made;
}

/* Collective: finds the calls of a batch. Returns about how long such a batch takes, ns. */
static int64_t choose_calls(struct rounds *o, enum batch batch) {
    struct batch_calls b = {o, batch};
    int64_t taken_ns = 0;
    if (o->calls > 0) {
        o->point.calls[batch] = o->calls;
        return o->calls * calls_time(MPI_COMM_WORLD, call_batch, &b, BATCH_TARGET_NS, 1);
    }
    o->point.calls[batch] = calls_search(MPI_COMM_WORLD, call_batch, &b, BATCH_TARGET_NS, &taken_ns);
    return taken_ns;
}

/* A computation between the two steps of a call that takes at least as long as they do without it. taken_ns: a batch of
 * them. */
static void choose_computation(struct rounds *o, int64_t taken_ns) {
    int64_t *calls = o->point.calls;
    calls[COMPUTATION] = calls[OVERLAP] = calls[STEPS];
    o->point.units = fixed_work_units(&o->work, taken_ns / calls[STEPS]);
}

/* A round of the trials. A call that fails ends the group. */
static int make_round(hybrid_memory *memory, enum hybrid_method method, void *context) {
    struct rounds *o = context;
    call_hybrid(o, method, WHOLE, ONE_STEP);
    return MPI_SUCCESS;
}

/* Collective: the way in which the hybrid library makes a variant's calls at the point. *trials_ns: what finding it
 * took on the slowest rank; 0 where nothing is tried. */
static struct hybrid_way find_way(struct rounds *o, const struct variant *variant, int64_t *trials_ns) {
    struct hybrid_way way = {.method = variant->method};
    const bool warm = o->other_bytes == 0; /* trials are: with cold caches they would say nothing */
    *trials_ns = 0;
    if (variant->trials != NULL && warm) {
        HYBRID_CHECK(hybrid_comm_set_sync(o->comm, variant->sync));
        MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
        const int64_t began = timer_now_ns();
        HYBRID_CHECK(hybrid_memory_tune(o->point.memory, variant->trials, make_round, o, &way));
        *trials_ns = timer_now_ns() - began;
        MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, trials_ns, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD));
    }
    return way;
}

/* Collective. The paper's own method is the same in both places, so that it can be compared with itself. */
static void find_ways(struct rounds *o) {
    const struct variant *papers = variant_of_paper(o->point.operation);
    phase_enter(PHASE_CALL);
    o->point.way = o->point.papers_way = find_way(o, papers, &o->point.trials_ns);
    if (o->point.variant != papers) {
        o->point.way = find_way(o, o->point.variant, &o->point.trials_ns);
    }
}

static bool begin(void *context, struct sampler_point *p) {
    struct rounds *o = context;
    const struct operation *operation = operation_of(o, p->at);
    if (o->point.memory == NULL) {
        const size_t bytes = (size_t)o->message_bytes[p->at[AXIS_MESSAGE]];
        o->point.operation = operation;
        o->point.way = o->point.papers_way = (struct hybrid_way){.method = HYBRID_METHOD_AUTO};
        o->point.variant = variant_of(o, p->at);
        o->point.trials_ns = o->point.choice_handover_ns = 0;
        memset(o->point.calls, 0, sizeof o->point.calls);
        if (program_is_spent(o->program)) {
            return false; /* what follows takes time, too */
        }
        o->point.bytes = bytes;
        o->point.count = bytes / ELEMENT;
        o->point.contributed_bytes = operation_contributed_blocks(operation, o->info.ranks) * bytes;
        o->point.blocks = operation_read_blocks(operation, o->info.ranks);
        o->point.received = buffer(o->point.blocks * bytes);
        o->point.sent = operation_in_place(operation) ? NULL : buffer(o->point.contributed_bytes);
        if (hybrid_memory_create(o->comm, operation_memory_count(operation, o->info.ranks, o->point.count), ELEMENT,
                                 operation->shape, &o->point.memory) != MPI_SUCCESS) {
            return false;
        }
    }
    phase_collective(operation->name);
    find_ways(o);
    o->point.choice_handover_ns = handover_time(o->between_cores);
    phase_enter(PHASE_CALL);
    for (int i = 0; i < CHECKED_CALLS; i++) {
        make_calls(o, &(struct batch_kind){.call = call_library, .timed = WHOLE_CHECKED}, 1);
        make_calls(o, &(struct batch_kind){.call = call_hybrid, .timed = WHOLE_CHECKED}, 1);
        make_calls(o, &(struct batch_kind){.call = call_hybrid, .papers = true, .timed = WHOLE_CHECKED}, 1);
        if (o->info.nodes > 1) {
            make_calls(o, &(struct batch_kind){.call = call_hybrid, .timed = WHOLE_CHECKED, .steps = TWO_STEPS}, 1);
        }
    }
    p->shortest_ns = INT64_MAX;
    const int searched = o->info.nodes > 1 ? STEPS + 1 : STEPS;
    for (int batch = 0; batch < searched; batch++) {
        const int64_t taken_ns = choose_calls(o, (enum batch)batch);
        p->shortest_ns = taken_ns < p->shortest_ns ? taken_ns : p->shortest_ns;
        if (batch == STEPS) {
            choose_computation(o, taken_ns);
        }
    }
    /* What a batch costs once weighs as much in both. Alone, eviction can make one of them last 30 times as long. */
    int64_t *calls = o->point.calls;
    const int64_t more = calls[HYBRID_WHOLE] > calls[PAPERS_WHOLE] ? calls[HYBRID_WHOLE] : calls[PAPERS_WHOLE];
    calls[HYBRID_WHOLE] = calls[PAPERS_WHOLE] = more;
    return true;
}

static void end(void *context, const struct sampler_point *p) {
    struct rounds *o = context;
    if (o->point.memory != NULL) {
        HYBRID_CHECK(hybrid_memory_free(&o->point.memory));
    }
    free(o->point.sent);
    free(o->point.received);
    o->point.sent = NULL;
    o->point.received = NULL;
}

static int64_t count_faults(void *context, char *text, size_t text_size) {
    const struct rounds *o = context;
    const int64_t faults = (int64_t)o->faults;
    snprintf(text, text_size, "%s", o->fault);
    return group_share_faults(faults, text, text_size);
}

/* ---- what the record has ---- */

struct row {
    int64_t calls[BATCHES];
    int64_t computation_units;
    bool evicts;
    const char *node_method;
    const char *papers_node_method;
    int64_t trials_ns;
    int64_t choice_handover_ns;
};

#define CALLS(batch, calls_name, sentence)                                                                             \
    {.name = (calls_name),                                                                                             \
     .kind = FIELD_INTEGER,                                                                                            \
     .at = offsetof(struct row, calls[batch]),                                                                         \
     .help = (sentence),                                                                                               \
     .may_lack = (batch) >= STEPS}
static const struct field own_fields[] = {
    CALLS(LIBRARY_WHOLE, "library_whole_calls", "calls of a batch, searched once for the point"),
    CALLS(HYBRID_WHOLE, "hybrid_whole_calls", "likewise; that of papers_whole_calls, the larger number of the two"),
    CALLS(PAPERS_WHOLE, "papers_whole_calls", "likewise; that of hybrid_whole_calls"),
    CALLS(LIBRARY_ALONE, "library_alone_calls", "calls of a batch, searched once for the point"),
    CALLS(HYBRID_ALONE, "hybrid_alone_calls", "likewise"),
    CALLS(PAPERS_ALONE, "papers_alone_calls", "likewise"),
    CALLS(STEPS, "steps_calls", "likewise, where there are several nodes"),
    CALLS(COMPUTATION, "computation_calls", "computations of a batch, as many as steps_calls"),
    CALLS(OVERLAP, "overlap_calls", "calls of a batch, as many as steps_calls"),
    FIELD_MAY_LACK(struct row, computation_units,
                   "units of work of a computation, which takes at least as long as the two steps; where there are "
                   "several nodes"),
    FIELD(struct row, evicts, "whether ranks evicted what they had read from their caches"),
    {FIELD_BEGIN(struct row, node_method,
                 "how the node's memory was reduced: by the fastest method in trials, where there were any; of "
                 "reductions only"),
     .values = node_method_names, .may_lack = true},
    {FIELD_BEGIN(struct row, papers_node_method, "the same in the batches by the paper's own method"),
     .values = node_method_names, .may_lack = true},
    FIELD(struct row, trials_ns, "how long the trials of the variant took on the slowest rank; 0: nothing was tried"),
    FIELD(struct row, choice_handover_ns,
          "a hand-over of a cache line right after these trials; 0: no two ranks share a node"),
    FIELDS_END,
};

static void fill(void *context, const struct sampler_point *p, const sampler *s, void *row) {
    const struct rounds *o = context;
    const bool reduces = o->point.operation->reduces;
    struct row *r = row;
    *r = (struct row){.computation_units = o->info.nodes > 1 ? o->point.units : RECORD_UNKNOWN,
                      .evicts = o->point.way.evicts,
                      .node_method = reduces ? node_method_names[o->point.way.method] : NULL,
                      .papers_node_method = reduces ? node_method_names[o->point.papers_way.method] : NULL,
                      .trials_ns = o->point.trials_ns,
                      .choice_handover_ns = o->point.choice_handover_ns};
    for (int batch = 0; batch < BATCHES; batch++) {
        r->calls[batch] = batch < STEPS || o->info.nodes > 1 ? o->point.calls[batch] : RECORD_UNKNOWN;
    }
}

static void name_point(void *context, const struct sampler_point *p, char *text, size_t text_size) {
    const struct rounds *o = context;
    snprintf(text, text_size, "%s, %s, %" PRId64 " bytes", operation_of(o, p->at)->name, variant_of(o, p->at)->name,
             o->message_bytes[p->at[AXIS_MESSAGE]]);
}

/* ---- the table for people: times of one call, and their ratios ---- */

static void print_head(void *context) {
    printf("# medians of one call, ns; ratio: hybrid / library, of the medians\n");
    printf("%20s %16s %13s %15s %15s %6s %15s %15s %6s %5s  %s\n", "operation", "variant", "message_bytes",
           "t_library_whole", "t_hybrid_whole", "ratio", "t_library_alone", "t_hybrid_alone", "ratio", "reps", "stop");
}

/* The times of one call, and their ratio; nothing without repetitions. */
static void print_times(const struct rounds *o, const sampler *s, enum batch library, enum batch hybrid,
                        bool measured) {
    if (!measured) {
        printf(" %15s %15s %6s", "-", "-", "-");
        return;
    }
    const double t_library = (double)samples_median(sampler_samples(s), library) / (double)o->point.calls[library];
    const double t_hybrid = (double)samples_median(sampler_samples(s), hybrid) / (double)o->point.calls[hybrid];
    printf(" %15.0f %15.0f %6.2f", t_library, t_hybrid, t_hybrid / t_library);
}

static void print_row(void *context, const struct sampler_point *p, const sampler *s,
                      const struct record_point *record) {
    const struct rounds *o = context;
    printf("%20s %16s %13" PRId64, operation_of(o, p->at)->name, variant_of(o, p->at)->name,
           o->message_bytes[p->at[AXIS_MESSAGE]]);
    print_times(o, s, LIBRARY_WHOLE, HYBRID_WHOLE, record->repetitions > 0);
    print_times(o, s, LIBRARY_ALONE, HYBRID_ALONE, record->repetitions > 0);
    printf(" %5zu  %s%s\n", record->repetitions, record->stop_reason, record->data_errors > 0 ? " WRONG-DATA" : "");
    fflush(stdout);
}

/* The time of a whole batch, over all ranks. */
#define SPAN(batch, name_ns, stops_point, sentence)                                                                    \
    {.name = (name_ns),                                                                                                \
     .over = OVER_SPAN,                                                                                                \
     .term = BEGIN(batch),                                                                                             \
     .end = END(batch),                                                                                                \
     .stops = (stops_point),                                                                                           \
     .help = "a whole batch, max(end) - min(begin) over ranks: " sentence}

/* The number of a batch of the whole or of the collective alone is that of its series: print_times counts on it. */
enum { SERIES_OF_A_NODE = 11, SERIES_OF_NODES = 14 };
static const struct repetition_series series[SERIES_OF_NODES] = {
    [LIBRARY_WHOLE] = SPAN(LIBRARY_WHOLE, "t_library_whole_ns", true, "the MPI library: write, collective, read"),
    [HYBRID_WHOLE] = SPAN(HYBRID_WHOLE, "t_hybrid_whole_ns", true, "the hybrid library: write, collective, read"),
    [PAPERS_WHOLE] = SPAN(PAPERS_WHOLE, "t_papers_whole_ns", false, "the same by the paper's own method"),
    [LIBRARY_ALONE] = SPAN(LIBRARY_ALONE, "t_library_alone_ns", false, "the MPI library: the collective alone"),
    [HYBRID_ALONE] = SPAN(HYBRID_ALONE, "t_hybrid_alone_ns", false, "the hybrid library: the collective alone"),
    [PAPERS_ALONE] = SPAN(PAPERS_ALONE, "t_papers_alone_ns", false, "the same by the paper's own method"),
    [STEPS] = {.name = "handover_least_ns",
               .over = OVER_LARGEST,
               .term = HANDOVER_LEAST,
               .help = "the least time in which ranks of a node handed a cache line to each other, of those after each "
                       "batch; 0: no two ranks share a node"},
    {.name = "handover_most_ns", .over = OVER_LARGEST, .term = HANDOVER_MOST, .help = "the most time of these"},
    {.name = "order",
     .over = OVER_ORDER,
     .help =
         "in which order the batches of each group ran, a digit each: 1 library, 2 hybrid, 3 the paper's own method"},
    {.name = "late_starts", .over = OVER_LATE},
    {.name = "start_imbalance_ns",
     .over = OVER_IMBALANCE,
     .term = START,
     .help = "max(start) - min(start) over ranks of the first batch; left out without a clock"},
    [SERIES_OF_A_NODE] =
        SPAN(STEPS, "t_steps_ns", false, "the two steps of the hybrid library's collective, start and wait"),
    SPAN(COMPUTATION, "t_computation_ns", false, "a computation alone"),
    SPAN(OVERLAP, "t_overlap_ns", false, "start, the computation, wait"),
};
_Static_assert(COUNT(series) <= REPETITION_MOST_SERIES, "REPETITION_MOST_SERIES is too small");

#define POINTS(parts_made, series_made)                                                                                \
    {                                                                                                                  \
        .samples = {.repeated = {.parts = parts,                                                                       \
                                 .part_count = (parts_made),                                                           \
                                 .group = GROUP,                                                                       \
                                 .terms = TERMS,                                                                       \
                                 .series = series,                                                                     \
                                 .series_count = (series_made),                                                        \
                                 .wrong = wrong}},                                                                     \
        .has_point = has_point,                                                                                        \
        .begin = begin,                                                                                                \
        .end = end,                                                                                                    \
        .faults = count_faults,                                                                                        \
        .own = own_fields,                                                                                             \
        .row_bytes = sizeof(struct row),                                                                               \
        .fill = fill,                                                                                                  \
        .name = name_point,                                                                                            \
        .print_head = print_head,                                                                                      \
        .print_row = print_row,                                                                                        \
    }
const struct sampler_kind rounds_points = POINTS(STEPS, SERIES_OF_A_NODE);
const struct sampler_kind rounds_points_of_nodes = POINTS(BATCHES, SERIES_OF_NODES);

bool rounds_begin(struct program *program, void *context, sampler *s, char *reason, size_t reason_size) {
    struct rounds *o = context;
    if (o->info.nodes > 1) {
        o->work = fixed_work_create(program->team, program->computation, WORK_UNIT_NS);
    }
    return true;
}
