/*
 * A slower library for tests: LD_PRELOAD this, and every call of SLOW_CALLS (names with commas between them; default
 * MPI_Wait) takes SLOW_PERCENT (default 10) longer than it did: the CPU spins. Of known size, it shows which slowdowns
 * a comparison finds. Those are the calls of the timed parts: MPI_Wait, MPI_Waitall, MPI_Test, MPI_Start and the
 * nonblocking collectives. SLOW_FIRST=N: only a rank's first N calls of each are longer. SLOW_COUNTS=1: in MPI_Finalize
 * each rank says on standard error how often it called each of them, how long they took, and how much longer.
 */
#include "nonblocking.h"

#include <limits.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CALL_OF_FORM(form, Form, receive, parameters, arguments) CALL_MPI_I##form,
#define NAME_OF_FORM(form, Form, receive, parameters, arguments) [CALL_MPI_I##form] = {.name = "MPI_I" #form},

enum call {
    CALL_MPI_Wait,
    CALL_MPI_Waitall,
    CALL_MPI_Test,
    CALL_MPI_Start,
    CALL_MPI_Ibarrier,
    NONBLOCKING_COLLECTIVES(CALL_OF_FORM) CALLS
};

static struct {
    const char *name;
    bool slowed;
    atomic_llong count, took_ns, longer_ns; /* MPI_Test is called by a helper thread */
} calls[] = {[CALL_MPI_Wait] = {.name = "MPI_Wait"},         [CALL_MPI_Waitall] = {.name = "MPI_Waitall"},
             [CALL_MPI_Test] = {.name = "MPI_Test"},         [CALL_MPI_Start] = {.name = "MPI_Start"},
             [CALL_MPI_Ibarrier] = {.name = "MPI_Ibarrier"}, NONBLOCKING_COLLECTIVES(NAME_OF_FORM)};
static double percent = 10;
static long long first = LLONG_MAX;

static void choose(const char *name, size_t length) {
    for (int i = 0; i < CALLS; i++) {
        if (strlen(calls[i].name) == length && strncmp(calls[i].name, name, length) == 0) {
            calls[i].slowed = true;
            return;
        }
    }
    fprintf(stderr,
            "slow_preload: SLOW_CALLS has '%.*s': MPI_Wait, MPI_Waitall, MPI_Test, MPI_Start or a nonblocking "
            "collective, such as MPI_Ibcast\n",
            (int)length, name);
    abort();
}

__attribute__((constructor)) static void begin(void) {
    const char *longer = getenv("SLOW_PERCENT");
    const char *names = getenv("SLOW_CALLS");
    const char *few = getenv("SLOW_FIRST");
    percent = longer != NULL ? strtod(longer, NULL) : percent;
    first = few != NULL ? strtoll(few, NULL, 10) : first;
    for (const char *name = names != NULL ? names : "MPI_Wait";; name++) {
        const size_t length = strcspn(name, ",");
        choose(name, length);
        name += length;
        if (*name == '\0') {
            return;
        }
    }
}

static long long now_ns(void) {
    struct timespec now;
    return clock_gettime(CLOCK_MONOTONIC, &now) == 0 ? (long long)now.tv_sec * 1000000000 + now.tv_nsec : 0;
}

static void end(enum call call, long long began) {
    const long long ended = now_ns();
    const long long until = ended + (long long)((double)(ended - began) * percent / 100);
    long long now = ended;
    const bool slowed = calls[call].slowed && calls[call].count < first;
    while (slowed && now < until) {
        now = now_ns(); /* as a library that does more work */
    }
    calls[call].count++;
    calls[call].took_ns += ended - began;
    calls[call].longer_ns += now - ended;
}

#define TIMED(name, parameters, arguments)                                                                             \
    int name(LIST parameters) {                                                                                        \
        const long long began = now_ns();                                                                              \
        const int code = P##name arguments;                                                                            \
        end(CALL_##name, began);                                                                                       \
        return code;                                                                                                   \
    }

#define TIMED_FORM(name, Name, receive, parameters, arguments)                                                         \
    TIMED(MPI_I##name, (LIST parameters, MPI_Request * request), (LIST arguments, request))

TIMED(MPI_Wait, (MPI_Request * request, MPI_Status *status), (request, status))
TIMED(MPI_Waitall, (int count, MPI_Request requests[], MPI_Status statuses[]), (count, requests, statuses))
TIMED(MPI_Test, (MPI_Request * request, int *flag, MPI_Status *status), (request, flag, status))
TIMED(MPI_Start, (MPI_Request * request), (request))
TIMED(MPI_Ibarrier, (MPI_Comm comm, MPI_Request *request), (comm, request))
NONBLOCKING_COLLECTIVES(TIMED_FORM)

int MPI_Finalize(void) {
    for (int i = 0; getenv("SLOW_COUNTS") != NULL && i < CALLS; i++) {
        if (calls[i].count > 0) {
            fprintf(stderr, "slow_preload: %s: %lld calls, %lld ns, %lld ns longer\n", calls[i].name,
                    (long long)calls[i].count, (long long)calls[i].took_ns, (long long)calls[i].longer_ns);
        }
    }
    return PMPI_Finalize();
}
