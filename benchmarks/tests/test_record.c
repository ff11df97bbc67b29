#include "check.h"
#include "file.h"
#include "record.h"

#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

static char folder[] = "/tmp/test_record_XXXXXX";
static char path[256];

static const char *place(const char *name) {
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static struct record_header header_example(char *const *placements, char *const *environment, char *const *words) {
    static const struct record_clock clock = {.method = "shared", .refusal = "", .clocks = 1, .residual_ns = NAN};
    return (struct record_header){.family = "nbc_overlap",
                                  .method = 1,
                                  .benchmark = "nbc_overlap",
                                  .toolchain = "mpich@5.0.2",
                                  .provider = "wheels",
                                  .configuration = "basic",
                                  .network = "native",
                                  .command_line = words,
                                  .command_line_count = 2,
                                  .started_utc = "2026-01-01T00:00:00Z",
                                  .mpi_library_version = "MPICH\nline \"two\"",
                                  .mpi_standard = "5.0",
                                  .thread_level_required = "funneled",
                                  .thread_level_provided = "multiple",
                                  .ranks = 2,
                                  .nodes = 1,
                                  .threads_per_rank = 1,
                                  .physical_cores = 2,
                                  .progress = {"library", "program", 1},
                                  .placements = placements,
                                  .timer = {"CLOCK_MONOTONIC", 20, 21.5},
                                  .start_method = "deadline",
                                  .seed = 1,
                                  .build = {"GNU 12", "-O3", "unknown", RECORD_UNKNOWN, "OpenBLAS"},
                                  .environment = environment,
                                  .environment_list = "FI_*",
                                  .mpi_variables = "{\"btl\":\"tcp\"}",
                                  .clock = &clock,
                                  .plan = {.parameters = "{\"cache\":[\"warm\"]}",
                                           .points = 4,
                                           .interval_relative = NAN,
                                           .max_repetitions = RECORD_UNKNOWN,
                                           .sizes_given = 1},
                                  .metadata = "{\"a\":[1]}"};
}

/* Checks that a line is one object and has each of these parts, the last of which is NULL. */
static void check_has(const char *line, const char *const *parts) {
    CHECK(line[0] == '{' && line[strlen(line) - 1] == '}');
    for (; *parts != NULL; parts++) {
        if (strstr(line, *parts) == NULL) {
            fprintf(stderr, "%s\nlacks %s\n", line, *parts);
            exit(1);
        }
    }
}

static void write_header_line(record_file *record) {
    char first[] = "{\"rank\":0}", second[] = "{\"rank\":1}";
    char *placements[] = {first, second};
    char one[] = "OMP_NUM_THREADS=1", two[] = "SECRET=1", three[] = "FI_KEY=1", four[] = "FI_PROVIDER=tcp";
    char *environment[] = {one, two, three, four, NULL};
    char program[] = "nbc_overlap", word[] = "--quiet";
    char *words[] = {program, word};
    const struct record_header header = header_example(placements, environment, words);
    CHECK(record_write_header(record, &header));
}

static bool write_point_line(record_file *record) {
    static const int64_t samples[] = {1, 2, 3, 4, 5, 6};
    static const struct record_spread spread = {"t_call_ns", samples, samples, samples, samples};
    static const struct record_values values[] = {{"t_measured_ns", samples}, {"t_comp_ns", samples}};
    static const struct record_point_clock clock = {"none", NAN, 3, NAN};
    return record_write_point(record,
                              &(struct record_point){.parameters = "{\"collective\":\"ibcast\",\"message_bytes\":64}",
                                                     .repetitions = 3,
                                                     .warmup_repetitions = 1,
                                                     .late_repetitions = 2,
                                                     .discarded_repetitions = 5,
                                                     .stop_reason = "interval",
                                                     .interval_relative_reached = NAN,
                                                     .data_errors = 7,
                                                     .start_method = "barrier",
                                                     .clock = &clock,
                                                     .series = {values, 2},
                                                     .warmup = {values, 1},
                                                     .spreads = &spread,
                                                     .spread_count = 1,
                                                     .ranks = 2,
                                                     .rank_medians = {values, 2},
                                                     .threads = 3,
                                                     .thread_medians = {values + 1, 1},
                                                     .rank_samples = {values, 2},
                                                     .own = "{\"test_calls\":9}"});
}

/* Of a family that has nothing of all this. */
static bool write_bare_point(record_file *record) {
    return record_write_point(record, &(struct record_point){.parameters = "{}", .interval_relative_reached = NAN});
}

static void test_file(void) {
    char error[512] = "";
    record_file *record = record_create(place("a.jsonl"), error, sizeof error);
    CHECK(record != NULL);
    CHECK(record_create(path, error, sizeof error) == NULL && strstr(error, "never overwritten") != NULL);
    CHECK(record_create("/no/such/folder/x", error, sizeof error) == NULL && strstr(error, "No such file") != NULL);
    write_header_line(record);
    CHECK(write_point_line(record));
    CHECK(write_bare_point(record));
    CHECK(record_points(record) == 2);
    static const int64_t times[] = {7, 8};
    const int64_t *const by_rank[] = {times, times + 1};
    static const size_t counts[] = {1, 0};
    static const int64_t sent[] = {5, -1};
    const struct record_footer footer = {.complete = true,
                                         .reason = "",
                                         .points = record_points(record),
                                         .wall_seconds = 1.5,
                                         .measured_seconds = 0.5,
                                         .spent_seconds = &(struct record_spent){.calibration = 0.25},
                                         .clock_residual_ns = 10,
                                         .clock_refusal = "",
                                         .ranks = 2,
                                         .mpi_thread_cpu_ns = by_rank,
                                         .mpi_thread_counts = counts,
                                         .helper_thread_cpu_ns = by_rank,
                                         .helper_thread_counts = counts,
                                         .tcp_bytes_sent = sent};
    CHECK(record_write_footer(record, &footer));
    record_close(record);

    size_t length = 0;
    char *text = file_read(place("a.jsonl"), &length, error, sizeof error);
    CHECK(text != NULL);
    char *rest = NULL;
    check_has(strtok_r(text, "\n", &rest),
              (const char *const[]){
                  "{\"type\":\"header\",\"schema\":\"mpi-campaign.record\",\"schema_version\":4,", "\"method\":1,",
                  "\"mpi_library_version\":\"MPICH\\u000aline \\\"two\\\"\",", "\"pinned_by\":\"program\"",
                  "\"placement\":[{\"rank\":0},{\"rank\":1}],", "\"dirty\":null,",
                  "\"environment\":{\"OMP_NUM_THREADS\":\"1\",\"FI_PROVIDER\":\"tcp\"},",
                  "\"mpi_variables\":{\"btl\":\"tcp\"},", "\"residual_ns\":null,",
                  "\"plan\":{\"parameters\":{\"cache\":[\"warm\"]},\"points\":4,", "\"interval_relative\":null,",
                  "\"max_repetitions\":null,\"sizes_given\":true,\"own\":{}}", ",\"own\":{},\"metadata\":{\"a\":[1]}}",
                  NULL});
    check_has(
        strtok_r(NULL, "\n", &rest),
        (const char *const[]){
            "{\"type\":\"point\",\"index\":0,\"parameters\":{\"collective\":\"ibcast\",\"message_bytes\":64},",
            "\"interval_relative_reached\":null,", "\"clock\":{\"method\":\"none\",\"residual_ns\":null,",
            "\"series\":{\"t_measured_ns\":[1,2,3],\"t_comp_ns\":[1,2,3]},", "\"warmup\":{\"t_measured_ns\":[1]},",
            "\"spreads\":{\"t_call_ns\":{\"min\":[1,2,3],\"median\":[1,2,3],\"max\":[1,2,3],\"max_rank\":[1,2,3]}},",
            "\"rank_medians\":{\"t_measured_ns\":[1,2],\"t_comp_ns\":[1,2]},",
            "\"thread_medians\":{\"t_comp_ns\":[[1,2,3],[4,5,6]]},",
            "\"rank_samples\":{\"t_measured_ns\":[[1,2,3],[4,5,6]],\"t_comp_ns\":[[1,2,3],[4,5,6]]},",
            "\"own\":{\"test_calls\":9}}", NULL});
    const char *bare = strtok_r(NULL, "\n", &rest);
    check_has(bare,
              (const char *const[]){"\"index\":1,", "\"stop_reason\":null,", "\"start_method\":null,\"clock\":null,",
                                    "\"series\":{},", "\"own\":{}}", NULL});
    CHECK(strstr(bare, "rank_samples") == NULL && strstr(bare, "thread_medians") == NULL);
    check_has(strtok_r(NULL, "\n", &rest),
              (const char *const[]){"\"points\":2,", "\"spent_seconds\":{\"start_up\":0,\"calibration\":0.25,",
                                    "\"mpi_thread_cpu_ns\":[[7],[]],", "\"helper_thread_cpu_ns\":[[7],[]],",
                                    "\"tcp_bytes_sent\":[5,null],", NULL});
    CHECK(strtok_r(NULL, "\n", &rest) == NULL);
    free(text);
}

/* A disk that is full is told apart from one that is not: here a limit on the size of files. */
static void test_full(void) {
    char error[512] = "";
    CHECK(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    record_file *record = record_create(place("full.jsonl"), error, sizeof error);
    CHECK(record != NULL);
    struct rlimit before;
    CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
    const struct rlimit small = {.rlim_cur = 2000, .rlim_max = before.rlim_max};
    CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
    bool good = true;
    for (int i = 0; i < 10 && good; i++) {
        good = write_point_line(record);
    }
    CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK(!good && strstr(record_error(record), "cannot write the record file") != NULL);
    record_close(record);
    record_file *nowhere = record_create(NULL, error, sizeof error);
    CHECK(write_point_line(nowhere));
    record_close(nowhere);
}

static void test_environment(void) {
    static const char list[] = "OMPI_MCA_*,MPICH_*,MPIR_*,I_MPI_*,FI_*,UCX_*,^OMPI_MCA_orte_*";
    static const char *const allowed[] = {"MPIR_CVAR_ASYNC_PROGRESS=1",
                                          "OMP_PLACES=",
                                          "FI_PROVIDER=tcp",
                                          "OMPI_MCA_btl=tcp,self",
                                          "I_MPI_ASYNC_PROGRESS=1",
                                          "OPENBLAS_NUM_THREADS=1",
                                          "UCX_TLS=KEY"};
    static const char *const refused[] = {"HOME=/root",
                                          "AWS_SECRET_KEY=x",
                                          "FI_OPX_KEY=x",
                                          "OMP",
                                          "OMPI_MCA_orte_hnp_uri=x",
                                          "XOMP_A=1",
                                          "MPICH_TOKEN=1",
                                          ""};
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++) {
        CHECK(record_environment_allowed(allowed[i], list));
    }
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        CHECK(!record_environment_allowed(refused[i], list));
    }
    CHECK(record_environment_allowed("OMP_PLACES=", NULL));
    CHECK(!record_environment_allowed("FI_PROVIDER=tcp", NULL));
}

int main(void) {
    CHECK(mkdtemp(folder) != NULL);
    test_file();
    test_full();
    test_environment();
    static const char *const made[] = {"a.jsonl", "full.jsonl"};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        CHECK(unlink(place(made[i])) == 0);
    }
    CHECK(rmdir(folder) == 0); /* nothing temporary is left */
    return 0;
}
