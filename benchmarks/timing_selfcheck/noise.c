#include "noise.h"

#include "fail.h"
#include "fail_mpi.h"
#include "start.h"
#include "stats.h"
#include "timer.h"

#include <inttypes.h>
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Number of detours of a thread whose lengths are kept, the first ones. All detours are counted. */
enum { MOST_LENGTHS = 10000 };

enum { TAG = 73 };

#define TOLERANCE_NS 2000

/* What a thread found; sent to rank 0 as it is. */
struct findings {
    int64_t cpu; /* where it was when it began; -1: not known */
    int64_t duration_ns;
    int64_t detours;
    int64_t lost_ns; /* in detours */
    int64_t longest_ns;
    int64_t kept;
};
enum { FINDINGS = sizeof(struct findings) / sizeof(int64_t) };

/* Cache lines of its own for every thread. */
struct listener {
    _Alignas(128) struct findings found;
    int64_t *lengths;
};

/* Every thread writes to its own lengths once, so that no page is missing later. */
static struct listener *create_listeners(int threads) {
    struct listener *listeners = aligned_alloc(128, (size_t)threads * sizeof *listeners);
    if (listeners == NULL) {
        fail_die("out of memory: %d threads", threads);
    }
    memset(listeners, 0, (size_t)threads * sizeof *listeners);
#pragma omp parallel num_threads(threads)
    {
        struct listener *own = &listeners[omp_get_thread_num()];
        own->lengths = fail_alloc(MOST_LENGTHS, sizeof *own->lengths);
        for (size_t i = 0; i < MOST_LENGTHS; i++) {
            own->lengths[i] = 1;
        }
    }
    return listeners;
}

static void destroy_listeners(struct listener *listeners, int threads) {
    for (int i = 0; i < threads; i++) {
        free(listeners[i].lengths);
    }
    free(listeners);
}

/* Allocates nothing, prints nothing, calls nothing but the timer. */
static void listen(struct listener *own, int64_t duration_ns, int64_t threshold_ns) {
    struct findings found = {.cpu = sched_getcpu()};
    int64_t *const lengths = own->lengths;
    const int64_t begin = timer_now_ns();
    const int64_t end = begin + duration_ns;
    int64_t last = begin;
    while (last < end) {
        const int64_t now = timer_now_ns();
        const int64_t gap = now - last;
        last = now;
        if (gap > threshold_ns) {
            if (found.kept < MOST_LENGTHS) {
                lengths[found.kept++] = gap;
            }
            found.detours++;
            found.lost_ns += gap;
            found.longest_ns = gap > found.longest_ns ? gap : found.longest_ns;
        }
    }
    found.duration_ns = last - begin;
    own->found = found;
}

static void listen_all(const struct session *session, struct listener *listeners) {
    const int64_t duration_ns = (int64_t)(session->settings->noise_seconds * 1e9);
    const int64_t threshold_ns = session->settings->detour_ns;
    start_line *line = start_create(MPI_COMM_WORLD, session->program->clock, START_DEADLINE);
    start_begin(line, TOLERANCE_NS);
    start_agree(line);
    start_spin(line);
#pragma omp parallel num_threads(session->program->threads)
    listen(&listeners[omp_get_thread_num()], duration_ns, threshold_ns);
    start_destroy(line);
}

/* A thread of some rank, on rank 0. */
struct heard {
    int rank;
    int thread;
    const char *host;
    struct findings found;
    int64_t *lengths;
};

struct row {
    const char *section;
    int rank;
    int thread;
    const char *host;
    int64_t cpu;
    double seconds;
    int64_t threshold_ns;
    int64_t detours;
    double share;
    int64_t longest_ns;
    const int64_t *detour_lengths_ns;
    size_t kept;
    bool truncated;
};

static const struct field parameter_fields[] = {
    SESSION_SECTION(struct row, "noise"),
    FIELD(struct row, rank, "the rank"),
    FIELD(struct row, thread, "of the rank's computing threads"),
    FIELDS_END,
};

/* What one computing thread lost to others. All threads of all ranks listen at the same time, each on its core. */
static const struct field own_fields[] = {
    FIELD(struct row, host, "the name of its host"),
    {FIELD_BEGIN(struct row, cpu,
                 "where the thread was when it began; -1 where the system does not say. The header's placement says "
                 "whether it could move"),
     .below_0 = true},
    FIELD(struct row, seconds, "how long it listened"),
    FIELD(struct row, threshold_ns, "a gap between two readings of the timer above this is a detour"),
    FIELD(struct row, detours, "how many there were"),
    FIELD(struct row, share, "the sum of all detours' lengths, relative to the time that it listened"),
    FIELD(struct row, longest_ns, "the longest detour; 0: there was none"),
    FIELD_LIST_OF(struct row, detour_lengths_ns, kept, "in the order of time, the first 10000"),
    FIELD(struct row, truncated, "there were more detours than lengths that are kept"),
    FIELDS_END,
};

