#include "program_internal.h"

#include "build_info.h"
#include "fail_mpi.h"
#include "timer.h"
#include "transport.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

extern char **environ;

/* Returns the clock's values for the header; NAN, which becomes null, for what is not known. A run that is refused has
 * no clock yet. */
static struct record_clock clock_of(const clock_model *clock) {
    struct clock_quality quality = {.method = CLOCK_NONE, .refusal = "not synchronised", .clocks = 1};
    if (clock != NULL) {
        quality = clock_quality_of(clock);
    }
    const bool none = quality.method == CLOCK_NONE;
    return (struct record_clock){.method = clock_method_name(quality.method),
                                 .refusal = quality.refusal,
                                 .clocks = quality.clocks,
                                 .rounds = quality.rounds,
                                 .residual_ns = none ? NAN : quality.residual_ns,
                                 .shortest_trip_ns = quality.shortest_trip_ns > 0 ? quality.shortest_trip_ns : NAN,
                                 .drift_ppm = none ? NAN : quality.drift_ppm,
                                 .synchronisation_seconds = quality.seconds};
}

static struct record_progress progress_of(const struct program *program) {
    const struct configuration *c = program->configuration;
    const bool by_program = c->source == PROGRESS_APPLICATION || program->settings.move_progress_threads;
    return (struct record_progress){.source = configuration_source_name(c->source),
                                    .pinned_by = !c->bound    ? "none"
                                                 : by_program ? "program"
                                                              : "library",
                                    .given_up_cores = placement_given_up_cores(program->place)};
}

/* The table's first line. */
static void print_who(const struct program *program, const struct placement_summary *summary) {
    const bool configurable = program->kind->configurations;
    printf("# %s: %s%s%d rank%s x %d thread%s on %d node%s, %lld physical core%s%s%s\n", program->kind->name,
           configurable ? program->configuration->name : "", configurable ? ", " : "", program->ranks,
           program->ranks == 1 ? "" : "s", program->threads, program->threads == 1 ? "" : "s", summary->nodes,
           summary->nodes == 1 ? "" : "s", (long long)summary->physical_cores, summary->physical_cores == 1 ? "" : "s",
           summary->oversubscribed ? ", OVERSUBSCRIBED" : "",
           summary->shared_core ? ", progress thread on a SHARED CORE" : "");
    fflush(stdout);
}

static bool write_on_rank_0(struct program *program, const struct program_header *own,
                            const struct placement_summary *summary, char *const *placements) {
    const struct program_settings *s = &program->settings;
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    char standard[32];
    int length = 0;
    int version = 0;
    int subversion = 0;
    MPI_CHECK(MPI_Get_library_version(library, &length));
    MPI_CHECK(MPI_Get_version(&version, &subversion));
    snprintf(standard, sizeof standard, "%d.%d", version, subversion);
    char *own_text = fields_text(program->kind->header, own->own);
    char *variables = transport_variables(s->record_controls);
    const struct record_clock clock = clock_of(program->clock);
    const struct record_header header = {
        .family = program->kind->family,
        .method = program->kind->method,
        .description = program->description,
        .benchmark = program->kind->name,
        .toolchain = s->toolchain,
        .provider = s->provider,
        .configuration = program->configuration->name,
        .network = s->network,
        .command_line = program->argv,
        .command_line_count = (size_t)program->argc,
        .started_utc = program->started_utc,
        .mpi_library_version = library,
        .mpi_standard = standard,
        .thread_level_required = program_thread_level_name(program_thread_level(program)),
        .thread_level_provided = program_thread_level_name(program->thread_level),
        .ranks = program->ranks,
        .nodes = summary->nodes,
        .threads_per_rank = program->threads,
        .physical_cores = summary->physical_cores,
        .oversubscribed = summary->oversubscribed,
        .shared_core = summary->shared_core,
        .progress = progress_of(program),
        .placements = placements,
        .timer = {TIMER_NAME, timer_resolution_ns(), timer_overhead_ns()},
        .clock = program->kind->clockless ? NULL : &clock,
        .start_method = own->start_method,
        .seed = own->seed,
        .build = {BUILD_COMPILER, BUILD_FLAGS, BUILD_COMMIT, BUILD_DIRTY, compute_blas_description()},
        .environment = environ,
        .environment_list = s->record_environment,
        .mpi_variables = variables,
        .plan = own->plan,
        .own = own_text,
        .metadata = program->metadata,
    };
    bool good = record_write_header(program->record, &header);
    free(variables);
    free(own_text);
    atomic_store_explicit(&program->unfinished, program->record, memory_order_release);
    if (!s->quiet) {
        print_who(program, summary);
    }
    return good;
}

bool program_write_header(struct program *program, const struct program_header *own) {
    placement_look_again(program->place);
    struct placement_summary summary = placement_summarise(program->place);
    summary.oversubscribed = summary.oversubscribed || program->settings.oversubscribed;
    char **placements = placement_gather_texts(program->place);
    bool good = true;
    if (program->rank == 0) {
        good = write_on_rank_0(program, own, &summary, placements);
    }
    placement_free_texts(placements);
    return program_agree(good);
}
