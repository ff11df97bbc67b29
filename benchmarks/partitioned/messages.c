#include "messages.h"

#include "fail.h"
#include "fail_mpi.h"
#include "pattern.h"
#include "phase.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* What a thread does with a delay is read where it is planned so long: reading takes some microseconds. */
enum { LEAST_ACCOUNTED_NS = 1000000 };

/* ---- contents ---- */

static void note_fault(struct pipeline *o, int64_t count, size_t word, uint64_t got, uint64_t expected, bool early) {
    if (pthread_mutex_lock(&o->faults.lock) != 0) {
        fail_die("pthread_mutex_lock failed");
    }
    if (atomic_load(&o->faults.count) == 0) {
        const struct channel *c = o->current;
        const size_t partition = word * c->partitions / c->count; /* words may be fewer than partitions */
        snprintf(o->faults.text, sizeof o->faults.text,
                 "%s: wrong data in partition %zu of %zu (word %zu, transfer %" PRIu64 "), %s: received 0x%016" PRIx64
                 ", expected 0x%016" PRIx64,
                 c->approach->name, partition, c->partitions, word, o->transfer,
                 early ? "when MPI_Parrived said that it had arrived" : "when the transfer was complete", got,
                 expected);
    }
    atomic_fetch_add(&o->faults.count, count);
    o->faults.early += early ? count : 0;
    if (pthread_mutex_unlock(&o->faults.lock) != 0) {
        fail_die("pthread_mutex_unlock failed");
    }
}

/* Checks count words from `first` on, which may be of several neighbours. */
static void check_words(struct pipeline *o, size_t first, size_t count, bool early) {
    const struct channel *c = o->current;
    const size_t of_each = c->count / c->neighbours;
    for (const size_t end = first + count; first < end; first += count) {
        struct pattern_fault fault = {.count = 0};
        const size_t neighbour = first / of_each;
        const size_t neighbours_end = (neighbour + 1) * of_each;
        count = (end < neighbours_end ? end : neighbours_end) - first;
        const uint64_t wrong = pattern_check_words(o->words + first, count, (uint64_t)o->plan->seed,
                                                   o->writers[neighbour], pattern_first(o->transfer) + first, &fault);
        if (wrong > 0) {
            note_fault(o, (int64_t)wrong, first + fault.position, fault.got_word, fault.expected_word, early);
        }
    }
}

/* What a thread does with a partition that MPI_Parrived has announced: it reads some of its words, as an application
 * would begin to. All words are checked after the transfer. */
static void consume(void *context, size_t first, size_t count) {
    enum { LOOKS = 8 };
    const size_t step = count > LOOKS ? count / LOOKS : 1;
    for (size_t i = 0; i < count; i += step) {
        check_words(context, first + i, 1, true);
    }
    check_words(context, first + count - 1, 1, true);
}

/* ---- work before partitions ---- */

/* Sets the work of the next transfer. */
static void choose_work(struct pipeline *o, size_t partitions) {
    const struct compute_kernel *kernel = &compute_kernels[o->program->computation];
    const struct delay *delay = o->point.delay;
    const struct noise noise = {.kind = (enum noise_kind)o->plan->noise,
                                .relative = o->plan->noise_relative,
                                .seed = (uint64_t)o->plan->seed,
                                .transfer = o->transfer,
                                .pair = o->number};
    for (size_t i = 0; o->provokes && i < partitions; i++) {
        o->work_sizes[i] = i + 1 == partitions ? MESSAGES_PROVOKING_NS : 0;
    }
    for (size_t i = 0; !o->provokes && i < partitions; i++) {
        const bool late = !o->leads_in && delay != NULL && delay->target_ns > 0;
        const double factor = late ? noise_factor(&noise, i, partitions) : 0;
        if (o->plan->method == METHOD_PAPER) {
            o->work_sizes[i] = factor > 0 ? (uint64_t)(factor * (double)delay->target_ns) : 0;
        } else if (factor == 1) {
            o->work_sizes[i] = delay->calibration.size;
        } else if (factor > 0) {
            const double size = (double)delay->calibration.size * pow(factor, 1 / kernel->exponent);
            const double steps = floor((size - (double)kernel->least) / (double)kernel->step + 0.5);
            o->work_sizes[i] = kernel->least + (uint64_t)fmax(steps, 0) * kernel->step;
        } else {
            o->work_sizes[i] = 0;
        }
    }
}

void messages_reserve_work(struct pipeline *o) {
    const struct compute_kernel *kernel = &compute_kernels[o->program->computation];
    const uint64_t size = o->point.delay != NULL ? o->point.delay->calibration.size : 0;
    if (size > 0) {
        const double most = o->plan->noise == NOISE_LAST ? 1 : 1 + 10 * o->plan->noise_relative;
        compute_reserve(o->program->team,
                        (uint64_t)ceil((double)size * pow(most, 1 / kernel->exponent)) + kernel->step);
    }
}

/* ---- transfers ---- */

