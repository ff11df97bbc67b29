#include "cells.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- what was asked for ---- */

const struct option_values cells_message_bytes[] = {
    [GRID_SMOKE] = {{8, 1024, 16384, 262144}, 4},
    [GRID_NIGHTLY] = {{8, 64, 512, 4096, 32768, 262144, 1048576}, 7},
    [GRID_FULL] = {{8,    16,    32,    64,    128,    256,    512,    1024,    2048,    4096,
                    8192, 16384, 32768, 65536, 131072, 262144, 524288, 1048576, 2097152, 4194304},
                   20}};
/* The sizes for which other ways than `blocking` are measured. */
static const struct option_values detailed_bytes[] = {[GRID_SMOKE] = {{262144}, 1},
                                                      [GRID_NIGHTLY] = {{512, 32768, 1048576}, 3},
                                                      [GRID_FULL] = {{8, 1024, 16384, 131072, 1048576, 4194304}, 6}};
const struct option_values cells_lateness_ms[] = {
    [GRID_SMOKE] = {{10}, 1}, [GRID_NIGHTLY] = {{10}, 1}, [GRID_FULL] = {{10, 100, 1000}, 3}};

void cells_fill(struct cells_asked *asked, int grid) {
    options_fill_range(&asked->operations, 0, OPERATION_COUNT);
    options_fill_list(&asked->lateness_ms, &cells_lateness_ms[grid]);
    asked->preset = options_fill_list(&asked->message_bytes, &cells_message_bytes[grid]);
    asked->detailed = asked->preset ? detailed_bytes[grid].items : asked->message_bytes.values;
    asked->detailed_count = asked->preset ? detailed_bytes[grid].count : asked->message_bytes.count;
}

/* Powers of two below the number of ranks, and that number, where no sizes of communicators were asked for. */
static void fill_communicators(struct cells *o) {
    const struct option_list *asked = &o->asked->communicators;
    for (size_t i = 0; i < asked->count && o->communicator_count < CELLS_MOST_COMMUNICATORS; i++) {
        o->communicators[o->communicator_count++] = asked->values[i];
    }
    for (int64_t size = 2; asked->count == 0 && size < o->program->ranks; size *= 2) {
        o->communicators[o->communicator_count++] = size;
    }
    if (asked->count == 0) {
        o->communicators[o->communicator_count++] = o->program->ranks;
    }
}

/* The times that were asked for, but no shorter than a batch; each once. */
static void fill_lateness(struct cells *o, int64_t batch_ns) {
    const struct option_list *asked = &o->asked->lateness_ms;
    for (size_t i = 0; i < asked->count && i < CELLS_MOST_LATENESS; i++) {
        const int64_t asked_ns = asked->values[i] * 1000000;
        const int64_t time_ns = asked_ns > batch_ns ? asked_ns : batch_ns;
        if (o->lateness_count == 0 || time_ns > o->lateness_ns[o->lateness_count - 1]) {
            o->lateness_ns[o->lateness_count++] = time_ns;
        }
    }
}

struct cells cells_of(const struct program *program, const struct cells_asked *asked, int64_t batch_ns) {
    struct cells o = {.program = program, .asked = asked};
    for (size_t i = 0; i < asked->operations.count; i++) {
        const struct operation *operation = &operation_table[asked->operations.values[i]];
        o.operations[i] = operation;
        o.blocking[i] = operation_collective(operation);
        o.nonblocking[i] = operation_nonblocking(operation);
    }
    fill_communicators(&o);
    fill_lateness(&o, batch_ns);
    return o;
}

/* ---- whether they can be measured ---- */

/* Returns the largest message_bytes of a collective on these ranks: its buffers take at most half of the memory of a
 * rank, and MPI counts with int. */
static uint64_t most_bytes(const struct program *program, const struct collective *collective) {
    const uint64_t counted = collective_most_bytes(collective, program->ranks);
    const uint64_t fits = program->memory_bytes / 2 / collective_most_blocks(collective, program->ranks);
    return program->memory_bytes > 0 && fits < counted ? fits : counted;
}

