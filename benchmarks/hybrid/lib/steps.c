#include "steps.h"

#include <sched.h>

/* All ranks of the node have come to the collective of this round, so they have ended the read phases before it. */
static int all_have_come(hybrid_memory *m) {
    m->ended = m->round - 1;
    return MPI_SUCCESS;
}

/* MPI_Barrier of the node. It spins in most libraries, so where there are fewer CPUs than ranks, a rank that waits
 * gives its CPU away instead. */
static int node_barrier(const hybrid_comm *comm) {
    MPI_Request request = MPI_REQUEST_NULL;
    int over = 0;
    if (!comm->oversubscribed) {
        TRY_MPI(MPI_Barrier(comm->node));
        return MPI_SUCCESS;
    }
    TRY_MPI(MPI_Ibarrier(comm->node, &request));
    TRY_MPI(MPI_Test(&request, &over, MPI_STATUS_IGNORE));
    while (!over) {
        sched_yield();
        TRY_MPI(MPI_Test(&request, &over, MPI_STATUS_IGNORE));
    }
    return MPI_SUCCESS;
}

static int barrier(hybrid_memory *m) {
    TRY_MPI(MPI_Win_sync(m->win));
    TRY(node_barrier(m->comm));
    TRY_MPI(MPI_Win_sync(m->win));
    return all_have_come(m);
}

static struct flag *arrived(hybrid_memory *m, int node_rank) {
    return &m->flags->ranks[node_rank].arrived;
}

static int wait_for_all(hybrid_memory *m) {
    const struct flags_waiting waiting = comm_waiting(m->comm);
    for (int i = 0; i < m->comm->node_ranks; i++) {
        TRY(flag_wait(arrived(m, i), m->step, &waiting));
    }
    return all_have_come(m);
}

int step_gather(hybrid_memory *m) {
    if (m->sync == HYBRID_BARRIER) {
        return barrier(m);
    }
    flag_set(arrived(m, m->comm->node_rank), ++m->step);
    return comm_leads(m->comm) ? wait_for_all(m) : MPI_SUCCESS;
}

int step_all(hybrid_memory *m) {
    /* Where all of n ranks look at the flags of all, n squared cache lines travel; where one collects them, 2 n do, and
     * two waits follow each other instead of one. Of 16 ranks these are 256 lines and 32. Reasoned, not measured: there
     * were two cores. */
    enum { MOST_WHO_LOOK = 16 };
    if (m->sync == HYBRID_BARRIER) {
        return barrier(m);
    }
    if (m->comm->node_ranks > MOST_WHO_LOOK) {
        TRY(step_gather(m));
        TRY(step_release(m, MPI_SUCCESS));
        return all_have_come(m);
    }
    flag_set(arrived(m, m->comm->node_rank), ++m->step);
    return wait_for_all(m);
}

static struct note_line *note_lines_of(const hybrid_memory *m, int node_rank) {
    return m->notes + (size_t)node_rank * NOTE_LINES;
}

int step_give_note(hybrid_memory *m, const void *own, size_t bytes) {
    TRY(step_wait_for_readers(m)); /* the line of this note has that of a round before */
    note_write(note_lines_of(m, m->comm->node_rank), m->round, own, bytes);
    return MPI_SUCCESS;
}

int step_take_note(hybrid_memory *m, int from, void *note, size_t bytes) {
    const struct flags_waiting waiting = comm_waiting(m->comm);
    return note_read(note_lines_of(m, from), m->round, note, bytes, &waiting);
}

int step_notes(hybrid_memory *m, const void *own, size_t bytes, char *notes) {
    TRY(step_give_note(m, own, bytes));
    for (int i = 0; i < m->comm->node_ranks; i++) {
        TRY(step_take_note(m, i, notes + (size_t)i * NOTE_STRIDE, bytes));
    }
    return all_have_come(m);
}

int step_from(hybrid_memory *m, int from) {
    if (m->sync == HYBRID_BARRIER) {
        return barrier(m);
    }
    m->step++;
    if (m->comm->node_rank == from) {
        flag_set(arrived(m, from), m->step);
    }
    return MPI_SUCCESS;
}

int step_wait_for(hybrid_memory *m, int from) {
    if (m->sync == HYBRID_BARRIER || m->comm->node_rank == from) {
        return MPI_SUCCESS;
    }
    const struct flags_waiting waiting = comm_waiting(m->comm);
    return flag_wait(arrived(m, from), m->step, &waiting);
}

int step_release(hybrid_memory *m, int status) {
    struct node_flags *flags = m->flags;
    const bool leads = comm_leads(m->comm);
    if (leads && status != MPI_SUCCESS) {
        atomic_store_explicit(&flags->failed, status, memory_order_relaxed);
    }
    if (m->sync == HYBRID_BARRIER) {
        TRY(barrier(m));
    } else {
        m->step++;
        if (leads) {
            flag_set(&flags->released, m->step);
        } else {
            const struct flags_waiting waiting = comm_waiting(m->comm);
            TRY(flag_wait(&flags->released, m->step, &waiting));
        }
    }
    const int failed = atomic_load_explicit(&flags->failed, memory_order_relaxed);
    return leads || failed == MPI_SUCCESS
               ? status
               : error_set(failed, "the leader of node %d could not end the collective", m->comm->node_index);
}
