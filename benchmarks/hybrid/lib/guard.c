#include "guard.h"

#include "error.h"
#include "steps.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- wrong accesses ---- */

enum { MOST_GUARDED = 64 };
static struct guarded {
    const hybrid_memory *memory;
    const char *begin;
    const char *end;
    char text[256];
} guarded[MOST_GUARDED];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction earlier;

static void handle(int number, siginfo_t *info, void *context) {
    const char *at = info->si_addr;
    (void)number;
    (void)context;
    for (int i = 0; i < MOST_GUARDED; i++) {
        if (guarded[i].memory != NULL && at >= guarded[i].begin && at < guarded[i].end) {
            if (write(STDERR_FILENO, guarded[i].text, strlen(guarded[i].text)) < 0) {
                break;
            }
        }
    }
    /* The access is made again, and ends the process as it would have without this library. */
    sigaction(SIGSEGV, &earlier, NULL);
}

static struct guarded *find(const hybrid_memory *m) {
    for (int i = 0; i < MOST_GUARDED; i++) {
        if (guarded[i].memory == m) {
            return &guarded[i];
        }
    }
    return NULL;
}

static void describe(const hybrid_memory *m) {
    static const char *const may[] = {
        [PHASE_IDLE] = "no phase, in which it must not touch it",
        [PHASE_WRITE] = "its write phase, in which it may touch what it named in hybrid_write_begin",
        [PHASE_STARTED] = "a collective that was started, in which it must not touch it",
        [PHASE_READ] = "its read phase, in which it may read, and write nothing",
    };
    struct guarded *g = find(m);
    if (g != NULL) {
        snprintf(g->text, sizeof g->text,
                 "hybrid_collectives_checked: rank %d touched the node's memory against the contract: it is in %s\n",
                 m->comm->rank, may[m->phase]);
    }
}

/* ---- pages ---- */

size_t guard_alignment(void) {
    const long bytes = sysconf(_SC_PAGESIZE);
    return bytes > FLAGS_LINE ? (size_t)bytes : FLAGS_LINE;
}

/* Sets what this process may do with the pages of some bytes of a buffer. */
static int protect(char *buffer, size_t offset, size_t bytes, int access) {
    const size_t page = guard_alignment();
    const size_t begin = offset / page * page;
    if (bytes == 0) {
        return MPI_SUCCESS;
    }
    return mprotect(buffer + begin, offset + bytes - begin, access) == 0
               ? MPI_SUCCESS
               : error_set(MPI_ERR_OTHER, "the pages of the node's memory cannot be guarded: %s", strerror(errno));
}

int guard_set(hybrid_memory *m) {
    char *buffer = memory_buffer(m);
    describe(m);
    switch (m->phase) {
    case PHASE_WRITE:
        TRY(protect(buffer, 0, m->buffer_bytes, PROT_NONE));
        return protect(buffer, m->written_offset, m->written_bytes, PROT_READ | PROT_WRITE);
    case PHASE_STARTED:
        return protect(buffer, 0, m->buffer_bytes, PROT_READ | PROT_WRITE);
    case PHASE_READ:
        return protect(buffer, 0, m->buffer_bytes, PROT_READ);
    default:
        return protect(buffer, 0, m->buffer_bytes, PROT_NONE);
    }
}

int guard_hide(hybrid_memory *m) {
    const bool leads = comm_leads(m->comm) && m->comm->nodes > 1;
    return leads ? MPI_SUCCESS : protect(memory_buffer(m), 0, m->buffer_bytes, PROT_NONE);
}

int guard_add(hybrid_memory *m) {
    const size_t bytes = (size_t)m->buffers * m->buffer_stride;
    pthread_mutex_lock(&lock);
    struct guarded *g = find(NULL);
    if (g != NULL) {
        g->begin = m->data;
        g->end = m->data + bytes;
        g->memory = m;
    }
    struct sigaction now;
    if (sigaction(SIGSEGV, NULL, &now) == 0 && (!(now.sa_flags & SA_SIGINFO) || now.sa_sigaction != handle)) {
        struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
        sigemptyset(&action.sa_mask);
        earlier = now;
        sigaction(SIGSEGV, &action, NULL);
    }
    pthread_mutex_unlock(&lock);
    describe(m);
    return protect(m->data, 0, bytes, PROT_NONE);
}

void guard_remove(hybrid_memory *m) {
    protect(m->data, 0, (size_t)m->buffers * m->buffer_stride, PROT_READ | PROT_WRITE);
    pthread_mutex_lock(&lock);
    struct guarded *g = find(m);
    if (g != NULL) {
        g->memory = NULL;
    }
    pthread_mutex_unlock(&lock);
}

/* ---- what the ranks of a node have named and called ---- */

struct note {
    size_t written_offset;
    size_t written_bytes;
    size_t count;
    size_t element_bytes;
    int root;
    int method;
    int code;
    char name[32];
};

/* The notes of two rounds, as many as may be going on at once: a rank that is one ahead must not overwrite what another
 * still reads. */
enum { NOTED_ROUNDS = 2 };

size_t guard_bytes(int node_ranks) {
    return memory_stride(NOTED_ROUNDS * (size_t)node_ranks * sizeof(struct note));
}

static struct note *notes_of(const hybrid_memory *m) {
    struct note *notes = (struct note *)(void *)((char *)m->flags + flags_bytes(m->comm->node_ranks));
    return notes + m->round % NOTED_ROUNDS * (size_t)m->comm->node_ranks;
}

static int compare(const hybrid_memory *m, const struct note *notes) {
    for (int i = 0; i < m->comm->node_ranks; i++) {
        const struct note *a = &notes[i];
        const struct note *b = &notes[0];
        if (a->code == MPI_SUCCESS && b->code == MPI_SUCCESS &&
            (strcmp(a->name, b->name) != 0 || a->count != b->count || a->element_bytes != b->element_bytes ||
             a->root != b->root || a->method != b->method)) {
            return error_set(
                MPI_ERR_ARG,
                "ranks of node %d call different things: %s of %zu elements of %zu bytes, root %d; and %s of "
                "%zu elements of %zu bytes, root %d",
                m->comm->node_index, b->name, b->count, b->element_bytes, b->root, a->name, a->count, a->element_bytes,
                a->root);
        }
        for (int j = 0; j < i; j++) {
            const struct note *c = &notes[j];
            if (a->written_offset < c->written_offset + c->written_bytes &&
                c->written_offset < a->written_offset + a->written_bytes) {
                return error_set(
                    MPI_ERR_RMA_CONFLICT,
                    "two ranks of node %d may write the same bytes in this round: %zu bytes from byte %zu, and "
                    "%zu bytes from byte %zu",
                    m->comm->node_index, c->written_bytes, c->written_offset, a->written_bytes, a->written_offset);
            }
        }
    }
    return MPI_SUCCESS;
}

int guard_compare(hybrid_memory *m, const struct call *call, const char *name, int code) {
    struct note *notes = notes_of(m);
    struct note *own = &notes[m->comm->node_rank];
    *own = (struct note){.written_offset = m->written_offset,
                         .written_bytes = m->written_bytes,
                         .count = call->count,
                         .element_bytes = call->element_bytes,
                         .root = call->root,
                         .method = (int)call->method,
                         .code = code};
    snprintf(own->name, sizeof own->name, "%s", name);
    TRY(step_all(m));
    if (code == MPI_SUCCESS) {
        code = compare(m, notes);
    }
    return comm_share_error(m->comm->all, code);
}