void cells_check(const struct cells *o, char *error, size_t error_size) {
    const struct program *program = o->program;
    program_check_crowd(program, error, error_size);
    if (program->ranks < 2) {
        snprintf(error, error_size, "%d rank: a collective needs at least 2; start with mpiexec -n 2 or more",
                 program->ranks);
    } else if (program->ranks > PATTERN_MAX_SUM_RANKS) {
        snprintf(error, error_size, "%d ranks: the sums of more than %d are not exact, so that they cannot be checked",
                 program->ranks, PATTERN_MAX_SUM_RANKS);
    } else if (program->configuration->source == PROGRESS_APPLICATION) {
        snprintf(error, error_size,
                 "configuration %s: a blocking collective has no request for the helper; use basic, async or dedicated",
                 program->configuration->name);
    }
    for (size_t i = 0; i < o->communicator_count && error[0] == '\0'; i++) {
        if (o->communicators[i] > program->ranks) {
            snprintf(error, error_size, "--communicators: %" PRId64 " ranks are more than the %d that there are",
                     o->communicators[i], program->ranks);
        }
    }
    for (size_t i = 0; i < o->asked->operations.count && !o->asked->preset && error[0] == '\0'; i++) {
        const struct collective *collective = &o->blocking[i];
        const uint64_t most = most_bytes(program, collective);
        for (size_t j = 0; j < o->asked->message_bytes.count && collective_has_message(collective); j++) {
            if ((uint64_t)o->asked->message_bytes.values[j] > most) {
                snprintf(error, error_size,
                         "--message-bytes: %" PRId64 " bytes are too many for %s on %d ranks: at most %" PRIu64
                         " fit into half of a rank's share of memory and into MPI's counts",
                         o->asked->message_bytes.values[j], collective->name, program->ranks, most / 8 * 8);
            }
        }
    }
}

/* ---- the cells ---- */

int64_t cells_message(const struct cells *o, const size_t at[AXES]) {
    return collective_has_message(&o->blocking[at[AXIS_OPERATION]]) ? o->asked->message_bytes.values[at[AXIS_MESSAGE]]
                                                                    : 0;
}

const struct way *cells_way(const struct cells *o, const size_t at[AXES]) {
    return &way_table[o->asked->ways.values[at[AXIS_WAY]]];
}

int64_t cells_lateness(const struct cells *o, const size_t at[AXES]) {
    return way_is_timed(cells_way(o, at)) ? o->lateness_ns[at[AXIS_LATENESS]] : 0;
}

static bool is_detailed(const struct cells *o, const size_t at[AXES]) {
    const int64_t message_bytes = cells_message(o, at);
    bool found = message_bytes == 0;
    for (size_t i = 0; i < o->asked->detailed_count; i++) {
        found = found || o->asked->detailed[i] == message_bytes;
    }
    return found;
}

/* The smallest of the sizes for which other ways than `blocking` are measured. A collective without data has one. */
static bool is_first_detailed(const struct cells *o, const size_t at[AXES]) {
    bool found = is_detailed(o, at);
    for (size_t i = 0; i < o->asked->detailed_count; i++) {
        found = found && o->asked->detailed[i] >= cells_message(o, at);
    }
    return found || cells_message(o, at) == 0;
}

static bool is_point(const struct cells *o, const size_t at[AXES]) {
    const struct collective *collective = &o->blocking[at[AXIS_OPERATION]];
    const struct way *way = cells_way(o, at);
    /* The wait for a late rank is over before the data move: longer ones are measured with one size. */
    if (at[AXIS_LATENESS] > 0 && !(way_is_timed(way) && is_first_detailed(o, at))) {
        return false;
    }
    /* So is all work out of step, with the smallest size and the shortest time, if nobody asked for others. */
    const bool out_of_step = way->even || way->skewed;
    if (out_of_step && o->asked->preset && (at[AXIS_LATENESS] > 0 || at[AXIS_MESSAGE] > 0)) {
        return false;
    }
    if (!collective_has_message(collective) && at[AXIS_MESSAGE] > 0) {
        return false;
    }
    if (o->asked->preset && (uint64_t)cells_message(o, at) > most_bytes(o->program, collective)) {
        return false;
    }
    if (way->nonblocking && !o->nonblocking[at[AXIS_OPERATION]].available) {
        return false;
    }
    const struct operation *operation = o->operations[at[AXIS_OPERATION]];
    if ((way->once && !operation->modelled) || (way_is_timed(way) && !operation->waits_for_all)) {
        return false;
    }
    const bool all_ranks = at[AXIS_COMMUNICATOR] + 1 == o->communicator_count;
    return way->once || way == &way_table[WAY_BLOCKING] || (all_ranks && (out_of_step || is_detailed(o, at)));
}

bool cells_next(const struct cells *o, size_t at[AXES], bool first) {
    const size_t counts[AXES] = {o->asked->operations.count, o->communicator_count, o->asked->message_bytes.count,
                                 o->asked->ways.count, o->lateness_count};
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
