#include "transfer.h"

#include "fail_mpi.h"
#include "phase.h"
#include "timer.h"
#include "topology.h"

#include <omp.h>

/* The computation of a thread so far, ns. */
struct computed {
    int64_t time;
    int64_t on_cpu;
    int64_t waiting;
};

/* Reads the clock until so many ns have passed. */
static void spin(const struct transfer_means *means, int64_t time) {
    const int64_t begin = timer_now_ns();
    int64_t now = begin;
    while (now - begin < time) {
        int some = 0;
        if (means->polls) {
            MPI_CHECK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, means->probed, &some, MPI_STATUS_IGNORE));
        }
        now = timer_now_ns();
    }
}

/* Computes for a partition, and adds what that took. */
static void compute(const struct transfer_means *means, int thread, uint64_t size, struct computed *computed) {
    const int64_t begin = timer_now_ns();
    const struct topology_own_time before =
        means->accounts ? topology_own_time() : (struct topology_own_time){.on_cpu = 0};
    if (means->spins) {
        spin(means, (int64_t)size);
    } else {
        compute_run_alone(means->team, thread, size);
    }
    if (means->accounts) {
        const struct topology_own_time after = topology_own_time();
        computed->on_cpu += after.on_cpu - before.on_cpu;
        computed->waiting += after.waiting - before.waiting;
    }
    computed->time += timer_now_ns() - begin;
}

/* Each thread computes for its partitions in turn, and makes each ready. */
static void send_partitions(struct channel *c, const struct transfer_means *means, struct transfer_times *times) {
    const struct approach_side *side = &c->approach->send;
    struct computed longest = {0};
    int64_t earliest = INT64_MAX; /* of this and the next: computation before a partition, on its own thread */
    int64_t latest = 0;
    int64_t last_ready = 0;
    phase_enter(PHASE_COMPUTATION);
#pragma omp parallel num_threads(c->threads) reduction(max : latest, last_ready) reduction(min : earliest)
    {
        const int thread = omp_get_thread_num();
        const size_t first = approach_first_partition(c, thread);
        const size_t end = approach_first_partition(c, thread + 1);
        struct computed own = {0};
        for (size_t i = first; i < end; i++) {
            if (means->work_sizes[i] > 0) {
                compute(means, thread, means->work_sizes[i], &own);
            }
            earliest = i == first ? own.time : earliest;
            latest = own.time;
            last_ready = timer_now_ns();
            if (side->ready != NULL) {
                side->ready(c, i);
            }
        }
        if (side->end_thread != NULL) {
            side->end_thread(c, thread);
        }
#pragma omp critical
        longest = own.time > longest.time ? own : longest;
    }
    times->computed = longest.time;
    times->computing_cpu = longest.on_cpu;
    times->computing_waiting = longest.waiting;
    times->delay = latest - earliest;
    times->last_ready = last_ready;
}

static void receive_partitions(struct channel *c) {
    const struct approach_side *side = &c->approach->receive;
    if (side->ready == NULL && side->end_thread == NULL) {
        return;
    }
    phase_enter(PHASE_TEST);
#pragma omp parallel num_threads(c->threads)
    {
        const int thread = omp_get_thread_num();
        const size_t end = approach_first_partition(c, thread + 1);
        for (size_t i = approach_first_partition(c, thread); side->ready != NULL && i < end; i++) {
            side->ready(c, i);
        }
        if (side->end_thread != NULL) {
            side->end_thread(c, thread);
        }
    }
}

struct transfer_times transfer_run(struct channel *c, const struct transfer_means *means, start_line *line) {
    const struct approach_side *side = c->sends ? &c->approach->send : &c->approach->receive;
    struct transfer_times times = {.began = line != NULL ? start_spin(line) : timer_now_ns()};
    times.start = line != NULL ? start_moment(line) : times.began;
    phase_enter(PHASE_CALL);
    if (means->helper != NULL) {
        helper_progress(means->helper, means->probed);
    }
    if (side->start != NULL) {
        side->start(c);
    }
    if (c->sends) {
        send_partitions(c, means, &times);
    } else {
        receive_partitions(c);
    }
    phase_enter(PHASE_WAIT);
    if (side->wait != NULL) {
        side->wait(c);
    }
    times.end = timer_now_ns();
    if (means->helper != NULL) {
        phase_enter(PHASE_HELPER);
        helper_rest(means->helper);
    }
    return times;
}
