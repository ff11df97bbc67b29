#include "pipeline.h"

#include "fail.h"
#include "fail_mpi.h"
#include "group.h"
#include "pattern.h"
#include "phase.h"
#include "reproducer.h"
#include "timer.h"
#include "topology.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What each rank times in a repetition. START is a local time. The others are durations, which the receiver of a pair
 * knows: without the computation, which is no part of a transfer. A sender has 0. The two of a computation are the
 * sender's, and a receiver has 0. */
enum term { START, TIME, AFTER_LAST, DELAY, REF_TIME, COMPUTING_CPU, COMPUTING_WAITING, TERMS };

/* Indices of the first series. */
enum { T, T_REF };

/* The message from which beta is measured: large enough for the bandwidth to prevail. */
enum { LEAST_BANDWIDTH_BYTES = 4 << 20 };

/* Bytes per second where beta is not known: for shares of the budget, and for delays. */
#define GUESSED_BANDWIDTH 1e9

/* Readings of the network: in a series before the points, and before each point; messages before the first one, while
 * connections grow to their full speed. */
enum { READINGS_IN_SERIES = 9, READINGS_BEFORE_POINT = 1, UNREAD_MESSAGES = 3 };

/* The share of the budget that all readings together may take, and the budget that counts where there is none. */
static const double most_of_budget = 0.15;
static const double budget_without_one = 20;

/* The delays are planned anew where beta, read again after their search, is farther from the planned one than this,
 * relative; they are planned so often at most. */
static const double bandwidth_tolerance = 0.05;
enum { MOST_PLANS = 3 };

/* A message up to so many bytes is preceded by one that is not timed. */
enum { MOST_LEAD_IN_BYTES = 256 << 10 };

/* What a thread does with a delay is read where it is planned so long: reading takes some microseconds. */
enum { LEAST_ACCOUNTED_NS = 1000000 };

/* Transfers that look for wrong data: how many, and how late their last partition is. */
enum { PROVOKING_TRANSFERS = 5, PROVOKING_NS = 1000000 };

/* Cold caches: so many times the largest cache is read before each transfer. */
enum { TIMES_CACHE = 2 };

const char *const noise_names[NOISES + 1] = {"last", "none", "uniform", "normal", "single", NULL};

int64_t pipeline_receive_partitions(const struct pipeline_plan *plan, int64_t send_partitions) {
    const int64_t coarser = (int64_t)plan->approach->coarser;
    if (plan->receive_partitions > 0) {
        return plan->receive_partitions;
    }
    if (coarser == 0) {
        return send_partitions;
    }
    return send_partitions % coarser == 0 ? send_partitions / coarser : 1;
}

bool pipeline_divides(const struct pipeline_plan *plan, int64_t message_bytes, int64_t send_partitions) {
    const int64_t received = pipeline_receive_partitions(plan, send_partitions);
    const int64_t more = send_partitions > received ? send_partitions : received;
    return message_bytes % (more * (int64_t)sizeof(uint64_t)) == 0;
}

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
        const uint64_t wrong = pattern_check_words(o->words + first, count, o->plan->seed, o->writers[neighbour],
                                                   pattern_first(o->transfer) + first, &fault);
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

/* Returns a number in [0, 1) that follows from the seed, the pair, the transfer and the partition. */
static double random_share(const struct pipeline *o, uint64_t partition) {
    uint64_t x = o->plan->seed + 0x9E3779B97F4A7C15u * (o->transfer + 1);
    x ^= ((uint64_t)o->number << 40) + partition;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    x ^= x >> 31;
    return (double)(x >> 11) / 9007199254740992.0;
}

/* Returns how long the computation for a partition takes, relative to the average. */
static double noise_factor(const struct pipeline *o, size_t partition, size_t partitions) {
    const double sigma = o->plan->noise_relative;
    switch (o->plan->noise) {
    case NOISE_UNIFORM:
        return 1 + sqrt(3) * sigma * (2 * random_share(o, partition) - 1);
    case NOISE_NORMAL: {
        const double u = 1 - random_share(o, 2 * partition);
        const double v = random_share(o, 2 * partition + 1);
        return fmax(1 + sigma * sqrt(-2 * log(u)) * cos(2 * acos(-1) * v), 0);
    }
    case NOISE_SINGLE:
        return partition == (size_t)(random_share(o, partitions) * (double)partitions) ? 1 + sigma : 1;
    case NOISE_LAST:
        return partition + 1 == partitions;
    case NOISE_NONE:
    case NOISES:
        break;
    }
    return 1;
}

