#include "header.h"

#include "build_info.h"
#include "fail.h"
#include "fail_mpi.h"
#include "file.h"
#include "message.h"
#include "timer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SCHEMA "mpi-campaign.selfcheck"
#define SCHEMA_VERSION 1

extern char **environ;

char *header_read_metadata(const char *path, char *error, size_t error_size) {
    size_t length = 0;
    char *text = file_read(path, &length, error, error_size);
    if (text == NULL) {
        return NULL;
    }
    char fault[256];
    char *compact = NULL;
    json_value *root = json_parse(text, length, fault, sizeof fault);
    if (root == NULL) {
        snprintf(error, error_size, "metadata file '%s': %s", path, fault);
    } else if (json_type_of(root) != JSON_OBJECT) {
        snprintf(error, error_size, "metadata file '%s': a JSON object is needed", path);
    } else {
        compact = json_compact(text, length);
    }
    json_destroy(root);
    free(text);
    return compact;
}

static const char *thread_level_name(int level) {
    return level == MPI_THREAD_MULTIPLE     ? "multiple"
           : level == MPI_THREAD_SERIALIZED ? "serialized"
           : level == MPI_THREAD_FUNNELED   ? "funneled"
                                            : "single";
}

/* What is not known becomes NAN, and null in the record. */
static char *clock_text(const struct session *session) {
    const struct clock_quality quality = clock_quality_of(session->clock);
    const bool none = quality.method == CLOCK_NONE;
    const struct record_clock clock = {.method = clock_method_name(quality.method),
                                       .refusal = quality.refusal,
                                       .clocks = quality.clocks,
                                       .rounds = quality.rounds,
                                       .residual_ns = none ? NAN : quality.residual_ns,
                                       .shortest_trip_ns = quality.shortest_trip_ns > 0 ? quality.shortest_trip_ns : NAN,
                                       .drift_ppm = none ? NAN : quality.drift_ppm,
                                       .synchronisation_seconds = quality.seconds};
    return record_clock_text(&clock);
}

static bool write_on_rank_0(struct session *session, const struct placement_summary *summary, char *const *placements) {
    const struct settings *settings = session->settings;
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    char standard[32];
    int length = 0;
    int version = 0;
    int subversion = 0;
    MPI_CHECK(MPI_Get_library_version(library, &length));
    MPI_CHECK(MPI_Get_version(&version, &subversion));
    snprintf(standard, sizeof standard, "%d.%d", version, subversion);
    char *clock = clock_text(session);
    const struct record_header header = {
        .schema = SCHEMA,
        .schema_version = SCHEMA_VERSION,
        .benchmark = SESSION_PROGRAM,
        .toolchain = settings->toolchain,
        .provider = settings->provider,
        .configuration = "basic",
        .network = settings->network,
        .command_line = session->argv,
        .command_line_count = (size_t)session->argc,
        .started_utc = session->started_utc,
        .mpi_library_version = library,
        .mpi_standard = standard,
        .thread_level_required = "funneled",
        .thread_level_provided = thread_level_name(session->thread_level),
        .ranks = session->ranks,
        .nodes = summary->nodes,
        .threads_per_rank = session->threads,
        .physical_cores = summary->physical_cores,
        .oversubscribed = summary->oversubscribed,
        .shared_core = summary->shared_core,
        .placements = placements,
        .timer_name = TIMER_NAME,
        .timer_resolution_ns = timer_resolution_ns(),
        .timer_overhead_ns = timer_overhead_ns(),
        .seed = MESSAGE_SEED,
        .build_compiler = BUILD_COMPILER,
        .build_flags = BUILD_FLAGS,
        .build_commit = BUILD_COMMIT,
        .build_dirty = BUILD_DIRTY,
        .build_blas = compute_blas_description(),
        .environment = environ,
        .clock = clock,
        .metadata = session->metadata,
    };
    bool good = record_write_header(session->record, &header);
    free(clock);
    if (!settings->quiet) {
        printf("# " SESSION_PROGRAM ": %d rank%s x %d thread%s on %d node%s, %lld physical core%s%s\n", session->ranks,
               session->ranks == 1 ? "" : "s", session->threads, session->threads == 1 ? "" : "s", summary->nodes,
               summary->nodes == 1 ? "" : "s", (long long)summary->physical_cores, summary->physical_cores == 1 ? "" : "s",
               summary->oversubscribed ? ", OVERSUBSCRIBED" : "");
        fflush(stdout);
    }
    return good;
}

bool header_write(struct session *session) {
    struct placement_summary summary = placement_summarise(session->place, false, 0);
    char **placements = placement_gather_texts(session->place);
    if (session->rank == 0 && !write_on_rank_0(session, &summary, placements)) {
        session->unwritable = true;
        snprintf(session->reason, sizeof session->reason, "%s", record_error(session->record));
    }
    placement_free_texts(placements);
    return session_agree(!session->unwritable);
}

bool header_write_footer(struct session *session, bool complete) {
    json_line *line = json_line_create();
    json_open_object(line, NULL);
    json_put_string(line, "type", "footer");
    json_put_boolean(line, "complete", complete);
    json_put_string(line, "reason", complete ? "" : session->reason);
    json_put_real(line, "wall_seconds", (double)(timer_now_ns() - session->began) / 1e9);
    json_close_object(line);
    bool good = session_write(session, line);
    json_line_destroy(line);
    return good;
}
