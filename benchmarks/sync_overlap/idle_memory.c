#include "idle_memory.h"

#include "fail_mpi.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

/* Returns this process's PSS; -1 where the kernel does not tell. */
static int64_t own_pss_bytes(void) {
    FILE *file = fopen("/proc/self/smaps_rollup", "re");
    char line[256];
    int64_t kibibytes = -1;
    if (file == NULL) {
        return -1;
    }
    while (kibibytes < 0 && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "Pss: %" SCNd64 " kB", &kibibytes) != 1) {
            kibibytes = -1;
        }
    }
    const bool good = fclose(file) == 0 && kibibytes >= 0;
    return good ? 1024 * kibibytes : -1;
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
    struct idle_memory memory = {0, 0};
    connect_all();
    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
    const int64_t own = own_pss_bytes();
    int64_t smallest = 0;
    MPI_CHECK(MPI_Allreduce(&own, &smallest, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD));
    MPI_CHECK(MPI_Allreduce(&own, &memory.total_bytes, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
    MPI_CHECK(MPI_Allreduce(&own, &memory.largest_bytes, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD));
    return smallest < 0 ? (struct idle_memory){-1, -1} : memory;
}
