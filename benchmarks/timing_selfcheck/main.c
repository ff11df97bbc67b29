/*
 * timing_selfcheck - can times be trusted on this machine, with this MPI library?
 *
 * It measures what every result of the other benchmarks depends on: the timer, the common clock of the ranks, the
 * start, the noise of the cores, and how well fixed work can be timed with all of these (Denis et al. 2022, section 4).
 */
#include "calibration.h"
#include "collectives.h"
#include "fail.h"
#include "imbalance.h"
#include "noise.h"
#include "program.h"
#include "residual.h"
#include "session.h"
#include "timing.h"
#include "work.h"

#include <math.h>
#include <stdio.h>

static struct settings settings = {.hold_seconds = 10, .starts = 500, .noise_seconds = 2, .detour_ns = 1000};

/* In the order in which they run. Each is collective; false: the run ends, and the session's reason says why. */
enum section { TIMER, CLOCK, START, NOISE, WORK, SECTIONS };
static const struct option_choice section_choices[SECTIONS + 1] = {
    [TIMER] = {"timer", "resolution and cost of a reading, on the rank where they are worst"},
    [CLOCK] = {"clock", "how far the ranks' common time is off, at once and after a while"},
    [START] = {"start", "how far apart ranks begin: a deadline on that clock, MPI_Barrier, a dissemination barrier"},
    [NOISE] = {"noise", "what takes cores away from computing threads: detours, their lengths, the share of time lost"},
    [WORK] = {"work", "medians of a fixed computation (DGEMM) and of a fixed communication (MPI_Ibcast, MPI_Wait)"}};
static bool (*const sections[SECTIONS])(struct session *) = {[TIMER] = timing_measure,
                                                             [CLOCK] = residual_measure,
                                                             [START] = imbalance_measure,
                                                             [NOISE] = noise_measure,
                                                             [WORK] = work_measure};

/* The table of options: what --help prints and the parser knows is this. */
static void describe_options(struct option_entry *entries) {
    struct settings *s = &settings;
    const struct option_entry table[] = {
        {.name = "only",
         .kind = OPTION_CHOICES,
         .target = &s->only,
         .choices = section_choices,
         .parameter = "section",
         .of_plan = true,
         .help = "sections to run, comma-separated, may be repeated; default: all"},
        {.name = "targets",
         .kind = OPTION_DURATIONS,
         .target = &s->targets,
         .parameter = "target_ns",
         .of_plan = true,
         .help = "work: target times of the fixed work, ascending, with units; default: 500us,4ms,16ms,64ms"},
        option_real("hold", &s->hold_seconds, 0, 3600, "S",
                    "clock: the residual is measured at once and after so many seconds; where clocks differ their "
                    "drift is first observed for as long; default: 10"),
        option_integer("starts", &s->starts, 1, 100000, "N",
                       "start: number of starts of each method; the methods take turns; default: 500"),
        option_real("noise-seconds", &s->noise_seconds, 0.01, 600, "S",
                    "noise: how long all threads read the timer; default: 2"),
        option_integer("detour-ns", &s->detour_ns, 100, 1e9, "NS",
                       "noise: a gap between two readings of the timer above this is a detour; default: 1000"),
        option_integer("repetitions", &s->repetitions, 1, 100000, "N",
                       "work: at least so many samples of each, not counting warm-ups; default: 20"),
        option_real("interval", &s->interval, 1e-4, 10, "W",
                    "work: instead of --repetitions, repeat until the 95 % interval of the median is at most this "
                    "wide, relative to the median"),
        option_integer("max-repetitions", &s->max_repetitions, 1, 100000, "N",
                       "work: with --interval, at most this many; default: 1000"),
        option_text("sizes", &s->sizes, "FILE",
                    "work: take message and matrix sizes from this file and calibrate nothing"),
        option_text("save-sizes", &s->save_sizes, "FILE",
                    "work: write the sizes that the calibration found (for --sizes)"),
        option_integer("max-message-bytes", &s->max_message_bytes, 64, 17179869176.0, "N",
                       "work: largest message that the calibration tries, in bytes; never more than fits in half of "
                       "the rank's share of memory; default: 1 GiB"),
    };
    program_add_options(entries, table, sizeof table);
}

static bool runs(const struct settings *s, int section) {
    bool found = false;
    for (size_t i = 0; i < s->only.count; i++) {
        found = found || s->only.values[i] == section;
    }
    return found;
}

/* Checks what the table of options cannot express, and sets what was left out. One line in error where options
 * contradict each other. */
