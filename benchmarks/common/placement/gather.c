#include "placement_internal.h"

#include "fail.h"
#include "fail_mpi.h"
#include "placement_text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *own_text(const placement *place) {
    struct topology_cpus cores;
    topology_cores(&place->cpus, &cores);
    char **compute = fail_alloc((size_t)place->threads, sizeof *compute);
    for (int i = 0; i < place->threads; i++) {
        compute[i] = topology_cpus_format(&place->compute_cpus[i]);
    }
    size_t count = place->mpi_threads.count;
    char **cpusets = fail_alloc(count, sizeof *cpusets);
    struct placement_thread *threads = fail_alloc(count, sizeof *threads);
    for (size_t i = 0; i < count; i++) {
        cpusets[i] = topology_cpus_format(&place->mpi_threads.threads[i].cpus);
        threads[i] = (struct placement_thread){place->mpi_threads.threads[i].name, cpusets[i]};
    }
    char *cpuset = topology_cpus_format(&place->cpus);
    char *dedicated = place->configuration->bound ? topology_cpus_format(&place->dedicated) : fail_strdup("");
    char *helper_cpuset = topology_cpus_format(&place->helper.cpus);
    const struct placement_thread helper = {place->helper.name, helper_cpuset};
    const struct placement_rank record = {.rank = place->rank,
                                          .host = place->host,
                                          .node = place->node_index,
                                          .cpuset = cpuset,
                                          .physical_cores = topology_cpus_count(&cores),
                                          .compute_cpusets = compute,
                                          .compute_count = (size_t)place->threads,
                                          .mpi_threads = threads,
                                          .mpi_thread_count = count,
                                          .helper_threads = &helper,
                                          .helper_thread_count = place->has_helper,
                                          .dedicated_cpuset = dedicated};
    char *text = placement_text(&record);
    free(helper_cpuset);
    free(dedicated);
    free(cpuset);
    free(threads);
    for (size_t i = 0; i < count; i++) {
        free(cpusets[i]);
    }
    free(cpusets);
    for (int i = 0; i < place->threads; i++) {
        free(compute[i]);
    }
    free(compute);
    return text;
}

/* Gathers blocks of different lengths on rank 0: one buffer and the offsets in it, ranks + 1 of them; NULL elsewhere.
 */
static void *gather_blocks(const void *own, int count, MPI_Datatype type, size_t size, int **offsets) {
    int rank = 0;
    int ranks = 0;
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    int *counts = rank == 0 ? fail_alloc((size_t)ranks, sizeof *counts) : NULL;
    MPI_CHECK(MPI_Gather(&count, 1, MPI_INT, counts, 1, MPI_INT, 0, MPI_COMM_WORLD));
    void *all = NULL;
    *offsets = NULL;
    if (rank == 0) {
        *offsets = fail_alloc((size_t)ranks + 1, sizeof **offsets);
        for (int i = 0; i < ranks; i++) {
            if (counts[i] > INT_MAX - (*offsets)[i]) {
                fail_die("the placement of %d ranks is too long for one gather", ranks);
            }
            (*offsets)[i + 1] = (*offsets)[i] + counts[i];
        }
        all = fail_alloc((size_t)(*offsets)[ranks], size);
    }
    MPI_CHECK(MPI_Gatherv(own, count, type, all, counts, *offsets, type, 0, MPI_COMM_WORLD));
    free(counts);
    return all;
}

/* Frees own. */
static char **gather_texts(const placement *place, char *own) {
    int *offsets = NULL;
    char *all = gather_blocks(own, (int)strlen(own) + 1, MPI_CHAR, 1, &offsets);
    free(own);
    char **texts = NULL;
    if (all != NULL) {
        texts = fail_alloc((size_t)place->ranks + 1, sizeof *texts);
        for (int i = 0; i < place->ranks; i++) {
            texts[i] = all + offsets[i];
        }
    }
    free(offsets);
    return texts;
}

char **placement_gather_texts(const placement *place) {
    return gather_texts(place, own_text(place));
}

char **placement_gather_computing(const placement *place) {
    char *own = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&own, &length);
    if (file == NULL) {
        fail_die("open_memstream failed");
    }
    fprintf(file, "%d", place->node_index);
    for (int i = 0; i < place->threads; i++) {
        char *cpus = topology_cpus_format(&place->compute_cpus[i]);
        fprintf(file, " %s", cpus);
        free(cpus);
    }
    if (fclose(file) != 0) {
        fail_die("out of memory");
    }
    return gather_texts(place, own);
}

void placement_free_texts(char **texts) {
    if (texts != NULL) {
        free(texts[0]);
        free(texts);
    }
}

void placement_gather_counts(const int64_t *own, size_t count, int64_t ***values, size_t **counts) {
    int ranks = 0;
    int *offsets = NULL;
    MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    int64_t *all = gather_blocks(own, (int)count, MPI_INT64_T, sizeof *own, &offsets);
    *values = NULL;
    *counts = NULL;
    if (all != NULL) {
        *values = fail_alloc((size_t)ranks, sizeof **values);
        *counts = fail_alloc((size_t)ranks, sizeof **counts);
        for (int i = 0; i < ranks; i++) {
            (*values)[i] = all + offsets[i];
            (*counts)[i] = (size_t)(offsets[i + 1] - offsets[i]);
        }
    }
    free(offsets);
}
