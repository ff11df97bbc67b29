/*
 * mpi_impact - how much does an MPI library that has nothing to do slow a computation down?
 *
 * r_mpi_impact = t_comp_passive_mpi / t_comp_ref (Denis 2022, section 3.2.1, equation 2): this program measures the
 * numerator, between MPI_Init and MPI_Finalize, in any configuration; compute_alone, which is linked without MPI, the
 * denominator.
 */
#include "fail.h"
#include "fail_mpi.h"
#include "impact.h"
#include "impact_sizes.h"
#include "options.h"
#include "phase.h"
#include "placement.h"
#include "program.h"
#include "stats.h"
#include "timer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The computation times of the paper's maps (section 5.2), 512 ms of figure 9 among them. */
static const int64_t first_time_ns = 500000;
enum { DOUBLINGS = 12 };

/* Time from the moment when all ranks are ready to the beginning, in which the last rank learns of it. */
enum { GRACE_NS = 20000000 };

static struct settings {
    struct option_list comp_times;
    double seconds;
    int64_t max_repetitions;
    const char *sizes;
    const char *save_sizes;
    bool calibrate_only;
    int computation; /* enum compute_kind */
} settings = {.seconds = 6, .max_repetitions = 50};

static void describe_options(struct option_entry *entries) {
    struct settings *s = &settings;
    const struct option_entry table[] = {
        option_times("comp-times", &s->comp_times,
                     "computation times, ascending, with units: 500us,8ms,1s; default: 500us to 1.024s doubling"),
        option_one_of("computation", &s->computation, compute_choices(),
                      "what every thread computes: dgemm, a matrix multiplication (default), or triad, a[i] = b[i] + s "
                      "c[i] over vectors larger than the caches"),
        option_real("seconds", &s->seconds, 0, 1e6, "S",
                    "about how long to compute, for all computation times together; each gets at least one repetition, "
                    "or 50 ms of short ones; default: 6"),
        option_integer("max-repetitions", &s->max_repetitions, 1, 100000, "N",
                       "at most this many repetitions of each computation time; default: 50"),
        option_text("sizes", &s->sizes, "FILE", "take the work sizes from this file and calibrate nothing"),
        option_text("save-sizes", &s->save_sizes, "FILE", "write the sizes that the calibration found (for --sizes)"),
        option_flag("calibrate-only", &s->calibrate_only, "with --save-sizes: end when the sizes are written"),
    };
    program_add_options(entries, table, sizeof table);
}

static void check_settings(const struct program *program, char *error, size_t error_size) {
    (void)program;
    const struct settings *s = &settings;
    if (s->sizes != NULL && s->save_sizes != NULL) {
        snprintf(error, error_size,
                 "--save-sizes has nothing to save with --sizes, which calibrates nothing; use one of them");
    } else if (s->calibrate_only && s->save_sizes == NULL) {
        snprintf(error, error_size,
                 "--calibrate-only measures nothing; say with --save-sizes where its sizes are to go");
    }
}

static struct impact_plan plan_create(const struct settings *s) {
    const bool given = s->comp_times.count > 0;
    struct impact_plan plan = {.computation = (enum compute_kind)s->computation,
                               .count = given ? s->comp_times.count : DOUBLINGS};
    plan.targets = fail_alloc(plan.count, sizeof *plan.targets);
    for (size_t i = 0; i < plan.count; i++) {
        plan.targets[i].target_ns = given ? s->comp_times.values[i] : first_time_ns << i;
    }
    return plan;
}

/* Collective: rank 0's targets for all. */
static void share(struct impact_plan *plan) {
    MPI_CHECK(MPI_Bcast(plan->targets, (int)(plan->count * sizeof *plan->targets), MPI_BYTE, 0, MPI_COMM_WORLD));
}

/* Collective. false on all ranks: the disk refused. */
static bool write_header(struct program *program, const struct impact_plan *plan) {
    char *parameters = impact_plan_parameters(plan);
    char *own = impact_plan_own(plan);
    const bool good =
        program_write_header(program, &(struct program_header){.seed = RECORD_UNKNOWN,
                                                               .plan = {.parameters = parameters,
                                                                        .points = (int64_t)plan->count,
                                                                        .budget_seconds = NAN,
                                                                        .interval_relative = NAN,
                                                                        .min_repetitions = RECORD_UNKNOWN,
                                                                        .max_repetitions = RECORD_UNKNOWN,
                                                                        .sizes_given = settings.sizes != NULL,
                                                                        .own = own}});
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
        printf("%12.3f %12llu %12.3f %6d\n", (double)plan->targets[index].target_ns / 1e6,
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

/* Collective. Returns the exit code. */
static int measure(struct program *program, struct impact_plan *plan) {
    bool good = write_header(program, plan);
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

/* Collective: searches the sizes, unless they are given, and saves them where that was asked for. false, after one line
 * on stderr, where no size takes one of the times or they cannot be saved. */
static bool find_sizes(struct program *program, struct impact_plan *plan) {
    char error[768] = "";
    if (settings.sizes == NULL) {
        impact_sizes_search(program, plan);
    }
    for (size_t i = 0; i < plan->count && error[0] == '\0'; i++) {
        if (plan->targets[i].calibration.status == SIZE_UNREACHABLE) {
            snprintf(
                error, sizeof error,
                "no size of the computation takes %g ms; the closest, %llu, takes %.3f ms: ask for other --comp-times",
                (double)plan->targets[i].target_ns / 1e6, (unsigned long long)plan->targets[i].work_size,
                plan->targets[i].calibration.time_ns / 1e6);
        }
    }
    if (program->rank == 0 && error[0] == '\0' && settings.save_sizes != NULL) {
        (void)impact_sizes_write(settings.save_sizes, program, plan, error, sizeof error);
    }
    return program_all_good(error);
}

static int run(struct program *program) {
    char error[768] = "";
    int code = PROGRAM_WRONG_USE;
    struct impact_plan plan = plan_create(&settings);
    program->computation = plan.computation;
    program_configure(program, error, sizeof error);
    if (program->rank == 0 && error[0] == '\0' && settings.sizes != NULL) {
        (void)impact_sizes_read(settings.sizes, program, placement_given_up_cores(program->place), &plan, error,
                                sizeof error);
    }
    if (program_prepare(program, error)) {
        share(&plan);
        if (find_sizes(program, &plan)) {
            impact_schedule(&plan, settings.seconds, settings.max_repetitions);
            code = settings.calibrate_only ? PROGRAM_GOOD : measure(program, &plan);
        }
    }
    impact_plan_free(&plan);
    return code;
}

int main(int argc, char **argv) {
    const struct program_kind kind = {
        .name = "mpi_impact",
        .family = "mpi_impact",
        .method = 1,
        .configurations = true,
        .clockless = true,
        .help = "usage: mpiexec -n RANKS mpi_impact [OPTION]...\n\n"
                "Computes, and does nothing else, while the MPI library is idle (Denis et al. 2022, section 3.2.1).\n"
                "Compared with compute_alone, which does the same without MPI, it tells how much the library slows\n"
                "a computation down:\n\n"
                "  r_mpi_impact = time in mpi_impact / time in compute_alone; 1: no slowdown\n\n"
                "`campaign run --benchmark mpi_impact` launches both in turn, several times.\n",
        .exits = "0 good; 1 a full disk or an MPI error; 2 wrong use",
        .describe = describe_options,
        .check_options = check_settings,
        .run = run,
    };
    return program_main(&kind, argc, argv);
}