const struct sampler_kind noise_points = {.parameters = parameter_fields, .own = own_fields};

static struct row row_of(const struct heard *heard, int64_t threshold_ns) {
    return (struct row){.section = "noise",
                        .rank = heard->rank,
                        .thread = heard->thread,
                        .host = heard->host,
                        .cpu = heard->found.cpu,
                        .seconds = (double)heard->found.duration_ns / 1e9,
                        .threshold_ns = threshold_ns,
                        .detours = heard->found.detours,
                        .share = (double)heard->found.lost_ns / (double)heard->found.duration_ns,
                        .longest_ns = heard->found.longest_ns,
                        .detour_lengths_ns = heard->lengths,
                        .kept = (size_t)heard->found.kept,
                        .truncated = heard->found.kept < heard->found.detours};
}

/* The lengths are sorted by this. */
static void print_row(const struct heard *heard) {
    printf("noise          %6d %6d %5" PRId64 " %9" PRId64 " %9.4f %9.1f %9.1f\n", heard->rank, heard->thread,
           heard->found.cpu, heard->found.detours,
           100 * (double)heard->found.lost_ns / (double)heard->found.duration_ns,
           (double)stats_median_of(heard->lengths, (size_t)heard->found.kept) / 1e3,
           (double)heard->found.longest_ns / 1e3);
}

/* Collective: rank 0 receives the threads one after the other, so that it never holds more than one thread's lengths.
 * false: the record cannot be written. */
static bool gather_and_write(struct session *session, struct listener *listeners) {
    int64_t *lengths = fail_alloc(MOST_LENGTHS, sizeof *lengths);
    bool good = true;
    if (session_prints(session)) {
        printf("noise          %6s %6s %5s %9s %9s %9s %9s  detours above %g us; share lost in %%, lengths in us\n",
               "rank", "thread", "cpu", "detours", "share", "median", "longest",
               (double)session->settings->detour_ns / 1e3);
    }
    for (int rank = 0; rank < session->program->ranks && good; rank++) {
        char host[256] = "";
        snprintf(host, sizeof host, "%s", placement_host(session->program->place));
        if (rank != 0 && session->program->rank == 0) {
            MPI_CHECK(MPI_Recv(host, sizeof host, MPI_CHAR, rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        } else if (session->program->rank == rank && rank != 0) {
            MPI_CHECK(MPI_Ssend(host, sizeof host, MPI_CHAR, 0, TAG, MPI_COMM_WORLD));
        }
        for (int thread = 0; thread < session->program->threads && good; thread++) {
            struct heard heard = {.rank = rank, .thread = thread, .host = host, .lengths = lengths};
            if (rank == session->program->rank) {
                heard.found = listeners[thread].found;
                memcpy(lengths, listeners[thread].lengths, (size_t)heard.found.kept * sizeof *lengths);
            }
            if (rank != 0 && session->program->rank == rank) {
                MPI_CHECK(MPI_Ssend(&heard.found, FINDINGS, MPI_INT64_T, 0, TAG, MPI_COMM_WORLD));
                MPI_CHECK(MPI_Ssend(lengths, (int)heard.found.kept, MPI_INT64_T, 0, TAG, MPI_COMM_WORLD));
            } else if (rank != 0 && session->program->rank == 0) {
                MPI_CHECK(MPI_Recv(&heard.found, FINDINGS, MPI_INT64_T, rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
                MPI_CHECK(MPI_Recv(lengths, MOST_LENGTHS, MPI_INT64_T, rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            }
            const struct row row = row_of(&heard, session->settings->detour_ns);
            /* all ranks: whoever comes next learns whether it still matters */
            good = session_write_point(session, &noise_points, &row, (struct record_point){0});
            if (session_prints(session)) {
                print_row(&heard);
            }
        }
    }
    if (session_prints(session)) {
        fflush(stdout);
    }
    free(lengths);
    return good;
}

bool noise_measure(struct session *session) {
    struct listener *listeners = create_listeners(session->program->threads);
    listen_all(session, listeners);
    bool good = gather_and_write(session, listeners);
    destroy_listeners(listeners, session->program->threads);
    return good;
}