static void complete_settings(const struct program *program, char *error, size_t error_size) {
    struct settings *s = &settings;
    options_fill_range(&s->only, 0, SECTIONS);
    if ((s->sizes != NULL || s->save_sizes != NULL) && !runs(s, WORK)) {
        snprintf(error, error_size, "%s belongs to the section work, which --only leaves out",
                 s->sizes != NULL ? "--sizes" : "--save-sizes");
    }
    work_complete(s, error, error_size);
}

/* Returns the header: its plan has the sections that run and their settings. Free with program_free_header. */
static struct program_header header_of(const struct session *session) {
    const struct settings *s = session->settings;
    const bool works = runs(s, WORK);
    const bool until_narrow = s->interval > 0;
    static const char *const names[] = {"section", "target_ns", NULL}; /* the second is of the section work */
    struct sampler_axis axes[SAMPLER_MOST_AXES];
    const size_t count = sampler_axes(session->program->options, names, axes);
    const struct sampler_plan plan = {.axes = axes, .axis_count = works ? count : 1};
    return (struct program_header){.seed = SESSION_SEED,
                                   .plan = {.parameters = sampler_plan_parameters(&plan),
                                            .points = RECORD_UNKNOWN,
                                            .budget_seconds = NAN,
                                            .interval_relative = works && until_narrow ? s->interval : NAN,
                                            .min_repetitions = works && !until_narrow ? s->repetitions : RECORD_UNKNOWN,
                                            .max_repetitions = !works         ? RECORD_UNKNOWN
                                                               : until_narrow ? s->max_repetitions
                                                                              : s->repetitions,
                                            .sizes_given = works ? s->sizes != NULL : RECORD_UNKNOWN,
                                            .own = fields_text(session_plan_fields, s)}};
}

/* Collective. */
static int measure(struct session *session) {
    struct program *program = session->program;
    struct program_header header = header_of(session);
    bool good = program_write_header(program, &header);
    program_free_header(&header);
    if (!good && program->rank == 0) {
        snprintf(session->reason, sizeof session->reason, "%s", record_error(program->record));
    }
    session->unwritable = !good;
    for (int i = 0; i < SECTIONS && good; i++) {
        if (runs(session->settings, i)) {
            good = sections[i](session);
        }
    }
    if (program_agree(!session->unwritable)) {
        const struct program_footer footer = {.reason = good ? "" : session->reason,
                                              .measured_seconds = session->measured_seconds};
        const bool written = program_write_footer(program, &footer);
        if (program->rank == 0 && !written && good) {
            snprintf(session->reason, sizeof session->reason, "%s", record_error(program->record));
        }
        good = written && good;
    }
    if (program->rank == 0 && !good) {
        fail_report("%s", session->reason);
    }
    return good ? PROGRAM_GOOD : PROGRAM_FAILED;
}

static int run(struct program *program) {
    char error[PROGRAM_MOST_REASON] = "";
    int code = PROGRAM_WRONG_USE;
    const int64_t ibcast = collective_find("ibcast");
    struct session session = {.settings = &settings, .program = program, .measured_seconds = NAN};
    work_plan(&session, &ibcast);
    program_check_crowd(program, error, sizeof error);
    if (error[0] != '\0') {
        struct program_header header = header_of(&session);
        code = program_refuse(program, &header, error);
        program_free_header(&header);
    } else {
        work_check_sizes(&session, error, sizeof error);
        if (program_prepare(program, error)) {
            calibration_sizes_share(&session.sizes);
            program_synchronise(program);
            code = measure(&session);
        }
    }
    calibration_sizes_free(&session.sizes);
    return code;
}

/* Both kinds of work have the same fields. */
static const struct sampler_kind *const kinds[] = {&timing_points, &residual_points, &imbalance_points,
                                                   &noise_points,  &work_points[0],  NULL};

int main(int argc, char **argv) {
    const struct program_kind kind = {
        .name = "timing_selfcheck",
        .family = "timing_selfcheck",
        .method = 4,
        .help = "usage: mpiexec -n RANKS timing_selfcheck [OPTION]...\n\n"
                "Measures, on this machine and with this MPI library, whether times can be trusted, in sections "
                "(--only).\n",
        .exits = "0 good, however noisy the machine; 1 wrong data, a full disk or an MPI error; 2 wrong use",
        .describe = describe_options,
        .check_options = complete_settings,
        .run = run,
        .plan = session_plan_fields,
        .kinds = kinds,
    };
    return program_main(&kind, argc, argv);
}
