#include "check.h"
#include "file.h"
#include "json.h"
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

static json_value *parse_line(const char *text, size_t length) {
    char error[256] = "";
    json_value *value = json_parse(text, length, error, sizeof error);
    if (value == NULL) {
        fprintf(stderr, "%s\n", error);
    }
    CHECK(value != NULL);
    return value;
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
    char *second = strchr(text, '\n') + 1;
    char *third = strchr(second, '\n') + 1;
    char *fourth = strchr(third, '\n') + 1;
    json_value *header = parse_line(text, (size_t)(second - text));
    json_value *point = parse_line(second, (size_t)(third - second));
    json_value *bare = parse_line(third, (size_t)(fourth - third));
    json_value *end = parse_line(fourth, strlen(fourth));
    CHECK_TEXT(json_string(json_member(header, "schema")), "mpi-campaign.record");
    CHECK_TEXT(json_string(json_member(header, "mpi_library_version")), "MPICH\nline \"two\"");
    CHECK(json_type_of(json_member(json_member(header, "build"), "dirty")) == JSON_NULL);
    CHECK(json_count(json_member(header, "environment")) == 2 && json_count(json_member(header, "placement")) == 2);
    CHECK(json_count(json_member(json_member(header, "metadata"), "a")) == 1);
    uint64_t number = 0;
    CHECK(json_count_value(json_member(json_member(header, "plan"), "points"), &number) && number == 4);
    CHECK(json_type_of(json_member(json_member(header, "plan"), "interval_relative")) == JSON_NULL);
    CHECK(json_type_of(json_member(json_member(header, "plan"), "max_repetitions")) == JSON_NULL);
    CHECK(json_type_of(json_member(json_member(header, "plan"), "sizes_given")) == JSON_BOOLEAN);
    CHECK(json_type_of(json_member(json_member(header, "plan"), "own")) == JSON_OBJECT &&
          json_type_of(json_member(header, "own")) == JSON_OBJECT);
    CHECK(json_count_value(json_member(header, "schema_version"), &number) && number == RECORD_VERSION);
    CHECK(json_count_value(json_member(header, "method"), &number) && number == 1);
    CHECK_TEXT(json_string(json_item(json_member(json_member(json_member(header, "plan"), "parameters"), "cache"), 0)),
               "warm");
    CHECK(json_type_of(json_member(json_member(header, "clock"), "residual_ns")) == JSON_NULL);
    CHECK_TEXT(json_string(json_member(json_member(header, "progress"), "pinned_by")), "program");
    CHECK_TEXT(json_string(json_member(json_member(header, "mpi_variables"), "btl")), "tcp");

    CHECK(json_count_value(json_member(point, "index"), &number) && number == 0);
    CHECK_TEXT(json_string(json_member(json_member(point, "parameters"), "collective")), "ibcast");
    CHECK(json_count(json_member(json_member(point, "series"), "t_measured_ns")) == 3);
    CHECK(json_count(json_member(point, "series")) == 2 && json_count(json_member(point, "warmup")) == 1);
    CHECK(json_count(json_member(json_member(point, "warmup"), "t_measured_ns")) == 1);
    CHECK(json_type_of(json_member(point, "interval_relative_reached")) == JSON_NULL);
    CHECK(json_type_of(json_member(json_member(point, "clock"), "residual_ns")) == JSON_NULL);
    CHECK(json_count(json_member(json_member(json_member(point, "spreads"), "t_call_ns"), "max_rank")) == 3);
    CHECK(json_count(json_member(json_member(point, "rank_medians"), "t_comp_ns")) == 2);
    const json_value *ranks = json_member(json_member(point, "rank_samples"), "t_comp_ns");
    CHECK(json_count(ranks) == 2 && json_count(json_item(ranks, 1)) == 3);
    CHECK(json_count_value(json_item(json_item(ranks, 1), 0), &number) && number == 4);
    const json_value *threads = json_member(json_member(point, "thread_medians"), "t_comp_ns");
    CHECK(json_count(threads) == 2 && json_count(json_item(threads, 1)) == 3);
    CHECK(json_count_value(json_item(json_item(threads, 1), 0), &number) && number == 4);
    CHECK(json_count_value(json_member(json_member(point, "own"), "test_calls"), &number) && number == 9);

    CHECK(json_count_value(json_member(bare, "index"), &number) && number == 1);
    CHECK(json_type_of(json_member(bare, "stop_reason")) == JSON_NULL &&
          json_type_of(json_member(bare, "start_method")) == JSON_NULL);
    CHECK(json_type_of(json_member(bare, "clock")) == JSON_NULL);
    CHECK(json_type_of(json_member(bare, "series")) == JSON_OBJECT &&
          json_type_of(json_member(bare, "own")) == JSON_OBJECT);
    CHECK(json_member(bare, "rank_samples") == NULL && json_member(bare, "thread_medians") == NULL);

    CHECK(json_count(json_item(json_member(end, "mpi_thread_cpu_ns"), 1)) == 0);
    CHECK(json_count(json_item(json_member(end, "helper_thread_cpu_ns"), 0)) == 1);
    CHECK(json_type_of(json_item(json_member(end, "tcp_bytes_sent"), 1)) == JSON_NULL);
    CHECK(json_count_value(json_member(end, "points"), &number) && number == 2);
    CHECK(json_count(json_member(end, "spent_seconds")) == 6);
    json_destroy(header);
    json_destroy(point);
    json_destroy(bare);
    json_destroy(end);
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
