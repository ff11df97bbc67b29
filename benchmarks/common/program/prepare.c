#include "program.h"

#include "fail.h"
#include "fail_mpi.h"
#include "file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads the metadata file, whose JSON object becomes one line: a line break in it, which is between its tokens, goes,
 * and so do the blanks after it. NULL and one line in error where it has no object. */
static char *read_metadata(const char *path, char *error, size_t error_size) {
    size_t length = 0;
    char *text = file_read(path, &length, error, error_size);
    if (text == NULL) {
        return NULL;
    }
    const bool is_text = strlen(text) == length;
    char *rest = NULL;
    char *end = text;
    for (char *line = strtok_r(text, "\r\n", &rest); line != NULL; line = strtok_r(NULL, "\r\n", &rest)) {
        line += strspn(line, " \t");
        const size_t used = strlen(line);
        memmove(end, line, used);
        end += used;
    }
    while (end > text && strchr(" \t", end[-1]) != NULL) {
        end--;
    }
    if (!is_text || end - text < 2 || text[0] != '{' || end[-1] != '}') {
        snprintf(error, error_size, "metadata file '%s': a JSON object is needed, from { to }", path);
        free(text);
        return NULL;
    }
    *end = '\0';
    return text;
}

/* Rank 0: reads the metadata once. One line in error on a fault. */
static void take_metadata(struct program *program, char *error, size_t error_size) {
    if (program->settings.metadata != NULL && program->metadata == NULL) {
        program->metadata = read_metadata(program->settings.metadata, error, error_size);
    }
}

bool program_open_record(struct program *program) {
    char error[768] = "";
    if (program->rank == 0) {
        take_metadata(program, error, sizeof error);
    }
    if (program->rank == 0 && error[0] == '\0') {
        program->record = record_create(program->settings.record, error, sizeof error);
    }
    return program_all_good(error);
}

bool program_prepare(struct program *program, const char *error) {
    char own[768];
    snprintf(own, sizeof own, "%s", error);
    if (program->rank == 0 && own[0] == '\0') {
        take_metadata(program, own, sizeof own);
    }
    if (own[0] == '\0') {
        placement_look_again(program->place);
        program->team = compute_create(program->computation, program->threads, own, sizeof own);
        placement_own_threads(program->place);
    }
    if (!program_all_good(own)) {
        return false;
    }
    placement_bind(program->place, program->team, program->threads);
    if (program->settings.move_progress_threads) {
        placement_move_threads(program->place, own, sizeof own);
    }
    if (program->configuration->source == PROGRESS_APPLICATION) {
        program->helper = helper_create(placement_dedicated_cpu(program->place), own, sizeof own);
    }
    if (program->helper != NULL) {
        const struct topology_thread thread = helper_thread(program->helper);
        placement_add_helper(program->place, &thread);
    }
    return program_all_good(own) && program_open_record(program);
}

/* Spinning ranks take turns on a core in time slices of milliseconds: with more ranks than this on a core a round of
 * all of them takes too long. */
enum { MOST_RANKS_PER_CORE = 16 };

uint64_t program_largest_work(const struct program *program) {
    const struct compute_kernel *kernel = &compute_kernels[program->computation];
    const double memory = program->memory_bytes > 0 ? (double)program->memory_bytes / 4 : 4e9;
    const uint64_t most = compute_most(program->computation, memory, program->threads);
    return most > kernel->least ? most : kernel->least;
}

void program_check_crowd(const struct program *program, char *error, size_t error_size) {
    const double per_core = placement_summarise(program->place).ranks_per_core;
    if (per_core > MOST_RANKS_PER_CORE) {
        snprintf(error, error_size,
                 "%g ranks per core: above %d a start together takes longer than what is measured; start fewer, or on "
                 "more nodes",
                 per_core, MOST_RANKS_PER_CORE);
    }
}

void program_check_nodes(const struct program *program, int64_t virtual_node_ranks, char *error, size_t error_size) {
    char fewer[32] = "";
    program_check_crowd(program, error, error_size);
    if (program->ranks < 2) {
        snprintf(error, error_size, "%d rank: a collective needs at least 2; start with mpiexec -n 2 or more",
                 program->ranks);
    } else if (virtual_node_ranks >= program->ranks && error[0] == '\0') {
        snprintf(fewer, sizeof fewer, program->ranks > 2 ? "1 to %d" : "%d", program->ranks - 1);
        snprintf(
            error, error_size, "--virtual-node-ranks: %" PRId64 " ranks of a virtual node are %s %d ranks: give %s",
            virtual_node_ranks, virtual_node_ranks > program->ranks ? "more than all" : "all", program->ranks, fewer);
    }
}

const char *program_thread_level_name(int level) {
    return level == MPI_THREAD_MULTIPLE     ? "multiple"
           : level == MPI_THREAD_SERIALIZED ? "serialized"
           : level == MPI_THREAD_FUNNELED   ? "funneled"
                                            : "single";
}

void program_configure(struct program *program, char *error, size_t error_size) {
    const struct configuration *configuration = program->configuration;
    const struct option_list *cpus = &program->settings.dedicated_cpus;
    error[0] = '\0';
    if (program->thread_level < program_thread_level(program)) {
        snprintf(error, error_size,
                 "this MPI library provides the thread level %s; configuration %s needs %s; use another configuration, "
                 "or a library that is built for it",
                 program_thread_level_name(program->thread_level), configuration->name,
                 program_thread_level_name(program_thread_level(program)));
        return; /* on all ranks alike: they have one library and ask for the same level */
    }
    placement_dedicate(program->place, configuration, cpus->count > 0 ? cpus->values : NULL, cpus->count,
                       program->threads, error, error_size);
}

void program_verify(const struct program *program, char *error, size_t error_size) {
    placement_verify(program->place, error, error_size);
}

void program_synchronise(struct program *program) {
    if (program->kind->clockless) {
        program->clock = clock_create_none();
        return;
    }
    char *identity = placement_clock_identity(program->place);
    program->clock = clock_create(MPI_COMM_WORLD, identity);
    free(identity);
    const struct clock_quality quality = clock_quality_of(program->clock);
    if (program->rank == 0 && quality.method == CLOCK_NONE) {
        fail_report("no clock: %s; ranks start from a barrier, and times are each rank's own", quality.refusal);
    }
}