void messages_prepare(struct pipeline *o, const struct channel *c) {
    o->transfer++;
    if (c->sends) {
        pattern_fill_words(o->words, c->count, (uint64_t)o->plan->seed, o->number, pattern_first(o->transfer));
        choose_work(o, c->partitions);
    }
    for (size_t i = 0; i < o->other_bytes; i += 64) {
        o->other_data[i]++;
    }
    if (c->sends && o->point.delay != NULL && o->point.delay->calibration.size > 0) {
        compute_warm(o->program->team, o->point.delay->calibration.size);
    }
}

void messages_run(struct pipeline *o, struct channel *c, start_line *line) {
    const struct transfer_means means = {.team = o->program->team,
                                         .work_sizes = o->work_sizes,
                                         .spins = o->plan->method == METHOD_PAPER || o->provokes,
                                         .polls = o->provokes && c->approach->polls,
                                         .helper = o->program->helper,
                                         .probed = o->probed,
                                         .accounts = o->point.delay != NULL && !o->leads_in && !o->provokes &&
                                                     o->point.delay->target_ns >= LEAST_ACCOUNTED_NS};
    o->current = c;
    phase_collective(c->approach->name);
    o->times = transfer_run(c, &means, line);
}

/* Returns a local time on the clock that all ranks share; 0 where there is none. */
static int64_t global_time(const struct pipeline *o, int64_t local) {
    const clock_model *clock = o->program->clock;
    const bool shared = clock != NULL && clock_quality_of(clock).method != CLOCK_NONE;
    return shared ? clock_to_global(clock, local) : 0;
}

static int64_t later(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* Makes the times of a receiver those of the transfer. senders: what its senders timed, on its own clock. A transfer
 * starts when the first rank starts, and its last partition is ready when that of the last sender is. */
static void combine_times(struct transfer_times *times, const struct transfer_times *senders, size_t count) {
    for (size_t i = 0; i < count; i++) {
        times->computed = later(times->computed, senders[i].computed);
        times->last_ready = i == 0 ? senders[i].last_ready : later(times->last_ready, senders[i].last_ready);
        times->delay = later(times->delay, senders[i].delay);
        times->start = senders[i].start < times->start ? senders[i].start : times->start;
    }
}

void messages_settle(struct pipeline *o, const struct channel *c) {
    struct transfer_times *times = &o->times;
    struct transfer_times senders[APPROACH_MOST_NEIGHBOURS];
    const int64_t own_start = global_time(o, times->start);
    int64_t facts[] = {times->computed, times->last_ready - times->start, times->delay, own_start};
    enum { FACTS = sizeof facts / sizeof *facts };
    phase_enter(PHASE_GATHER);
    for (size_t i = 0; i < c->neighbours; i++) {
        if (c->sends) {
            MPI_CHECK(MPI_Send(facts, FACTS, MPI_INT64_T, o->peers[i], (int)i, o->all));
        } else {
            MPI_CHECK(MPI_Recv(facts, FACTS, MPI_INT64_T, o->peers[i], (int)i, o->all, MPI_STATUS_IGNORE));
            const int64_t start = times->start + (facts[3] - own_start);
            senders[i] = (struct transfer_times){
                .start = start, .last_ready = start + facts[1], .computed = facts[0], .delay = facts[2]};
        }
    }
    if (!c->sends) {
        combine_times(times, senders, c->neighbours);
        phase_enter(PHASE_CHECK);
        check_words(o, 0, c->count, false);
    }
}

void messages_transfer(struct pipeline *o, struct channel *c) {
    messages_prepare(o, c);
    MPI_CHECK(MPI_Barrier(c->neighbours == 1 ? o->pair : o->all));
    messages_run(o, c, NULL);
    messages_settle(o, c);
}

/* ---- channels ---- */

void messages_open(struct pipeline *o, struct channel *c, const struct approach *approach,
                   struct messages_shape shape) {
    const int64_t neighbours = (int64_t)shape.neighbours;
    const int64_t sent = neighbours * shape.send_partitions;
    const int64_t received = neighbours * shape.receive_partitions;
    const bool paired = shape.neighbours == 1;
    *c = (struct channel){.approach = approach,
                          .sends = o->sends,
                          .threads = o->program->threads,
                          .neighbours = shape.neighbours,
                          .peers = paired ? &o->partner : o->peers,
                          .words = o->words,
                          .count = (size_t)(neighbours * shape.message_bytes) / sizeof *o->words,
                          .partitions = (size_t)(o->sends ? sent : received),
                          .partitions_of_other_side = (size_t)(o->sends ? received : sent),
                          .aggregation_bytes = (size_t)shape.aggregation_bytes,
                          .arrived = consume,
                          .context = o};
    MPI_CHECK(MPI_Comm_dup(paired ? o->pair : o->all, &c->comm));
    approach_open(c);
    messages_transfer(o, c); /* it leaves no request that was never started */
}

void messages_close(struct channel *c) {
    if (c->approach != NULL) {
        MPI_Comm comm = c->comm;
        approach_close(c);
        MPI_CHECK(MPI_Comm_free(&comm));
    }
}
