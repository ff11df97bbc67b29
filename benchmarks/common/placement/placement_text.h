/*
 * placement_text - writes where one rank and its threads run as the JSON object that the record's header has for each
 * rank. No MPI.
 */
#pragma once

#include <stddef.h>

struct placement_thread {
    const char *name;
    const char *cpuset;
};

struct placement_rank {
    int rank;
    const char *host;
    int node;
    const char *cpuset;
    size_t physical_cores;
    char *const *compute_cpusets;
    size_t compute_count;
    const struct placement_thread *mpi_threads;
    size_t mpi_thread_count;
    const struct placement_thread *helper_threads;
    size_t helper_thread_count;
    const char *dedicated_cpuset; /* "": none */
};

/* Returns the JSON object. Free with free(). */
char *placement_text(const struct placement_rank *placement);
