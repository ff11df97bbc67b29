#include "pipeline.h"

#include "fail.h"
#include "fail_mpi.h"
#include "messages.h"
#include "parts.h"
#include "readings.h"
#include "timer.h"
#include "topology.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Indices of the first series. */
enum { T, T_REF };

/* Transfers that look for wrong data. */
enum { PROVOKING_TRANSFERS = 5 };

/* Cold caches: so many times the largest cache is read before each transfer. */
enum { TIMES_CACHE = 2 };

/* ---- the channels of a point ---- */

/* Transfers of partitioned communication whose last partition is very late, so that a library that announces a
 * partition, or completes, too early is found at every point and not by chance. */
static void provoke_faults(struct pipeline *o, struct channel *c) {
    o->provokes = true;
    for (int i = 0; i < PROVOKING_TRANSFERS; i++) {
        messages_transfer(o, c);
    }
    o->provokes = false;
}

/* The reference is opened, and used once, before the approach under test: Open MPI 5.0.11 hangs where a communicator is
 * made while its first partitioned communication is being set up. */
static void open_point(struct pipeline *o, int64_t message_bytes, int64_t send_partitions, int64_t aggregation_bytes) {
    struct messages_shape shape = {.neighbours = approach_neighbours(points_approach(o->plan)),
                                   .message_bytes = message_bytes,
                                   .send_partitions = send_partitions,
                                   .receive_partitions = send_partitions};
    messages_open(o, &o->point.reference, &approach_table[APPROACH_SINGLE], shape);
    o->one_message = &o->point.reference;
    shape.receive_partitions = points_receive_partitions(o->plan, send_partitions);
    shape.aggregation_bytes = aggregation_bytes;
    messages_open(o, &o->point.tested, points_approach(o->plan), shape);
    if (points_approach(o->plan)->partitioned) {
        provoke_faults(o, &o->point.tested);
    }
}

static void close_point(struct pipeline *o) {
    messages_close(&o->point.tested);
    messages_close(&o->point.reference);
    o->point.delay = NULL;
}

/* ---- points ---- */

static int64_t message_of(const struct pipeline *o, const size_t at[SAMPLER_MOST_AXES]) {
    return o->plan->message_bytes.values[at[AXIS_MESSAGE]];
}

static int64_t partitions_of(const struct pipeline *o, const size_t at[SAMPLER_MOST_AXES]) {
    return o->plan->partitions.values[at[AXIS_PARTITIONS]];
}

static int64_t aggregation_of(const struct pipeline *o, const size_t at[SAMPLER_MOST_AXES]) {
    return o->plan->aggregation_bytes.values[at[AXIS_AGGREGATION]];
}

static int64_t ratio_of(const struct pipeline *o, const size_t at[SAMPLER_MOST_AXES]) {
    return o->plan->ratio_millionths.values[at[AXIS_DELAY]];
}

static bool has_point(void *context, const size_t at[SAMPLER_MOST_AXES]) {
    const struct pipeline *o = context;
    return points_has(o->plan, o->program->threads, at);
}

static double weight(void *context, const size_t at[SAMPLER_MOST_AXES]) {
    const struct pipeline *o = context;
    const double bytes = (double)message_of(o, at) * (double)approach_neighbours(points_approach(o->plan));
    const int64_t shares = o->plan->noise == NOISE_LAST ? partitions_of(o, at) : o->program->threads;
    const double delays = (double)ratio_of(o, at) / 1e6 / (double)shares;
    const double seconds = 2 * bytes / readings_bandwidth(o) * (2 + delays); /* each after an untimed transfer */
    return seconds + 1e-3;                                                   /* starts, filling and checking */
}

static bool begin(void *context, struct sampler_point *p) {
    struct pipeline *o = context;
    p->shortest_ns = isnan(o->planned.latency_ns) ? 0 : (int64_t)o->planned.latency_ns;
    close_point(o);
    readings_add(o);
    o->point.delay = delays_find(&o->delays, message_of(o, p->at), partitions_of(o, p->at), ratio_of(o, p->at));
    if (o->point.delay != NULL && o->point.delay->target_ns > 0 && o->point.delay->calibration.size == 0 &&
        o->plan->method != METHOD_PAPER) {
        o->point.delay = NULL; /* the time was up before its work was searched */
        return false;
    }
    messages_reserve_work(o);
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
    if (o->plan->method == METHOD_PAPER && o->program->rank == 0 && p->beginnings <= MOST_AGAIN && has_time_again(p)) {
        for (size_t i = T; i <= T_REF; i++) {
            const struct stats_mean mean = samples_mean(sampler_samples(s), i);
            again = again != 0 || mean.half_width > 0.05 * mean.mean;
        }
    }
    MPI_CHECK(MPI_Bcast(&again, 1, MPI_INT, 0, MPI_COMM_WORLD));
    return again != 0 ? SAMPLER_BEGIN_AGAIN : SAMPLER_ACCEPT;
}

