#include "memory_use.h"

#include "fail_mpi.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

/* glibc's smallest and largest threshold: it begins with the first, and raises it to the size of each larger block that
 * is freed, up to the second. It gives the end of the heap back from twice the threshold on (mallopt(3)). */
enum { SMALLEST_THRESHOLD = 128 * 1024, LARGEST_THRESHOLD = 4 * 1024 * 1024 * (int)sizeof(long) };

void memory_use_begin(void) {
    mallopt(M_MMAP_THRESHOLD, SMALLEST_THRESHOLD);
    malloc_trim(0); /* so that no large block finds room at the end of the heap */
}

void memory_use_end(void) {
    mallopt(M_MMAP_THRESHOLD, LARGEST_THRESHOLD);
    mallopt(M_TRIM_THRESHOLD, 2 * LARGEST_THRESHOLD);
}

/* Adds the value of a line such as "Pss:  1234 kB" to *bytes where the line has this name. */
static void add_line(const char *line, const char *name, int64_t *bytes) {
    int64_t kib = 0;
    if (strncmp(line, name, strlen(name)) == 0 && sscanf(line + strlen(name), "%" SCNd64, &kib) == 1) {
        *bytes = (*bytes < 0 ? 0 : *bytes) + kib * 1024;
    }
}

struct memory_use memory_use_now(void) {
    malloc_trim(0);
    struct memory_use use = {-1, -1, -1};
    char line[256];
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    if (file == NULL) {
        return use;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        add_line(line, "Pss:", &use.proportional);
        add_line(line, "Rss:", &use.resident);
        add_line(line, "Shared_Clean:", &use.shared);
        add_line(line, "Shared_Dirty:", &use.shared);
    }
    fclose(file);
    return use;
}

struct memory_use memory_use_of_node(MPI_Comm node, bool takes_part) {
    int ranks = 0;
    MPI_CHECK(MPI_Comm_size(node, &ranks));
    MPI_CHECK(MPI_Barrier(node)); /* the data of all of them are there */
    const struct memory_use own = memory_use_now();
    int64_t sums[] = {takes_part ? own.proportional : 0, takes_part ? own.resident : 0, takes_part ? own.shared : 0,
                      takes_part, own.proportional < 0};
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, sums, 5, MPI_INT64_T, MPI_SUM, node));
    if (sums[4] > 0) {
        return (struct memory_use){-1, -1, -1};
    }
    const bool alone = sums[3] == 1;
    return (struct memory_use){
        .proportional = alone ? sums[1] : sums[0], .resident = sums[1], .shared = alone ? 0 : sums[2]};
}
