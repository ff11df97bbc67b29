#include "idle_memory.h"

#include "fail_mpi.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum kind { ALL, ANONYMOUS, SHARED, KINDS };

/* As the lines of the file begin. */
static const char *const names[KINDS] = {"Pss:", "Pss_Anon:", "Pss_Shmem:"};

/* Writes this process's PSS by kind, bytes; -1 where the kernel does not tell. */
static void read_own(int64_t bytes[KINDS]) {
    FILE *file = fopen("/proc/self/smaps_rollup", "re");
    char line[256];
    for (int kind = 0; kind < KINDS; kind++) {
        bytes[kind] = -1;
    }
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        for (int kind = 0; kind < KINDS; kind++) {
            const size_t length = strlen(names[kind]);
            int64_t kibibytes = 0;
            if (strncmp(line, names[kind], length) == 0 && sscanf(line + length, "%" SCNd64 " kB", &kibibytes) == 1) {
                bytes[kind] = 1024 * kibibytes;
            }
        }
    }
    if (file != NULL && fclose(file) != 0) {
        bytes[ALL] = -1;
    }
}

/* Every rank exchanges a word with every other, so that connections and their buffers are made. */
static void connect_all(void) {
    int rank = 0;
    int ranks = 1;
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    for (int distance = 1; distance < ranks; distance++) {
        const int64_t sent = rank;
        int64_t received = 0;
        MPI_CHECK(MPI_Sendrecv(&sent, 1, MPI_INT64_T, (rank + distance) % ranks, 0, &received, 1, MPI_INT64_T,
                               (rank - distance + ranks) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
}

struct idle_memory idle_memory_measure(void) {
    int64_t own[KINDS];
    int64_t smallest[KINDS];
    int64_t total[KINDS];
    int64_t largest = 0;
    connect_all();
    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
    read_own(own);
    MPI_CHECK(MPI_Allreduce(own, smallest, KINDS, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD));
    MPI_CHECK(MPI_Allreduce(own, total, KINDS, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
    MPI_CHECK(MPI_Allreduce(&own[ALL], &largest, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD));
    return (struct idle_memory){.total_bytes = smallest[ALL] < 0 ? -1 : total[ALL],
                                .largest_bytes = smallest[ALL] < 0 ? -1 : largest,
                                .anonymous_bytes = smallest[ANONYMOUS] < 0 ? -1 : total[ANONYMOUS],
                                .shared_bytes = smallest[SHARED] < 0 ? -1 : total[SHARED]};
}