static void end(void *context, const struct sampler_point *p) {
    close_point(context);
}

struct row {
    const char *approach;
    int64_t partitions_receive;
    int64_t delay_target_ns;
    bool delay_guessed;
    int64_t work_size;
    struct size_report calibration;
    const struct size_report *delay_calibration;
    int64_t messages;
    int64_t neighbours;
    int64_t different_neighbours;
    double latency_ns;
    double bytes_per_second;
    int64_t transfer_bytes;
    const int64_t *latency_readings_ns;
    const int64_t *transfer_readings_ns;
    size_t readings;
};

static const struct field parameter_fields[] = {
    FIELD(struct row, approach, "how the buffer is sent"),
    FIELD(struct row, partitions_receive, "partitions of the receiver, for one neighbour"),
    FIELDS_END,
};

static const struct field own_fields[] = {
    FIELD(struct row, delay_target_ns, "the planned delay; 0: none"),
    FIELD(struct row, delay_guessed,
          "whether delays were planned with a guessed bandwidth, because none could be measured; missing in older "
          "records: false"),
    FIELD(struct row, work_size, "the work that makes the last partition late; 0: none"),
    FIELD_STRUCT_OR_NULL(struct row, delay_calibration, size_report_fields,
                         "how well that work meets the planned delay; null where no work was needed"),
    FIELD(struct row, messages, "messages that the approach sends for one buffer, to all neighbours"),
    FIELD(struct row, neighbours, "receivers of each sender; missing in older records: 1"),
    FIELD(struct row, different_neighbours,
          "how many of them are different ranks, as far as there are enough ranks; missing in older records: 1"),
    FIELD(struct row, latency_ns,
          "alpha: the time of one message of 8 bytes, the median of the readings before the points, by which delays "
          "were planned; null where it was not measured"),
    FIELD(struct row, bytes_per_second, "beta: the bandwidth of one large message, likewise"),
    FIELD(struct row, transfer_bytes,
          "size of the message of transfer_readings_ns; this and the readings are missing in older records"),
    FIELD_LIST_OF(struct row, latency_readings_ns, readings,
                  "times of a message of 8 bytes, measured as references are: those that were read since the last "
                  "point was written"),
    FIELD_LIST_OF(struct row, transfer_readings_ns, readings,
                  "times of a message of transfer_bytes, one after each of latency_readings_ns"),
    FIELDS_END,
};

static void fill(void *context, const struct sampler_point *p, const sampler *s, void *filled) {
    struct pipeline *o = context;
    const struct delay *delay =
        delays_find(&o->delays, message_of(o, p->at), partitions_of(o, p->at), ratio_of(o, p->at));
    const bool delayed = delay != NULL && delay->target_ns > 0;
    const int64_t neighbours = (int64_t)approach_neighbours(points_approach(o->plan));
    const int64_t messages = (int64_t)o->point.tested.messages;
    struct row *row = filled;
    *row = (struct row){.approach = points_approach(o->plan)->name,
                        .partitions_receive = points_receive_partitions(o->plan, partitions_of(o, p->at)),
                        .delay_target_ns = delayed ? delay->target_ns : 0,
                        .delay_guessed = delayed && o->delays.guessed,
                        .messages = messages > 0 ? messages : partitions_of(o, p->at) * neighbours,
                        .neighbours = neighbours,
                        .different_neighbours = neighbours < o->pairs ? neighbours : o->pairs,
                        .latency_ns = o->planned.latency_ns,
                        .bytes_per_second = o->planned.bytes_per_second,
                        .transfer_bytes = o->network.long_bytes};
    if (delayed && delay->calibration.size > 0) {
        row->work_size = (int64_t)delay->calibration.size;
        row->calibration = size_search_report(&delay->calibration);
        row->delay_calibration = &row->calibration;
    }
    row->readings = network_take_new(&o->network, &row->latency_readings_ns, &row->transfer_readings_ns);
}

static void name_point(void *context, const struct sampler_point *p, char *text, size_t text_size) {
    const struct pipeline *o = context;
    snprintf(text, text_size, "%" PRId64 " bytes in %" PRId64 " partitions, gamma beta %g", message_of(o, p->at),
             partitions_of(o, p->at), (double)ratio_of(o, p->at) / 1e6);
}

