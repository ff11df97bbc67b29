#include "readings.h"

#include "fail_mpi.h"
#include "messages.h"
#include "parts.h"
#include "timer.h"

#include <math.h>

/* Bytes per second where beta is not known. */
#define GUESSED_BANDWIDTH 1e9

/* Readings in a series before the points; messages before the first one, while connections grow to their full speed. */
enum { IN_SERIES = 9, UNREAD_MESSAGES = 3 };

/* The share of the budget that all readings together may take, and the budget that counts where there is none. */
static const double most_of_budget = 0.15;
static const double budget_without_one = 20;

/* The delays are planned anew where beta, read again after their search, is farther from the planned one than this,
 * relative; they are planned so often at most. */
static const double bandwidth_tolerance = 0.05;
enum { MOST_PLANS = 3 };

static const struct repetition_series alone_series[] = {{.name = "t_ref_ns", .over = OVER_LARGEST, .term = REF_TIME}};
static const struct repetition_part *const alone_parts[] = {&parts_reference};
static const struct repetition_kind reference_alone = {.parts = alone_parts,
                                                       .part_count = 1,
                                                       .terms = TERMS,
                                                       .series = alone_series,
                                                       .series_count = 1,
                                                       .wrong = parts_wrong};

/* Collective: returns the time of one message, ns, the same on all ranks. */
static int64_t time_of_single(struct pipeline *o, struct channel *single) {
    struct repetition r = {.number = 0};
    o->one_message = single;
    const struct repetition_maker maker = {
        .kind = &reference_alone, .context = o, .line = o->line, .clock = o->program->clock, .active = true};
    return repetition_run(&maker, &r).times[0];
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

void readings_add(struct pipeline *o) {
    read_network(o, 1);
}

void readings_open(struct pipeline *o, int64_t long_bytes) {
    struct messages_shape shape = {.neighbours = 1,
                                   .message_bytes = sizeof *o->words,
                                   .send_partitions = o->program->threads,
                                   .receive_partitions = o->program->threads};
    o->network = (struct network){.short_bytes = shape.message_bytes, .long_bytes = long_bytes};
    messages_open(o, &o->short_message, &approach_table[APPROACH_SINGLE], shape);
    shape.message_bytes = long_bytes;
    messages_open(o, &o->long_message, &approach_table[APPROACH_SINGLE], shape);
    for (int i = 0; i < UNREAD_MESSAGES; i++) {
        messages_transfer(o, &o->short_message);
        messages_transfer(o, &o->long_message);
    }
}

void readings_close(struct pipeline *o) {
    messages_close(&o->short_message);
    messages_close(&o->long_message);
    network_free(&o->network);
}

/* ---- the delays ---- */

double readings_bandwidth(const struct pipeline *o) {
    return isnan(o->planned.bytes_per_second) ? GUESSED_BANDWIDTH : o->planned.bytes_per_second;
}

/* Collective: plans the delays by the readings from number `first` on, and searches their work. Without beta they are
 * planned with a guess, and there is no model: ranks that share cores still show whether the data are right. */
static void plan_delays(struct pipeline *o, size_t first) {
    o->planned = network_estimate(&o->network, first);
    if (o->plan->sizes == NULL) {
        o->delays.guessed = isnan(o->planned.bytes_per_second);
        delays_aim(&o->delays, readings_bandwidth(o));
        if (o->plan->method != METHOD_PAPER) {
            delays_search(o->program, &o->delays, o->sends);
        }
    }
}

static bool plans_delays(const struct pipeline *o) {
    bool any = false;
    for (size_t i = 0; i < o->plan->ratio_millionths.count; i++) {
        any = any || o->plan->ratio_millionths.values[i] > 0;
    }
    return any && o->plan->sizes == NULL;
}

/* Collective: reads a series. Returns the number of its first reading. */
static size_t read_series(struct pipeline *o) {
    const size_t first = o->network.count;
    read_network(o, IN_SERIES);
    return first;
}

/* Returns whether beta, by the readings from number `first` on, is another one than planned. */
static bool is_other_bandwidth(const struct pipeline *o, size_t first) {
    const double now = network_estimate(&o->network, first).bytes_per_second;
    return !isnan(now) && fabs(now / readings_bandwidth(o) - 1) > bandwidth_tolerance;
}

/* They are planned by the newest series, until the next one agrees: the median over a wrong and a right one is that of
 * neither. */
bool readings_find_delays(struct pipeline *o, char *reason, size_t reason_size) {
    const struct points_plan *plan = o->plan;
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