/* Sets the work of the next transfer. */
static void choose_work(struct pipeline *o, size_t partitions) {
    const struct compute_kernel *kernel = &compute_kernels[o->program->computation];
    const struct delay *delay = o->point.delay;
    for (size_t i = 0; o->provokes && i < partitions; i++) {
        o->work_sizes[i] = i + 1 == partitions ? PROVOKING_NS : 0;
    }
    for (size_t i = 0; !o->provokes && i < partitions; i++) {
        const bool late = !o->leads_in && delay != NULL && delay->target_ns > 0;
        const double factor = late ? noise_factor(o, i, partitions) : 0;
        if (o->plan->paper) {
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

/* Makes room for the largest work that noise can choose. */
static void reserve_work(struct pipeline *o) {
    const struct compute_kernel *kernel = &compute_kernels[o->program->computation];
    const uint64_t size = o->point.delay != NULL ? o->point.delay->calibration.size : 0;
    if (size > 0) {
        const double most = o->plan->noise == NOISE_LAST ? 1 : 1 + 10 * o->plan->noise_relative;
        compute_reserve(o->program->team,
                        (uint64_t)ceil((double)size * pow(most, 1 / kernel->exponent)) + kernel->step);
    }
}

/* ---- transfers ---- */

static void prepare_contents(struct pipeline *o, const struct channel *c) {
    o->transfer++;
    if (c->sends) {
        pattern_fill_words(o->words, c->count, o->plan->seed, o->number, pattern_first(o->transfer));
        choose_work(o, c->partitions);
    }
    for (size_t i = 0; i < o->other_bytes; i += 64) {
        o->other_data[i]++;
    }
    if (c->sends && o->point.delay != NULL && o->point.delay->calibration.size > 0) {
        compute_warm(o->program->team, o->point.delay->calibration.size);
    }
}

static void run_transfer(struct pipeline *o, struct channel *c, start_line *line) {
    const struct transfer_means means = {.team = o->program->team,
                                         .work_sizes = o->work_sizes,
                                         .spins = o->plan->paper || o->provokes,
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

/* All ranks of a channel, after a transfer: the receivers learn what their senders timed, and check what arrived. */
static void settle_transfer(struct pipeline *o, const struct channel *c) {
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

/* What a channel is made of, for each neighbour. */
struct shape {
    size_t neighbours;
    int64_t message_bytes;
    int64_t send_partitions;
    int64_t receive_partitions;
    int64_t aggregation_bytes;
};

static struct channel make_channel(struct pipeline *o, const struct approach *approach, struct shape shape) {
    const int64_t neighbours = (int64_t)shape.neighbours;
    const int64_t sent = neighbours * shape.send_partitions;
    const int64_t received = neighbours * shape.receive_partitions;
    const bool paired = shape.neighbours == 1;
    struct channel c = {.approach = approach,
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
    MPI_CHECK(MPI_Comm_dup(paired ? o->pair : o->all, &c.comm));
    approach_open(&c);
    return c;
}

static void close_channel(struct channel *c) {
    if (c->approach != NULL) {
        MPI_Comm comm = c->comm;
        approach_close(c);
        MPI_CHECK(MPI_Comm_free(&comm));
    }
}

/* The first transfer of a channel makes connections and buffers. It is apart from the others, and leaves no request
 * that was never started. */
static void make_first_transfer(struct pipeline *o, struct channel *c) {
    prepare_contents(o, c);
    MPI_CHECK(MPI_Barrier(c->neighbours == 1 ? o->pair : o->all));
    run_transfer(o, c, NULL);
    settle_transfer(o, c);
}

/* Transfers of partitioned communication whose last partition is very late, so that a library that announces a
 * partition, or completes, too early is found at every point and not by chance. */
static void provoke_faults(struct pipeline *o, struct channel *c) {
    o->provokes = true;
    for (int i = 0; i < PROVOKING_TRANSFERS; i++) {
        make_first_transfer(o, c);
    }
    o->provokes = false;
}

/* Opens what sends one message, and for short messages the channel of the message before each. */
static void open_single(struct pipeline *o, struct single *single, struct shape shape) {
    single->message = make_channel(o, &approach_table[APPROACH_SINGLE], shape);
    make_first_transfer(o, &single->message);
    if (shape.message_bytes * (int64_t)shape.neighbours <= MOST_LEAD_IN_BYTES) {
        single->before = make_channel(o, &approach_table[APPROACH_SINGLE], shape);
        make_first_transfer(o, &single->before);
    }
}

static void close_single(struct single *single) {
    close_channel(&single->message);
    close_channel(&single->before);
}

/* The reference is opened, and used once, before the approach under test: Open MPI 5.0.11 hangs where a communicator is
 * made while its first partitioned communication is being set up. */
static void open_point(struct pipeline *o, int64_t message_bytes, int64_t send_partitions, int64_t aggregation_bytes) {
    struct shape shape = {.neighbours = approach_neighbours(o->plan->approach),
                          .message_bytes = message_bytes,
                          .send_partitions = send_partitions,
                          .receive_partitions = send_partitions};
    open_single(o, &o->point.reference, shape);
    o->one_message = &o->point.reference;
    shape.receive_partitions = pipeline_receive_partitions(o->plan, send_partitions);
    shape.aggregation_bytes = aggregation_bytes;
    o->point.tested = make_channel(o, o->plan->approach, shape);
    make_first_transfer(o, &o->point.tested);
    if (o->plan->approach->partitioned) {
        provoke_faults(o, &o->point.tested);
    }
}

static void close_point(struct pipeline *o) {
    close_channel(&o->point.tested);
    close_single(&o->point.reference);
    o->point.delay = NULL;
}

/* ---- parts of a repetition ---- */

/* One message that is not timed, before either part of a repetition: otherwise the approach would be the first after
 * the ranks' agreement and the reference the second, and the first of two short messages can be slower. It is the same
 * before both: on a channel of its own, because a second message in a row on one channel can be faster; and all ranks
 * begin it together on an idle network, because how it went can show in the next message. */
static void lead_in(struct pipeline *o) {
    struct channel *before = &o->one_message->before;
    if (before->approach != NULL) {
        o->leads_in = true;
        prepare_contents(o, before);
        phase_enter(PHASE_START);
        start_untimed(o->line);
        run_transfer(o, before, NULL);
        settle_transfer(o, before);
        o->leads_in = false;
    }
}

/* Returns the time of the last transfer (section 2.1), ns; 0 on a sender. */
static int64_t transfer_time(const struct pipeline *o) {
    return o->sends ? 0 : o->times.end - o->times.start - o->times.computed;
}

static void prepare_reference(void *context) {
    struct pipeline *o = context;
    lead_in(o);
    prepare_contents(o, &o->one_message->message);
}

static void time_reference(void *context, start_line *line, struct repetition *r) {
    struct pipeline *o = context;
    run_transfer(o, &o->one_message->message, line);
    settle_transfer(o, &o->one_message->message);
    r->terms[REF_TIME] = transfer_time(o);
}

static void prepare_tested(void *context) {
    struct pipeline *o = context;
    lead_in(o);
    prepare_contents(o, &o->point.tested);
}

static void time_tested(void *context, start_line *line, struct repetition *r) {
    struct pipeline *o = context;
    run_transfer(o, &o->point.tested, line);
    r->terms[START] = o->times.began;
    settle_transfer(o, &o->point.tested);
    r->terms[TIME] = transfer_time(o);
    r->terms[AFTER_LAST] = o->sends ? 0 : o->times.end - o->times.last_ready;
    r->terms[DELAY] = o->times.delay;
    r->terms[COMPUTING_CPU] = o->times.computing_cpu;
    r->terms[COMPUTING_WAITING] = o->times.computing_waiting;
}

static const struct repetition_part tested_part = {.prepare = prepare_tested, .time = time_tested};
static const struct repetition_part reference_part = {.prepare = prepare_reference, .time = time_reference};

static bool wrong(void *context) {
    struct pipeline *o = context;
    return atomic_load(&o->faults.count) > 0;
}

/* Rank 0: writes the reproducer for the point that is being measured, where that was asked for and can be. */
static void write_reproducer(const struct pipeline *o, const char *found) {
    const struct channel *c = &o->point.tested;
    char error[512] = "";
    if (o->program->rank != 0 || o->plan->reproducer == NULL || c->approach == NULL || !c->approach->partitioned) {
        return;
    }
    const int64_t delay_ns = o->point.delay != NULL ? o->point.delay->target_ns : 0;
    const struct reproducer r = {.ranks = o->program->ranks,
                                 .neighbours = c->neighbours,
                                 .words = c->count / c->neighbours,
                                 .send_partitions = c->partitions / c->neighbours,
                                 .receive_partitions = c->partitions_of_other_side / c->neighbours,
                                 .asks = c->approach->receive.ready != NULL,
                                 .starts_together = c->approach == &approach_table[APPROACH_PART_STARTALL],
                                 .polls = c->approach->polls,
                                 .delay_ns = delay_ns > PROVOKING_NS ? delay_ns : PROVOKING_NS,
                                 .found = found};
    if (!reproducer_write(o->plan->reproducer, &r, error, sizeof error)) {
        fail_report("%s", error);
    }
}

static int64_t count_faults(void *context, char *text, size_t text_size) {
    struct pipeline *o = context;
    int64_t faults = atomic_load(&o->faults.count);
    text[0] = '\0';
    if (faults > 0) {
        snprintf(text, text_size, "rank %d: %s", o->program->rank, o->faults.text);
    }
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &faults, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
    if (!group_share_error(text, text_size)) {
        write_reproducer(o, text);
    }
    return faults;
}

/* ---- the network ---- */

static const struct repetition_series alone_series[] = {{.name = "t_ref_ns", .over = OVER_LARGEST, .term = REF_TIME}};
static const struct repetition_part *const alone_parts[] = {&reference_part};
static const struct repetition_kind reference_alone = {
    .parts = alone_parts, .part_count = 1, .terms = TERMS, .series = alone_series, .series_count = 1, .wrong = wrong};

/* Collective: returns the time of one message, ns, the same on all ranks. */
static int64_t time_of_single(struct pipeline *o, struct single *single) {
    struct repetition r = {.number = 0};
    o->one_message = single;
    return repetition_run(&reference_alone, o, o->line, o->program->clock, true, &r).times[0];
}

/* Collective: whether there is time for another reading, by rank 0's clock. */
static bool has_time_to_read(const struct pipeline *o) {
    const double asked = o->program->settings.budget_seconds;
    const double budget = asked > 0 ? asked : budget_without_one;
    int more = (double)o->reading_ns / 1e9 < most_of_budget * budget;
    MPI_CHECK(MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD));
    return more != 0;
}

/* Collective: reads latency and bandwidth so many times; fewer where the ranks are so slow that it would take too much
 * of the budget. No point is open. */
static void read_network(struct pipeline *o, int readings) {
    start_begin(o->line, repetition_tolerance(0));
    for (int i = 0; i < readings && has_time_to_read(o); i++) {
        const int64_t began = timer_now_ns();
        const int64_t short_ns = time_of_single(o, &o->short_message);
        const int64_t long_ns = time_of_single(o, &o->long_message);
        if (short_ns > 0 && long_ns > 0) {
            network_add(&o->network, short_ns, long_ns);
        }
        o->reading_ns += timer_now_ns() - began;
    }
}

static void open_network(struct pipeline *o, int64_t long_bytes) {
    struct shape shape = {.neighbours = 1,
                          .message_bytes = sizeof *o->words,
                          .send_partitions = o->program->threads,
                          .receive_partitions = o->program->threads};
    o->network = (struct network){.short_bytes = shape.message_bytes, .long_bytes = long_bytes};
    open_single(o, &o->short_message, shape);
    shape.message_bytes = long_bytes;
    open_single(o, &o->long_message, shape);
    for (int i = 0; i < UNREAD_MESSAGES; i++) {
        make_first_transfer(o, &o->short_message.message);
        make_first_transfer(o, &o->long_message.message);
    }
}

/* ---- points ---- */

static int64_t message_of(const struct pipeline *o, const size_t at[SAMPLER_MOST_AXES]) {
    return o->plan->message_bytes[at[AXIS_MESSAGE]];
}

static int64_t partitions_of(const struct pipeline *o, const size_t at[SAMPLER_MOST_AXES]) {
    return o->plan->partitions[at[AXIS_PARTITIONS]];
}

static int64_t aggregation_of(const struct pipeline *o, const size_t at[SAMPLER_MOST_AXES]) {
    return o->plan->aggregation_bytes[at[AXIS_AGGREGATION]];
}

static int64_t ratio_of(const struct pipeline *o, const size_t at[SAMPLER_MOST_AXES]) {
    return o->plan->ratio_millionths[at[AXIS_DELAY]];
}

/* Points of a grid are those of the paper's figures: one partition per thread without delay (4 to 6), some with and
 * without delay (8), many without delay and with every aggregation size (7). */
static bool has_point(void *context, const size_t at[SAMPLER_MOST_AXES]) {
    enum { MANY = 32 };
    const struct pipeline *o = context;
    const int64_t each = partitions_of(o, at) / o->program->threads;
    if (o->plan->preset) {
        const bool divides = pipeline_divides(o->plan, message_of(o, at), partitions_of(o, at));
        const bool delayed = ratio_of(o, at) > 0;
        return divides && !(delayed && (each == 1 || each >= MANY)) && !(aggregation_of(o, at) > 0 && each < MANY);
    }
    return !(ratio_of(o, at) > 0 && partitions_of(o, at) == 1 && o->plan->noise == NOISE_LAST);
}

static double bandwidth_or_guess(const struct pipeline *o) {
    return isnan(o->planned.bytes_per_second) ? GUESSED_BANDWIDTH : o->planned.bytes_per_second;
}

static double weight(void *context, const size_t at[SAMPLER_MOST_AXES]) {
    const struct pipeline *o = context;
    const double bytes = (double)message_of(o, at) * (double)approach_neighbours(o->plan->approach);
    const int64_t shares = o->plan->noise == NOISE_LAST ? partitions_of(o, at) : o->program->threads;
    const double delays = (double)ratio_of(o, at) / 1e6 / (double)shares;
    const double seconds = 2 * bytes / bandwidth_or_guess(o) * (1 + delays);
    return seconds + 1e-3; /* starts, filling and checking */
}

static bool begin(void *context, struct sampler_point *p) {
    struct pipeline *o = context;
    p->shortest_ns = isnan(o->planned.latency_ns) ? 0 : (int64_t)o->planned.latency_ns;
    close_point(o);
    read_network(o, READINGS_BEFORE_POINT);
    o->point.delay = delays_find(&o->delays, message_of(o, p->at), partitions_of(o, p->at), ratio_of(o, p->at));
    if (o->point.delay != NULL && o->point.delay->target_ns > 0 && o->point.delay->calibration.size == 0 &&
        !o->plan->paper) {
        o->point.delay = NULL; /* the time was up before its work was searched */
        return false;
    }
    reserve_work(o);
    open_point(o, message_of(o, p->at), partitions_of(o, p->at), aggregation_of(o, p->at));
    return true;
}

/* Rank 0: returns whether the point's share of the budget is long enough for its repetitions to be made again. */
static bool has_time_again(const struct sampler_point *p) {
    const int64_t now = timer_now_ns();
    return p->deadline_ns == 0 || now + (now - p->begin_ns) <= p->deadline_ns;
}

/* Section 4: all repetitions are made again while half the interval of a mean is more than 5 % of it, at most 50 times.
 * Not where there is no time for it: what was measured would be lost. */
static enum sampler_review review(void *context, struct sampler_point *p, const sampler *s) {
    enum { MOST_AGAIN = 50 };
    const struct pipeline *o = context;
    int again = 0;
    if (o->plan->paper && o->program->rank == 0 && p->beginnings <= MOST_AGAIN && has_time_again(p)) {
        for (size_t i = T; i <= T_REF; i++) {
            const struct stats_mean mean = samples_mean(sampler_samples(s), i);
            again = again != 0 || mean.half_width > 0.05 * mean.mean;
        }
    }
    MPI_CHECK(MPI_Bcast(&again, 1, MPI_INT, 0, MPI_COMM_WORLD));
    return again != 0 ? SAMPLER_BEGIN_AGAIN : SAMPLER_ACCEPT;
}

static void end(void *context, const struct sampler_point *p) {
    (void)p;
    close_point(context);
}

static void put_parameters(void *context, const struct sampler_point *p, json_line *line) {
    const struct pipeline *o = context;
    json_put_string(line, "approach", o->plan->approach->name);
    json_put_integer(line, "message_bytes", message_of(o, p->at));
    json_put_integer(line, "partitions_send", partitions_of(o, p->at));
    json_put_integer(line, "partitions_receive", pipeline_receive_partitions(o->plan, partitions_of(o, p->at)));
    json_put_integer(line, "aggregation_bytes", aggregation_of(o, p->at));
    json_put_real(line, "delay_ratio", (double)ratio_of(o, p->at) / 1e6);
}

static void put_own(void *context, const struct sampler_point *p, const sampler *s, json_line *line) {
    (void)s;
    struct pipeline *o = context;
    const struct delay *delay =
        delays_find(&o->delays, message_of(o, p->at), partitions_of(o, p->at), ratio_of(o, p->at));
    const bool delayed = delay != NULL && delay->target_ns > 0;
    const bool worked = delayed && delay->calibration.size > 0;
    const int64_t neighbours = (int64_t)approach_neighbours(o->plan->approach);
    json_put_integer(line, "delay_target_ns", delayed ? delay->target_ns : 0);
    json_put_boolean(line, "delay_guessed", delayed && o->delays.guessed);
    json_put_integer(line, "work_size", worked ? (int64_t)delay->calibration.size : 0);
    if (worked) {
        size_search_put(line, "delay_calibration", &delay->calibration);
    } else {
        json_put_null(line, "delay_calibration");
    }
    json_put_integer(line, "messages",
                     o->point.tested.messages > 0 ? (int64_t)o->point.tested.messages
                                                  : partitions_of(o, p->at) * neighbours);
    json_put_integer(line, "neighbours", neighbours);
    json_put_integer(line, "different_neighbours", neighbours < o->pairs ? neighbours : o->pairs);
    json_put_real(line, "latency_ns", o->planned.latency_ns);
    json_put_real(line, "bytes_per_second", o->planned.bytes_per_second);
    network_put_new(&o->network, line);
}

static void name_point(void *context, const struct sampler_point *p, char *text, size_t text_size) {
    const struct pipeline *o = context;
    snprintf(text, text_size, "%" PRId64 " bytes in %" PRId64 " partitions, gamma beta %g", message_of(o, p->at),
             partitions_of(o, p->at), (double)ratio_of(o, p->at) / 1e6);
}

/* Of the pair whose transfer took longest. */
static const struct repetition_series series[] = {
    [T] = {.name = "t_ns", .over = OVER_LARGEST, .term = TIME, .stops = true},
    [T_REF] = {.name = "t_ref_ns", .over = OVER_LARGEST, .term = REF_TIME, .stops = true},
    {.name = "t_delay_ns", .over = OVER_LARGEST, .term = DELAY},
    {.name = "t_after_last_ns", .over = OVER_LARGEST, .term = AFTER_LAST},
    {.name = "t_computing_cpu_ns", .over = OVER_LARGEST, .term = COMPUTING_CPU},
    {.name = "t_computing_waiting_ns", .over = OVER_LARGEST, .term = COMPUTING_WAITING},
    {.name = "start_imbalance_ns", .over = OVER_IMBALANCE, .term = START},
    {.name = "order", .over = OVER_ORDER},
    {.name = "late_starts", .over = OVER_LATE},
};

/* What is reported is the gain. Its interval becomes half as wide as those of both times, which vary together: so a
 * gain of 1 % differs from none. */
static const struct samples_ratio gain = {.numerator = T_REF, .denominator = T, .width = 0.5};

static const struct repetition_part *const parts[] = {&tested_part, &reference_part};

#define COUNT(array) (sizeof(array) / sizeof *(array))

const struct sampler_kind pipeline_points = {
    .samples.repeated = {.parts = parts,
                         .part_count = COUNT(parts),
                         .group = COUNT(parts),
                         .terms = TERMS,
                         .series = series,
                         .series_count = COUNT(series),
                         .wrong = wrong},
    .samples.ratio = &gain,
    .has_point = has_point,
    .weight = weight,
    .begin = begin,
    .review = review,
    .end = end,
    .faults = count_faults,
    .parameters = put_parameters,
    .own = put_own,
    .name = name_point,
    .nothing = "the work of no delay was found in time; raise --budget-seconds, or ask for fewer points",
};

/* ---- before and after the points ---- */

static int64_t largest(const int64_t *values, size_t count, int64_t least) {
    for (size_t i = 0; i < count; i++) {
        least = values[i] > least ? values[i] : least;
    }
    return least;
}

/* Whether there is a point with these places on the axes, whatever it aggregates: no other delay is worth a search. */
static bool has_any_point(struct pipeline *o, size_t message, size_t partitions, size_t delay) {
    bool any = false;
    for (size_t i = 0; i < o->plan->aggregation_count; i++) {
        const size_t at[SAMPLER_MOST_AXES] = {
            [AXIS_MESSAGE] = message, [AXIS_PARTITIONS] = partitions, [AXIS_AGGREGATION] = i, [AXIS_DELAY] = delay};
        any = any || has_point(o, at);
    }
    return any;
}

void pipeline_check(struct program *program, void *context, char *error, size_t error_size) {
    struct pipeline *o = context;
    const struct pipeline_plan *plan = o->plan;
    for (size_t i = 0; i < plan->message_count; i++) {
        for (size_t j = 0; j < plan->partition_count; j++) {
            for (size_t k = 0; k < plan->ratio_count; k++) {
                if (has_any_point(o, i, j, k)) {
                    delays_add(&o->delays, plan->message_bytes[i], plan->partitions[j], plan->ratio_millionths[k]);
                }
            }
        }
    }
    if (program->rank == 0 && error[0] == '\0' && plan->sizes != NULL) {
        delays_read(plan->sizes, program, &o->delays, error, error_size);
    }
}

/* Collective: plans the delays by the readings from number `first` on, and searches their work. Without beta they are
 * planned with a guess, and there is no model: ranks that share cores still show whether the data are right. */
static void plan_delays(struct pipeline *o, size_t first) {
    o->planned = network_estimate(&o->network, first);
    if (o->plan->sizes == NULL) {
        o->delays.guessed = isnan(o->planned.bytes_per_second);
        delays_aim(&o->delays, bandwidth_or_guess(o));
        if (!o->plan->paper) {
            delays_search(o->program, &o->delays, o->sends);
        }
    }
}

static bool plans_delays(const struct pipeline *o) {
    bool any = false;
    for (size_t i = 0; i < o->plan->ratio_count; i++) {
        any = any || o->plan->ratio_millionths[i] > 0;
    }
    return any && o->plan->sizes == NULL;
}

/* Collective: reads a series. Returns the number of its first reading. */
static size_t read_series(struct pipeline *o) {
    const size_t first = o->network.count;
    read_network(o, READINGS_IN_SERIES);
    return first;
}

/* Returns whether beta, by the readings from number `first` on, is another one than planned. */
static bool is_other_bandwidth(const struct pipeline *o, size_t first) {
    const double now = network_estimate(&o->network, first).bytes_per_second;
    return !isnan(now) && fabs(now / bandwidth_or_guess(o) - 1) > bandwidth_tolerance;
}

/* Collective: the delays of all points, searched where they were not read; saved where that was asked for. They are
 * planned by the newest series, until the next one agrees: the median over a wrong and a right one is that of neither.
 */
static bool find_delays(struct pipeline *o, char *reason, size_t reason_size) {
    const struct pipeline_plan *plan = o->plan;
    bool good = true;
    bool agrees = !plans_delays(o);
    plan_delays(o, read_series(o));
    for (int plans = 1; !agrees && plans < MOST_PLANS; plans++) {
        const size_t first = read_series(o);
        agrees = !is_other_bandwidth(o, first);
        if (!agrees) {
            plan_delays(o, first);
        }
    }
    if (o->program->rank == 0 && plan->save_sizes != NULL) {
        good = delays_write(plan->save_sizes, o->program, &o->delays, reason, reason_size);
    }
    delays_share(&o->delays);
    return program_agree(good);
}

/* Sets who sends to whom. */
static void find_neighbours(struct pipeline *o) {
    const int pairs = o->program->ranks / 2;
    o->pairs = pairs;
    o->sends = o->program->rank < pairs;
    o->number = o->program->rank % pairs;
    o->partner = o->sends ? 1 : 0;
    for (int i = 0; i < APPROACH_MOST_NEIGHBOURS; i++) {
        const int sender = ((o->number - i) % pairs + pairs) % pairs;
        o->peers[i] = o->sends ? pairs + (o->number + i) % pairs : sender;
        o->writers[i] = o->sends ? o->number : sender;
    }
}

bool pipeline_begin(struct program *program, void *context, sampler *s, char *reason, size_t reason_size) {
    struct pipeline *o = context;
    const size_t neighbours = approach_neighbours(o->plan->approach);
    const int64_t longest = largest(o->plan->message_bytes, o->plan->message_count, 0) * (int64_t)neighbours;
    const int64_t large = longest > LEAST_BANDWIDTH_BYTES ? longest : LEAST_BANDWIDTH_BYTES;
    o->program = program;
    o->line = sampler_start(s);
    find_neighbours(o);
    if (pthread_mutex_init(&o->faults.lock, NULL) != 0) {
        fail_die("pthread_mutex_init failed");
    }
    MPI_CHECK(MPI_Comm_split(MPI_COMM_WORLD, o->number, program->rank, &o->pair));
    MPI_CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &o->all));
    MPI_CHECK(MPI_Comm_dup(MPI_COMM_SELF, &o->probed));
    o->words = fail_alloc((size_t)large / sizeof *o->words, sizeof *o->words);
    memset(o->words, 1, (size_t)large);
    o->work_sizes =
        fail_alloc(neighbours * (size_t)largest(o->plan->partitions, o->plan->partition_count, program->threads),
                   sizeof *o->work_sizes);
    if (o->plan->cold) {
        o->other_bytes = TIMES_CACHE * (size_t)topology_cache_share(1);
        o->other_data = fail_alloc(o->other_bytes, 1);
    }
    open_network(o, largest(o->plan->message_bytes, o->plan->message_count, LEAST_BANDWIDTH_BYTES));
    program->wrong_use = !find_delays(o, reason, reason_size);
    return !program->wrong_use;
}

bool pipeline_end(struct program *program, void *context, char *reason, size_t reason_size) {
    (void)program;
    (void)reason;
    (void)reason_size;
    struct pipeline *o = context;
    close_point(o);
    close_single(&o->short_message);
    close_single(&o->long_message);
    network_free(&o->network);
    delays_free(&o->delays);
    free(o->words);
    free(o->work_sizes);
    free(o->other_data);
    MPI_CHECK(MPI_Comm_free(&o->probed));
    MPI_CHECK(MPI_Comm_free(&o->all));
    MPI_CHECK(MPI_Comm_free(&o->pair));
    if (pthread_mutex_destroy(&o->faults.lock) != 0) {
        fail_die("pthread_mutex_destroy failed");
    }
    return true;
}