/* Of the pair whose transfer took longest. */
static const struct repetition_series series[] = {
    [T] = {.name = "t_ns",
           .over = OVER_LARGEST,
           .term = TIME,
           .stops = true,
           .help = "the tested approach, from its start to the completion at the receiver, without the computation "
                   "(Gillis et al. 2023, section 2.1); of the pair where it took longest, as all of these"},
    [T_REF] = {.name = "t_ref_ns",
               .over = OVER_LARGEST,
               .term = REF_TIME,
               .stops = true,
               .help = "the same of one message that is sent when all partitions are ready, in the same repetition"},
    {.name = "t_delay_ns",
     .over = OVER_LARGEST,
     .term = DELAY,
     .help = "D: from the first partition that is ready to the last one"},
    {.name = "t_after_last_ns",
     .over = OVER_LARGEST,
     .term = AFTER_LAST,
     .help = "from the moment when the last partition is ready to the completion at the receiver"},
    {.name = "t_computing_cpu_ns",
     .over = OVER_LARGEST,
     .term = COMPUTING_CPU,
     .help = "CPU time of the thread that computes longest, while it computes; 0 where the planned delay is shorter "
             "than 1 ms; this and the next are missing in older records"},
    {.name = "t_computing_waiting_ns",
     .over = OVER_LARGEST,
     .term = COMPUTING_WAITING,
     .help = "the time that this thread waits for a CPU meanwhile, likewise"},
    {.name = "start_imbalance_ns", .over = OVER_IMBALANCE, .term = START},
    {.name = "order", .over = OVER_ORDER},
    {.name = "late_starts", .over = OVER_LATE},
};

/* What is reported is the gain. Its interval becomes half as wide as those of both times, which vary together: so a
 * gain of 1 % differs from none. */
static const struct samples_ratio gain = {.numerator = T_REF, .denominator = T, .width = 0.5};

static const struct repetition_part *const parts[] = {&parts_tested, &parts_reference};

const struct sampler_kind pipeline_points = {
    .samples.repeated = {.parts = parts,
                         .part_count = COUNT(parts),
                         .group = COUNT(parts),
                         .terms = TERMS,
                         .series = series,
                         .series_count = COUNT(series),
                         .wrong = parts_wrong},
    .samples.ratio = &gain,
    .has_point = has_point,
    .weight = weight,
    .begin = begin,
    .review = review,
    .end = end,
    .faults = parts_count_faults,
    .parameters = parameter_fields,
    .own = own_fields,
    .row_bytes = sizeof(struct row),
    .fill = fill,
    .name = name_point,
    .nothing = "the work of no delay was found in time; raise --budget-seconds, or ask for fewer points",
};

/* ---- before and after the points ---- */

static int64_t largest(const struct option_list *list, int64_t least) {
    for (size_t i = 0; i < list->count; i++) {
        least = list->values[i] > least ? list->values[i] : least;
    }
    return least;
}

/* Whether there is a point with these places on the axes, whatever it aggregates: no other delay is worth a search. */
static bool has_any_point(struct pipeline *o, size_t message, size_t partitions, size_t delay) {
    bool any = false;
    for (size_t i = 0; i < o->plan->aggregation_bytes.count; i++) {
        const size_t at[SAMPLER_MOST_AXES] = {
            [AXIS_MESSAGE] = message, [AXIS_PARTITIONS] = partitions, [AXIS_AGGREGATION] = i, [AXIS_DELAY] = delay};
        any = any || points_has(o->plan, o->program->threads, at);
    }
    return any;
}

void pipeline_check(struct program *program, void *context, char *error, size_t error_size) {
    struct pipeline *o = context;
    const struct points_plan *plan = o->plan;
    for (size_t i = 0; i < plan->message_bytes.count; i++) {
        for (size_t j = 0; j < plan->partitions.count; j++) {
            for (size_t k = 0; k < plan->ratio_millionths.count; k++) {
                if (has_any_point(o, i, j, k)) {
                    delays_add(&o->delays, plan->message_bytes.values[i], plan->partitions.values[j],
                               plan->ratio_millionths.values[k]);
                }
            }
        }
    }
    if (program->rank == 0 && error[0] == '\0' && plan->sizes != NULL) {
        delays_read(plan->sizes, program, &o->delays, error, error_size);
    }
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
    const size_t neighbours = approach_neighbours(points_approach(o->plan));
    const int64_t longest = largest(&o->plan->message_bytes, 0) * (int64_t)neighbours;
    const int64_t large = longest > READINGS_LEAST_BYTES ? longest : READINGS_LEAST_BYTES;
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
        fail_alloc(neighbours * (size_t)largest(&o->plan->partitions, program->threads), sizeof *o->work_sizes);
    if (o->plan->cache == CACHE_COLD) {
        o->other_bytes = TIMES_CACHE * (size_t)topology_cache_share(1);
        o->other_data = fail_alloc(o->other_bytes, 1);
    }
    readings_open(o, largest(&o->plan->message_bytes, READINGS_LEAST_BYTES));
    program->wrong_use = !readings_find_delays(o, reason, reason_size);
    return !program->wrong_use;
}

bool pipeline_end(struct program *program, void *context, char *reason, size_t reason_size) {
    struct pipeline *o = context;
    close_point(o);
    readings_close(o);
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
