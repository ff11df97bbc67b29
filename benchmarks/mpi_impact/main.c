/*
 * mpi_impact - how much does an MPI library that has nothing to do slow a computation down?
 *
 * r_mpi_impact = t_comp_passive_mpi / t_comp_ref (Denis 2022, section 3.2.1, equation 2): this program measures the
 * numerator, between MPI_Init and MPI_Finalize, in any configuration; compute_alone, which is linked without MPI, the
 * denominator.
 */
#include "calibration.h"
#include "fail.h"
#include "impact.h"
#include "impact_sizes.h"
#include "launch.h"
#include "like.h"
#include "options.h"
#include "placement.h"
#include "program.h"

#include <stdio.h>

#define MS INT64_C(1000000)
/* The computation times of the paper's maps (section 5.2), 512 ms of figure 9 among them. */
static const struct option_values usual_times = {
    {MS / 2, 1 * MS, 2 * MS, 4 * MS, 8 * MS, 16 * MS, 32 * MS, 64 * MS, 128 * MS, 256 * MS, 512 * MS, 1024 * MS}, 12};

static struct settings {
    struct option_list comp_times;
    double seconds;
    int64_t max_repetitions;
    const char *sizes;
    const char *save_sizes;
    const char *save_like;
    bool calibrate_only;
    int computation; /* enum compute_kind */
} settings = {.seconds = 6, .max_repetitions = 50};

static void describe_options(struct option_entry *entries) {
    struct settings *s = &settings;
    const struct option_entry table[] = {
        {.name = "comp-times",
         .kind = OPTION_DURATIONS,
         .target = &s->comp_times,
         .parameter = "comp_target_ns",
         .help = "computation times, ascending, with units: 500us,8ms,1s; default: 500us to 1.024s doubling"},
        {.name = "computation",
         .kind = OPTION_CHOICE,
         .target = &s->computation,
         .choices = compute_choices(),
         .parameter = "computation",
         .of_plan = true,
         .help = "what every thread computes; default: dgemm"},
        option_real("seconds", &s->seconds, 0, 1e6, "S",
                    "about how long to compute, for all computation times together; each gets at least one repetition, "
                    "or 50 ms of short ones; default: 6"),
        option_integer("max-repetitions", &s->max_repetitions, 1, 100000, "N",
                       "at most this many repetitions of each computation time; default: 50"),
        option_text("sizes", &s->sizes, "FILE", "take the work sizes from this file and calibrate nothing"),
        option_text("save-sizes", &s->save_sizes, "FILE", "write the sizes that the calibration found (for --sizes)"),
        option_text("save-like", &s->save_like, "FILE",
                    "write what compute_alone must do to compute as this launch does (for its --like)"),
        option_flag("calibrate-only", &s->calibrate_only, "with --save-sizes: end when the sizes are written"),
    };
    program_add_options(entries, table, sizeof table);
}

static void check_settings(const struct program *program, char *error, size_t error_size) {
    const struct settings *s = &settings;
    calibration_check_options(s->sizes, s->save_sizes, 0, error, error_size);
    if (s->calibrate_only && s->save_sizes == NULL) {
        snprintf(error, error_size,
                 "--calibrate-only measures nothing; say with --save-sizes where its sizes are to go");
    }
}

static struct impact_plan plan_create(const struct settings *s) {
    struct impact_plan plan = {.computation = (enum compute_kind)s->computation, .count = s->comp_times.count};
    plan.targets = fail_alloc(plan.count, sizeof *plan.targets);
    for (size_t i = 0; i < plan.count; i++) {
        plan.targets[i].comp_target_ns = s->comp_times.values[i];
    }
    return plan;
}

/* Collective: writes the file of --save-like. false, after one line on stderr, where it cannot be written. */
static bool save_like(const struct program *program, const struct impact_plan *plan) {
    char error[512] = "";
    char **places = placement_gather_computing(program->place);
    if (program->rank == 0) {
        (void)like_write(settings.save_like, plan, places, program->ranks, error, sizeof error);
    }
    placement_free_texts(places);
    return program_all_good(error);
}

static int run(struct program *program) {
    char error[768] = "";
    int code = PROGRAM_WRONG_USE;
    options_fill_list(&settings.comp_times, &usual_times);
    struct impact_plan plan = plan_create(&settings);
    program->computation = plan.computation;
    program_configure(program, error, sizeof error);
    if (program->rank == 0 && error[0] == '\0' && settings.sizes != NULL) {
        (void)impact_sizes_read(settings.sizes, program, placement_given_up_cores(program->place), &plan, error,
                                sizeof error);
    }
    if (program_prepare(program, error) &&
        impact_sizes_find(program, settings.sizes != NULL, settings.save_sizes, &plan)) {
        impact_schedule(&plan, settings.seconds, settings.max_repetitions);
        if (settings.save_like == NULL || save_like(program, &plan)) {
            code = settings.calibrate_only ? PROGRAM_GOOD : launch_measure(program, &plan, settings.sizes != NULL);
        }
    }
    impact_plan_free(&plan);
    return code;
}

/* Points as --describe tells of them; impact.h measures them and writes them. */
static const struct samples_sum rank_samples[] = {{.name = "t_comp_ns", .help = "of the rank's slowest thread"}};
static const struct sampler_kind points = {.samples = {.rank_samples = rank_samples, .rank_sample_count = 1},
                                           .parameters = impact_parameter_fields,
                                           .own = impact_own_fields};

int main(int argc, char **argv) {
    const struct program_kind kind = {
        .name = "mpi_impact",
        .family = "mpi_impact",
        .method = 1,
        .configurations = true,
        .clockless = true,
        .plan = impact_plan_fields,
        .points = &points,
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
