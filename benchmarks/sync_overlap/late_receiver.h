/*
 * late_receiver - what `sync_overlap` measures: one message from a sender that goes on computing to a receiver that
 * comes late (White & Bova 1999, section II), and who must be inside MPI for the data to move (section III).
 *
 * Rank 0 sends, the first rank of the second half receives; other ranks only start with them. A delay is a fixed amount
 * of work, the same in all parts of a repetition: at least as long as asked for, and ten times the transfer as far as
 * the budget has time for that. The parts:
 *
 * - late: the experiment of figure 1. The sender calls MPI_Isend, computes for two delays, and calls MPI_Wait. The
 *   receiver computes for one delay and calls MPI_Recv. Does MPI_Recv complete before the sender calls MPI_Wait?
 * - whole: the reference. The receiver calls MPI_Recv at once, the sender computes for one delay and then calls
 *   MPI_Isend and MPI_Wait. Nothing can have moved before, so that this is what a whole transfer takes.
 * - trip: a message of nothing, there and back: what the handshake of a rendezvous may save in the part late.
 * - neither: MPI_Irecv, then MPI_Isend; both compute. Did data arrive?
 * - sender: the same, but the sender stays inside MPI.
 * - receiver: the same, but the receiver stays inside MPI.
 *
 * A rank that is preempted may come so late to a step that the part is another experiment: a receive that is posted
 * after the message was sent takes the message by itself, and it would seem to have come with the sender alone. After
 * each part the pair compares the moments of its steps; where their order is not the one of the plan, the part counts
 * as one with a late start, and is done again. Where that happens to more repetitions than not, as beside a progress
 * thread that shares the core and takes it for milliseconds, the point begins again with delays twice as long; later
 * points keep them.
 *
 * In the parts neither and sender the receiver looks into its buffer while the request is open, and calls no MPI for
 * that. MPI reserves the buffer for the library until then, and does not promise what is in it; the words are only
 * counted, and checked when the request is complete.
 */
#pragma once

#include "changes.h"
#include "fixed_work.h"
#include "idle_memory.h"
#include "program.h"
#include "sampler.h"
#include "start.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* When the sender calls MPI_Isend. SEND_LATE is the negative control: only when it would call MPI_Wait. Then there is
 * nothing to overlap, and every outcome must be none. SEND_NEVER: no point is measured, only the memory of idle ranks.
 */
enum send { SEND_EARLY, SEND_LATE, SEND_NEVER };

/* What is asked for. */
struct late_receiver_plan {
    const int64_t *message_bytes; /* multiples of 8, in any order */
    size_t message_count;
    bool bisects; /* sizes between those where the outcome changes are measured too */
    int64_t least_delay_ns;
    int sender; /* ranks */
    int receiver;
    enum send send;
    uint64_t seed;
    struct budget budget; /* sizes that were not asked for are measured within it */
};

/* Moments of a part since the start that was agreed on, ns. Each rank notes its own. */
enum step {
    STEP_SENT,       /* sender: MPI_Isend is called */
    STEP_COMPUTED,   /* sender: it has computed, and calls MPI again */
    STEP_POSTED,     /* receiver: MPI_Irecv has returned, or MPI_Recv is called */
    STEP_LOOKS,      /* receiver: begins to look into its buffer */
    STEP_HAS_LOOKED, /* receiver: has done so */
    STEPS
};

struct late_receiver {
    const struct late_receiver_plan *plan;
    const struct program *program;
    changes *changes;
    struct fixed_work delay;
    struct idle_memory memory; /* before the points */
    bool sends;
    bool receives;
    MPI_Comm pair;      /* sender 0, receiver 1; MPI_COMM_NULL on other ranks */
    MPI_Comm probed;    /* what the helper probes; MPI_COMM_NULL: there is no helper */
    uint64_t *contents; /* sender: what messages are windows of */
    uint64_t *received; /* receiver: the last message */
    uint64_t transfer;  /* number of the last message, from which its contents follow */
    struct {
        int64_t message_bytes;
        int64_t transfer_ns; /* what a transfer took before the repetitions; the delay is chosen by it */
        int64_t delay_ns;    /* that the delay was chosen for */
        int64_t units;       /* of work in a delay */
    } point;                 /* that is being measured */
    int64_t lengthened;      /* delays are so many times as long as they else would be: a power of two */
    int64_t disordered;      /* parts since the point began whose steps came in another order; in the pair */
    bool shares_core;        /* a progress thread may run on the core of a rank */
    start_line *line;        /* of the part that runs */
    int64_t agreed;          /* start of the part, local time: the same moment for both ranks, which may begin later */
    int64_t steps[STEPS];    /* 0: not this rank's, or not in this part */
    struct {
        int64_t count; /* words that arrived wrong */
        char text[256];
    } faults;
};

/* What sampler_measure measures. The context of its hooks is a struct late_receiver. */
extern const struct sampler_kind late_receiver_points;

/* The `begin` and `end` of the struct program_kind. */
bool late_receiver_begin(struct program *program, void *context, sampler *s, char *reason, size_t reason_size);
bool late_receiver_end(struct program *program, void *context, char *reason, size_t reason_size);
