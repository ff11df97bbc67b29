#include "parts.h"

#include "fail.h"
#include "fail_mpi.h"
#include "group.h"
#include "messages.h"
#include "phase.h"
#include "reproducer.h"

#include <stdio.h>

/* Prepares a transfer of a channel, after one of the same channel that is not timed: so each part finds what it left
 * itself, in caches and in the library, as where it is repeated alone, and not what the other part left. All ranks
 * begin the untimed one together on an idle network, because how it went can show in the next one. */
static void prepare_after_another(struct pipeline *o, struct channel *own) {
    o->leads_in = true;
    messages_prepare(o, own);
    phase_enter(PHASE_START);
    start_untimed(o->line);
    messages_run(o, own, NULL);
    messages_settle(o, own);
    o->leads_in = false;
    messages_prepare(o, own);
}

/* Returns the time of the last transfer (section 2.1), ns; 0 on a sender. */
static int64_t transfer_time(const struct pipeline *o) {
    return o->sends ? 0 : o->times.end - o->times.start - o->times.computed;
}

static void prepare_reference(void *context) {
    struct pipeline *o = context;
    prepare_after_another(o, o->one_message);
}

static void time_reference(void *context, start_line *line, struct repetition *r) {
    struct pipeline *o = context;
    messages_run(o, o->one_message, line);
    messages_settle(o, o->one_message);
    r->terms[REF_TIME] = transfer_time(o);
}

static void prepare_tested(void *context) {
    struct pipeline *o = context;
    prepare_after_another(o, &o->point.tested);
}

static void time_tested(void *context, start_line *line, struct repetition *r) {
    struct pipeline *o = context;
    messages_run(o, &o->point.tested, line);
    r->terms[START] = o->times.began;
    messages_settle(o, &o->point.tested);
    r->terms[TIME] = transfer_time(o);
    r->terms[AFTER_LAST] = o->sends ? 0 : o->times.end - o->times.last_ready;
    r->terms[DELAY] = o->times.delay;
    r->terms[COMPUTING_CPU] = o->times.computing_cpu;
    r->terms[COMPUTING_WAITING] = o->times.computing_waiting;
}

const struct repetition_part parts_tested = {.prepare = prepare_tested, .time = time_tested};
const struct repetition_part parts_reference = {.prepare = prepare_reference, .time = time_reference};

bool parts_wrong(void *context) {
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
                                 .delay_ns = delay_ns > MESSAGES_PROVOKING_NS ? delay_ns : MESSAGES_PROVOKING_NS,
                                 .found = found};
    if (!reproducer_write(o->plan->reproducer, &r, error, sizeof error)) {
        fail_report("%s", error);
    }
}

int64_t parts_count_faults(void *context, char *text, size_t text_size) {
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
