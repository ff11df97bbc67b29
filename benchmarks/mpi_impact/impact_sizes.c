#include "impact_sizes.h"

#include "fail.h"
#include "fail_mpi.h"
#include "size_search_mpi.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The tolerance of section 5.1: a ratio is made of measured times, and a target only says where it stands on the axis.
 */
static const double tolerance = 0.1;

/* Sizes that are tried for one target. A long work is measured less often, because its times vary less. */
enum { MOST_MEASUREMENTS = 8, MOST_OF_LONG_ONES = 3, LONG_NS = 100000000 };

struct job {
    const struct program *program;
    int64_t target_ns;
};

/* Collective: returns the time of the slowest thread of all ranks, the shortest of a few repetitions, because a
 * disturbance only makes a time longer. */
static double measure_size(void *context, uint64_t size) {
    const struct job *job = context;
    const int wanted = job->target_ns > LONG_NS ? 1 : 5;
    int64_t shortest = INT64_MAX;
    compute_reserve(job->program->team, size);
    for (int i = wanted > 1 ? -1 : 0; i < wanted; i++) { /* -1 warms up */
        MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
        int64_t time = compute_run(job->program->team, size, NULL);
        MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &time, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD));
        shortest = i >= 0 && time < shortest ? time : shortest;
    }
    return fmax((double)shortest, 1);
}

static void search(const struct program *program, struct impact_plan *plan) {
    const struct compute_kernel *kernel = &compute_kernels[program->computation];
    double guess = (double)kernel->first_guess;
    const uint64_t most = program_largest_work(program);
    for (size_t i = 0; i < plan->count; i++) {
        struct impact_target *target = &plan->targets[i];
        struct job job = {.program = program, .target_ns = target->comp_target_ns};
        if (i > 0) {
            const struct impact_target *before = &plan->targets[i - 1];
            guess = (double)before->work_size *
                    pow((double)target->comp_target_ns / before->calibration.time_ns, 1 / kernel->exponent);
        }
        const struct size_search_request request = {
            .target_ns = (double)target->comp_target_ns,
            .tolerance = tolerance,
            .min_size = kernel->least,
            .max_size = most,
            .step = kernel->step,
            .initial_size = guess < (double)most ? (uint64_t)guess : most,
            .exponent = kernel->exponent,
            .max_measurements = target->comp_target_ns > LONG_NS ? MOST_OF_LONG_ONES : MOST_MEASUREMENTS};
        const struct size_search_result found = size_search_mpi_run(MPI_COMM_WORLD, &request, measure_size, &job);
        target->work_size = found.size;
        target->calibration = found;
        if (program_prints(program)) {
            fprintf(stderr,
                    "# calibrated the computation for %g ms: size %llu takes %.3f ms (%+.1f %%, %s, %u measurements)\n",
                    (double)target->comp_target_ns / 1e6, (unsigned long long)found.size, found.time_ns / 1e6,
                    100 * found.error_relative, size_status_name(found.status), found.measurements);
        }
    }
}

/* The plan's targets as a table without collectives. Free its list of work. */
static struct size_table table_of(const struct program *program, const struct impact_plan *plan, int given_up_cores) {
    struct size_table table = {.ranks = program->ranks,
                               .threads_per_rank = program->threads,
                               .given_up_cores = given_up_cores,
                               .computation = compute_choices()[plan->computation].name};
    table.work.count = plan->count;
    table.work.entries = fail_alloc(plan->count, sizeof *table.work.entries);
    for (size_t i = 0; i < plan->count; i++) {
        const struct impact_target *target = &plan->targets[i];
        table.work.entries[i] = (struct size_entry){.target_ns = target->comp_target_ns,
                                                    .size = target->work_size,
                                                    .status = target->calibration.status,
                                                    .time_ns = (int64_t)target->calibration.time_ns};
    }
    return table;
}

bool impact_sizes_read(const char *path, const struct program *program, int given_up_cores, struct impact_plan *plan,
                       char *error, size_t error_size) {
    struct size_table table = table_of(program, plan, given_up_cores);
    bool good = size_table_read(path, &table, error, error_size);
    for (size_t i = 0; i < plan->count && good; i++) {
        const struct size_entry *entry = &table.work.entries[i];
        const struct compute_kernel *kernel = &compute_kernels[plan->computation];
        const double needed = compute_bytes(plan->computation, entry->size, program->threads);
        if (entry->size > kernel->most || (program->memory_bytes > 0 && needed > (double)program->memory_bytes)) {
            snprintf(
                error, error_size,
                "sizes file '%s': %s of size %llu needs %.0f MiB on a rank, whose share of memory is %.0f MiB; %llu is "
                "the most",
                path, kernel->name, (unsigned long long)entry->size, needed / 1048576,
                (double)program->memory_bytes / 1048576,
                (unsigned long long)compute_most(plan->computation, (double)program->memory_bytes, program->threads));
            good = false;
        }
        const double off = entry->time_ns > 0 ? (double)entry->time_ns / (double)entry->target_ns - 1 : 0;
        plan->targets[i].work_size = entry->size;
        plan->targets[i].calibration = (struct size_search_result){
            .status = SIZE_GIVEN, .size = entry->size, .time_ns = (double)entry->time_ns, .error_relative = off};
    }
    free(table.work.entries);
    return good;
}

bool impact_sizes_find(const struct program *program, bool given, const char *save_sizes, struct impact_plan *plan) {
    char error[768] = "";
    if (given) {
        MPI_CHECK(MPI_Bcast(plan->targets, (int)(plan->count * sizeof *plan->targets), MPI_BYTE, 0, MPI_COMM_WORLD));
    } else {
        search(program, plan);
    }
    for (size_t i = 0; i < plan->count && error[0] == '\0'; i++) {
        const struct impact_target *target = &plan->targets[i];
        if (target->calibration.status == SIZE_UNREACHABLE) {
            snprintf(
                error, sizeof error,
                "no size of the computation takes %g ms; the closest, %llu, takes %.3f ms: ask for other --comp-times",
                (double)target->comp_target_ns / 1e6, (unsigned long long)target->work_size,
                target->calibration.time_ns / 1e6);
        }
    }
    if (program->rank == 0 && error[0] == '\0' && save_sizes != NULL) {
        struct size_table table = table_of(program, plan, 0);
        (void)size_table_write(save_sizes, &table, error, sizeof error);
        free(table.work.entries);
    }
    return program_all_good(error);
}
