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
#include "json.h"
#include "noise.h"
#include "program.h"
#include "residual.h"
#include "session.h"
#include "timing.h"
#include "work.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEFAULT_REPETITIONS = 20, DEFAULT_MOST_REPETITIONS = 1000 };
static const int64_t default_targets_ns[] = {500000, 4000000, 16000000, 64000000};

/* Of the contents of messages. */
#define SEED 1

static struct settings settings = {.hold_seconds = 10, .starts = 500, .noise_seconds = 2, .detour_ns = 1000};

/* In the order in which they run. Each is collective; false: the run ends, and the session's reason says why. */
enum section { TIMER, CLOCK, START, NOISE, WORK, SECTIONS };
static const char *const section_names[SECTIONS + 1] = {
    [TIMER] = "timer", [CLOCK] = "clock", [START] = "start", [NOISE] = "noise", [WORK] = "work"};
static bool (*const sections[SECTIONS])(struct session *) = {[TIMER] = timing_measure,
                                                             [CLOCK] = residual_measure,
                                                             [START] = imbalance_measure,
                                                             [NOISE] = noise_measure,
                                                             [WORK] = work_measure};

/* The table of options: what --help prints and the parser knows is this. */
static void describe_options(struct option_entry *entries) {
    struct settings *s = &settings;
    const struct option_entry table[] = {
        option_some_of("only", &s->only, section_names,
                       "sections to run, comma-separated, may be repeated; default: all"),
        option_real("hold", &s->hold_seconds, 0, 3600, "S",
                    "clock: the residual is measured at once and after so many seconds; where clocks differ their "
                    "drift is first observed for as long; default: 10"),
        option_integer("starts", &s->starts, 1, 100000, "N",
                       "start: number of starts of each method; the methods take turns; default: 500"),
        option_real("noise-seconds", &s->noise_seconds, 0.01, 600, "S",
                    "noise: how long all threads read the timer; default: 2"),
        option_integer("detour-ns", &s->detour_ns, 100, 1e9, "NS",
                       "noise: a gap between two readings of the timer above this is a detour; default: 1000"),
        option_times("targets", &s->targets,
                     "work: target times of the fixed work, ascending, with units; default: 500us,4ms,16ms,64ms"),
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
    bool found = s->only.count == 0;
    for (size_t i = 0; i < s->only.count; i++) {
        found = found || s->only.values[i] == section;
    }
    return found;
}

/* Checks what the table of options cannot express, and sets what was left out. One line in error where options
 * contradict each other. */
static void complete_settings(const struct program *program, char *error, size_t error_size) {
    (void)program;
    struct settings *s = &settings;
    if (s->interval > 0 && s->repetitions > 0) {
        snprintf(
            error, error_size,
            "--repetitions and --interval both say when to stop; use one of them (--max-repetitions caps --interval)");
    } else if (s->max_repetitions > 0 && !(s->interval > 0)) {
        snprintf(error, error_size, "--max-repetitions caps --interval, which is not given; use --repetitions");
    } else if (s->sizes != NULL && s->save_sizes != NULL) {
        snprintf(error, error_size,
                 "--save-sizes has nothing to save with --sizes, which calibrates nothing; use one of them");
    } else if (s->sizes != NULL && s->max_message_bytes > 0) {
        snprintf(error, error_size,
                 "--max-message-bytes bounds the calibration, and --sizes calibrates nothing; use one of them");
    } else if ((s->sizes != NULL || s->save_sizes != NULL) && !runs(s, WORK)) {
        snprintf(error, error_size, "%s belongs to the section work, which --only leaves out",
                 s->sizes != NULL ? "--sizes" : "--save-sizes");
    }
    if (s->interval > 0 && s->max_repetitions == 0) {
        s->max_repetitions = DEFAULT_MOST_REPETITIONS;
    } else if (!(s->interval > 0) && s->repetitions == 0) {
        s->repetitions = DEFAULT_REPETITIONS;
    }
    options_fill_list(&s->targets, default_targets_ns, sizeof default_targets_ns / sizeof *default_targets_ns);
}

/* The communication that is timed: MPI_Ibcast from rank 0. A single rank has no communication. */
static struct plan plan_of(const struct program *program, const int *collective) {
    const struct settings *s = &settings;
    return (struct plan){.collectives = collective,
                         .collective_count = program->ranks > 1 ? 1 : 0,
                         .comm_targets_ns = s->targets.values,
                         .comm_target_count = s->targets.count,
                         .comp_targets_ns = s->targets.values,
                         .comp_target_count = s->targets.count,
                         .budget = {.began_ns = program->began},
                         .max_message_bytes = (uint64_t)s->max_message_bytes,
                         .memory_bytes = program->memory_bytes,
                         .sizes_given = s->sizes != NULL,
                         .quiet = program->settings.quiet,
                         .seed = SEED,
                         .threads = program->threads};
}

/* Returns the plan for the header: the sections that run and their settings. Its parameters and own object must be
 * freed. */
static struct program_header header_of(const struct session *session) {
    const struct settings *s = session->settings;
    const bool works = runs(s, WORK);
    json_line *parameters = json_line_create();
    json_line *own = json_line_create();
    json_open_object(parameters, NULL);
    json_open_array(parameters, "section");
    for (int i = 0; i < SECTIONS; i++) {
        if (runs(s, i)) {
            json_put_string(parameters, NULL, section_names[i]);
        }
    }
    json_close_array(parameters);
    if (works) {
        json_put_integers(parameters, "target_ns", s->targets.values, s->targets.count);
    }
    json_close_object(parameters);
    json_open_object(own, NULL);
    json_put_real(own, "hold_seconds", s->hold_seconds);
    json_put_integer(own, "starts", s->starts);
    json_put_real(own, "noise_seconds", s->noise_seconds);
    json_put_integer(own, "detour_ns", s->detour_ns);
    json_close_object(own);
    const bool until_narrow = s->interval > 0;
    return (struct program_header){.seed = SEED,
                                   .plan = {.parameters = json_line_take(parameters),
                                            .points = RECORD_UNKNOWN,
                                            .budget_seconds = NAN,
                                            .interval_relative = works && until_narrow ? s->interval : NAN,
                                            .min_repetitions = works && !until_narrow ? s->repetitions : RECORD_UNKNOWN,
                                            .max_repetitions = !works         ? RECORD_UNKNOWN
                                                               : until_narrow ? s->max_repetitions
                                                                              : s->repetitions,
                                            .sizes_given = works ? s->sizes != NULL : RECORD_UNKNOWN,
                                            .own = json_line_take(own)}};
}

static void free_header(struct program_header *header) {
    free((char *)header->plan.parameters);
    free((char *)header->plan.own);
}

/* Collective. */
static bool write_header(struct session *session) {
    struct program_header header = header_of(session);
    const bool good = program_write_header(session->program, &header);
    free_header(&header);
    return good;
}

/* Collective. */
static int measure(struct session *session) {
    struct program *program = session->program;
    bool good = write_header(session);
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

/* Collective: refuses a run that cannot be measured, in one line on stderr and in a record. */
static int refuse(struct session *session, const char *reason) {
    struct program_header header = header_of(session);
    const int code = program_refuse(session->program, &header, reason);
    free_header(&header);
    return code;
}

static int run(struct program *program) {
    struct settings *s = &settings;
    char error[768] = "";
    int code = PROGRAM_WRONG_USE;
    const int ibcast = collective_find("ibcast");
    struct session session = {
        .settings = s, .program = program, .plan = plan_of(program, &ibcast), .measured_seconds = NAN};
    session.sizes = calibration_sizes_create(&session.plan, program->ranks);
    program_check_crowd(program, error, sizeof error);
    const bool crowded = error[0] != '\0';
    if (!crowded && program->rank == 0 && s->sizes != NULL &&
        size_table_read(s->sizes, &session.sizes, error, sizeof error)) {
        calibration_sizes_check(&session.plan, &session.sizes, s->sizes, error, sizeof error);
    }
    if (crowded) {
        code = refuse(&session, error);
    } else if (program_prepare(program, error)) {
        calibration_sizes_share(&session.sizes);
        program_synchronise(program);
        code = measure(&session);
    }
    calibration_sizes_free(&session.sizes);
    return code;
}

int main(int argc, char **argv) {
    const struct program_kind kind = {
        .name = "timing_selfcheck",
        .family = "timing_selfcheck",
        .method = 2,
        .help =
            "usage: mpiexec -n RANKS timing_selfcheck [OPTION]...\n\n"
            "Measures, on this machine and with this MPI library, whether times can be trusted. Sections:\n\n"
            "  timer  resolution and cost of a reading, on the rank where they are worst\n"
            "  clock  how far the ranks' common time is off, at once and after a while\n"
            "  start  how far apart ranks begin: a deadline on that clock, MPI_Barrier, a dissemination barrier\n"
            "  noise  what takes cores away from computing threads: detours, their lengths, the share of time lost\n"
            "  work   medians of a fixed computation (DGEMM) and of a fixed communication (MPI_Ibcast, MPI_Wait)\n",
        .exits = "0 good, however noisy the machine; 1 wrong data, a full disk or an MPI error; 2 wrong use",
        .describe = describe_options,
        .check_options = complete_settings,
        .run = run,
    };
    return program_main(&kind, argc, argv);
}
