#include "launch.h"

#include "fail.h"
#include "fail_mpi.h"
#include "phase.h"
#include "stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Time from the moment when all ranks are ready to the beginning, in which the last rank learns of it. */
enum { GRACE_NS = 20000000 };

/* Collective. false on all ranks: the disk refused. */
static bool write_header(struct program *program, const struct impact_plan *plan, bool sizes_given) {
    struct sampler_axis axes[SAMPLER_MOST_AXES];
    const struct sampler_plan asked = program_plan(program, NULL, axes);
    char *parameters = sampler_plan_parameters(&asked);
    char *own = fields_text(impact_plan_fields, plan);
    const struct record_plan all = {.parameters = parameters,
                                    .points = (int64_t)plan->count,
                                    .budget_seconds = NAN,
                                    .interval_relative = NAN,
                                    .min_repetitions = RECORD_UNKNOWN,
                                    .max_repetitions = RECORD_UNKNOWN,
                                    .sizes_given = sizes_given,
                                    .own = own};
    const bool good = program_write_header(program, &(struct program_header){.seed = RECORD_UNKNOWN, .plan = all});
    free(parameters);
    free(own);
    return good;
}

/* Subtracts the CPU times in *before from those in *after; a thread that has ended has 0. */
static void cpu_since(const struct program_cpu *before, struct program_cpu *after) {
    for (size_t i = 0; i < after->mpi_threads; i++) {
        after->mpi[i] = after->mpi[i] > before->mpi[i] ? after->mpi[i] - before->mpi[i] : 0;
    }
    after->helper -= before->helper;
}

/* Collective: rank 0 writes the footer. reason: why the record is not complete, "" where it is. measuring: CPU time of
 * the threads while the library was idle. false on all ranks: the disk refused. */
static bool write_footer(struct program *program, const char *reason, const struct program_cpu *measuring) {
    return program_write_footer(program,
                                &(struct program_footer){.reason = reason, .measured_seconds = NAN, .cpu = measuring});
}

/* Collective: writes the line of one target from all ranks' samples. false on all ranks: the disk refused. */
static bool write_point(struct program *program, const struct impact_plan *plan, size_t index,
                        const struct impact_samples *samples) {
    const int repetitions = (int)plan->targets[index].repetitions;
    const int64_t window[2] = {samples->begin_utc_ns, samples->end_utc_ns};
    const size_t ranks = (size_t)program->ranks;
    int64_t *windows = program->rank == 0 ? fail_alloc(2 * ranks, sizeof *windows) : NULL;
    int64_t *times = program->rank == 0 ? fail_alloc(ranks * (size_t)repetitions, sizeof *times) : NULL;
    MPI_CHECK(MPI_Gather(window, 2, MPI_INT64_T, windows, 2, MPI_INT64_T, 0, MPI_COMM_WORLD));
    MPI_CHECK(
        MPI_Gather(samples->t_comp_ns, repetitions, MPI_INT64_T, times, repetitions, MPI_INT64_T, 0, MPI_COMM_WORLD));
    bool good = true;
    if (program->rank == 0) {
        good = impact_write_point(program->record, plan, index, ranks, windows, times);
    }
    if (program_prints(program)) {
        int64_t slowest = 0;
        for (size_t i = 0; i < ranks; i++) {
            const int64_t median = stats_median_of(times + i * (size_t)repetitions, (size_t)repetitions);
            slowest = median > slowest ? median : slowest;
        }
        printf("%12.3f %12llu %12.3f %6d\n", (double)plan->targets[index].comp_target_ns / 1e6,
               (unsigned long long)plan->targets[index].work_size, (double)slowest / 1e6, repetitions);
        fflush(stdout);
    }
    free(windows);
    free(times);
    return program_agree(good);
}

/* Collective: returns the time of day of the beginning, when all ranks are prepared. */
static int64_t agree_on_begin(void) {
    int64_t begin = impact_utc_ns();
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &begin, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD));
    return begin + GRACE_NS;
}

int launch_measure(struct program *program, const struct impact_plan *plan, bool sizes_given) {
    bool good = write_header(program, plan, sizes_given);
    char absent[768];
    program_verify(program, absent, sizeof absent);
    if (good && absent[0] != '\0') {
        write_footer(program, absent, &(struct program_cpu){.mpi = NULL});
        if (program->rank == 0) {
            fail_report("%s", absent);
        }
        return PROGRAM_FAILED;
    }
    struct impact_samples *samples = impact_samples_create(plan);
    if (good) {
        impact_prepare(program->team, plan);
        const int64_t begin = agree_on_begin();
        struct program_cpu before = program_cpu_so_far(program);
        phase_enter(PHASE_COMPUTATION_ALONE);
        impact_measure(program->team, plan, begin, samples); /* no MPI from here to its end: the library is idle */
        struct program_cpu use = program_cpu_so_far(program);
        cpu_since(&before, &use);
        phase_enter(PHASE_GATHER);
        if (program_prints(program)) {
            printf("%12s %12s %12s %6s\n", "target/ms", "size", "t_comp/ms", "reps");
        }
        for (size_t i = 0; i < plan->count && good; i++) {
            good = write_point(program, plan, i, &samples[i]);
        }
        good = good && write_footer(program, "", &use);
        program_cpu_free(&before);
        program_cpu_free(&use);
    }
    impact_samples_free(plan, samples);
    if (!good && program->rank == 0) {
        fail_report("%s", record_error(program->record));
    }
    return good ? PROGRAM_GOOD : PROGRAM_FAILED;
}
