#include "check.h"
#include "json.h"
#include "record.h"
#include "sizes.h"
#include "file.h"

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
    static const struct record_progress progress = {"library", "program", 1};
    return (struct record_header){.schema = "mpi-campaign.record", .schema_version = 3, .benchmark = "nbc_overlap", .toolchain = "mpich@5.0.2", .provider = "wheels", .configuration = "basic",
                                  .network = "native", .command_line = words, .command_line_count = 2,
                                  .started_utc = "2026-01-01T00:00:00Z", .mpi_library_version = "MPICH\nline \"two\"", .mpi_standard = "5.0",
                                  .thread_level_required = "funneled", .thread_level_provided = "multiple", .ranks = 2, .nodes = 1,
                                  .threads_per_rank = 1, .physical_cores = 2, .progress = &progress, .placements = placements, .timer_name = "CLOCK_MONOTONIC",
                                  .timer_resolution_ns = 20, .timer_overhead_ns = 21.5, .start_method = "deadline", .seed = 1,
                                  .build_compiler = "GNU 12", .build_flags = "-O3", .build_commit = "unknown", .build_dirty = -1,
                                  .build_blas = "OpenBLAS", .environment = environment, .environment_list = "FI_*", .mpi_variables = "{\"btl\":\"tcp\"}", .clock = "{\"clocks\":1}",
                                  .plan = "{\"points\":4}", .metadata = "{\"a\":[1]}"};
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
    static const struct record_thread threads[] = {{"async", "0-1"}};
    char core[] = "0";
    char *compute[] = {core};
    const struct record_placement placement = {.rank = 0, .host = "h\xFF", .cpuset = "0-1", .physical_cores = 2, .compute_cpusets = compute,
                                               .compute_count = 1, .mpi_threads = threads, .mpi_thread_count = 1};
    const struct record_placement helped = {.rank = 1, .host = "h", .cpuset = "0-1", .helper_threads = threads, .helper_thread_count = 1,
                                            .dedicated_cpuset = "1"};
    char *text = record_placement_text(&placement);
    CHECK_TEXT(text, "{\"rank\":0,\"host\":\"h\xEF\xBF\xBD\",\"node\":0,\"cpuset\":\"0-1\",\"physical_cores\":2,\"compute_cpusets\":[\"0\"],"
                     "\"mpi_threads\":[{\"name\":\"async\",\"cpuset\":\"0-1\"}]}");
    char *helped_text = record_placement_text(&helped);
    CHECK_TEXT(helped_text, "{\"rank\":1,\"host\":\"h\",\"node\":0,\"cpuset\":\"0-1\",\"physical_cores\":0,\"compute_cpusets\":[],\"mpi_threads\":[],"
                            "\"helper_threads\":[{\"name\":\"async\",\"cpuset\":\"0-1\"}],\"dedicated_cpuset\":\"1\"}");
    char *placements[] = {text, helped_text};
    char one[] = "OMP_NUM_THREADS=1", two[] = "SECRET=1", three[] = "FI_KEY=1", four[] = "FI_PROVIDER=tcp";
    char *environment[] = {one, two, three, four, NULL};
    char program[] = "nbc_overlap", word[] = "--quiet";
    char *words[] = {program, word};
    const struct record_header header = header_example(placements, environment, words);
    CHECK(record_write_header(record, &header));
    free(text);
    free(helped_text);
}

static bool write_point_line(record_file *record) {
    static const int64_t samples[] = {1, 2, 3, 4, 5, 6};
    const struct record_spread spread = {samples, samples, samples, samples};
    const struct record_point point = {.index = 3, .collective = "ibcast", .comm_target_ns = 8000000, .comp_target_ns = 16000000,
                                       .message_bytes = 64, .work_size = 100, .comm = {CALIBRATE_CONVERGED, 8000001, 1e-7, 5},
                                       .comp = {CALIBRATE_OFF_TARGET, 9, -1, 30}, .repetitions = 3, .warmup_repetitions = 1,
                                       .warmup_t_measured_ns = samples, .warmup_t_comm_ref_ns = samples, .warmup_t_comp_ref_ns = samples,
                                       .start_method = "deadline", .buffer_sets = 1, .comm_reference = {0.1, 0.5, NAN},
                                       .comp_reference = {NAN, NAN, -0.25}, .clock_residual_ns = NAN, .stop_reason = "interval", .interval_relative_reached = -1, .clock_method = "shared",
                                       .t_measured_ns = samples, .t_comm_ref_ns = samples, .t_comp_ref_ns = samples, .t_call_ns = spread,
                                       .t_comp_ns = spread, .t_test_ns = spread, .t_wait_ns = spread, .test_calls = 9, .start_imbalance_ns = samples, .ranks = 2,
                                       .median_t_mpi_ns = samples, .median_t_comm_ref_ns = samples, .median_t_comp_ns = samples,
                                       .median_t_comp_ref_ns = samples, .threads = 3, .thread_median_t_comp_ns = samples,
                                       .thread_median_t_comp_ref_ns = samples, .rank_samples = true, .rank_t_call_ns = samples,
                                       .rank_t_comp_ns = samples, .rank_t_test_ns = samples, .rank_t_wait_ns = samples, .rank_t_comm_ref_ns = samples,
                                       .rank_t_comp_ref_ns = samples};
    return record_write_point(record, &point);
}

static void test_file(void) {
    char error[512] = "";
    record_file *record = record_create(place("a.jsonl"), error, sizeof error);
    CHECK(record != NULL);
    CHECK(record_create(path, error, sizeof error) == NULL && strstr(error, "never overwritten") != NULL);
    CHECK(record_create("/no/such/folder/x", error, sizeof error) == NULL && strstr(error, "No such file") != NULL);
    write_header_line(record);
    CHECK(write_point_line(record));
    static const int64_t times[] = {7, 8};
    const int64_t *const by_rank[] = {times, times + 1};
    static const size_t counts[] = {1, 0};
    static const int64_t sent[] = {5, -1};
    const struct record_footer footer = {.complete = true, .reason = "", .points = 1, .wall_seconds = 1.5, .measured_seconds = 0.5,
                                         .clock_residual_ns = 10, .clock_refusal = "", .ranks = 2, .mpi_thread_cpu_ns = by_rank, .mpi_thread_counts = counts,
                                         .helper_thread_cpu_ns = by_rank, .helper_thread_counts = counts, .tcp_bytes_sent = sent};
    CHECK(record_write_footer(record, &footer));
    record_close(record);

    size_t length = 0;
    char *text = file_read(place("a.jsonl"), &length, error, sizeof error);
    CHECK(text != NULL);
    char *second = strchr(text, '\n') + 1;
    char *third = strchr(second, '\n') + 1;
    json_value *header = parse_line(text, (size_t)(second - text));
    json_value *point = parse_line(second, (size_t)(third - second));
    json_value *end = parse_line(third, strlen(third));
    CHECK_TEXT(json_string(json_member(header, "schema")), "mpi-campaign.record");
    CHECK_TEXT(json_string(json_member(header, "mpi_library_version")), "MPICH\nline \"two\"");
    CHECK(json_type_of(json_member(json_member(header, "build"), "dirty")) == JSON_NULL);
    CHECK(json_count(json_member(header, "environment")) == 2 && json_count(json_member(header, "placement")) == 2);
    CHECK(json_count(json_member(json_member(header, "metadata"), "a")) == 1);
    uint64_t number = 0;
    CHECK(json_count_value(json_member(json_member(header, "plan"), "points"), &number) && number == 4);
    const json_value *ranks = json_member(json_member(point, "rank_samples"), "t_wait_ns");
    CHECK(json_count(ranks) == 2 && json_count(json_item(ranks, 1)) == 3);
    CHECK(json_count_value(json_item(json_item(ranks, 1), 0), &number) && number == 4);
    CHECK(json_count(json_member(json_member(point, "samples"), "t_measured_ns")) == 3);
    CHECK(json_type_of(json_member(point, "interval_relative_reached")) == JSON_NULL);
    CHECK(json_count(json_member(json_member(point, "warmup_samples"), "t_comp_ref_ns")) == 1);
    CHECK(json_type_of(json_member(json_member(point, "reference_moved"), "comm")) == JSON_NULL);
    CHECK(json_type_of(json_member(json_member(point, "reference_moved"), "comp")) == JSON_NUMBER);
    CHECK(json_type_of(json_member(json_member(point, "clock"), "residual_ns")) == JSON_NULL);
    CHECK_TEXT(json_string(json_member(json_member(point, "comp_calibration"), "status")), "off_target");
    CHECK(json_count(json_item(json_member(end, "mpi_thread_cpu_ns"), 1)) == 0);
    CHECK(json_count(json_item(json_member(end, "helper_thread_cpu_ns"), 0)) == 1);
    CHECK(json_type_of(json_item(json_member(end, "tcp_bytes_sent"), 1)) == JSON_NULL);
    CHECK_TEXT(json_string(json_member(json_member(header, "progress"), "pinned_by")), "program");
    CHECK_TEXT(json_string(json_member(json_member(header, "mpi_variables"), "btl")), "tcp");
    const json_value *threads = json_member(json_member(point, "thread_medians"), "t_comp_ns");
    CHECK(json_count(threads) == 2 && json_count(json_item(threads, 1)) == 3);
    CHECK(json_count_value(json_item(json_item(threads, 1), 0), &number) && number == 4);
    CHECK(json_count_value(json_member(point, "test_calls"), &number) && number == 9);
    json_destroy(header);
    json_destroy(point);
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
    static const char *const allowed[] = {"MPIR_CVAR_ASYNC_PROGRESS=1", "OMP_PLACES=", "FI_PROVIDER=tcp", "OMPI_MCA_btl=tcp,self",
                                          "I_MPI_ASYNC_PROGRESS=1", "OPENBLAS_NUM_THREADS=1", "UCX_TLS=KEY"};
    static const char *const refused[] = {"HOME=/root", "AWS_SECRET_KEY=x", "FI_OPX_KEY=x", "OMP", "OMPI_MCA_orte_hnp_uri=x", "XOMP_A=1",
                                          "MPICH_TOKEN=1", ""};
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++) {
        CHECK(record_environment_allowed(allowed[i], list));
    }
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        CHECK(!record_environment_allowed(refused[i], list));
    }
    CHECK(record_environment_allowed("OMP_PLACES=", NULL));
    CHECK(!record_environment_allowed("FI_PROVIDER=tcp", NULL));
}

/* A run of the computation that gives up this many cores of each rank. */
static bool read_sizes_of(const char *name, const char *computation, int64_t given_up, int64_t ranks, int64_t target, struct size_entry *entry,
                          char *error) {
    struct size_entry comm = {.target_ns = target};
    struct size_entry comp = {.target_ns = 16000000};
    struct size_list list = {.name = "ibcast", .entries = &comm, .count = 1};
    struct size_table table = {.ranks = ranks, .threads_per_rank = 1, .given_up_cores = given_up, .computation = computation,
                               .collectives = &list, .collective_count = 1, .work = {.entries = &comp, .count = 1}};
    bool good = sizes_read(place(name), &table, error, 512);
    *entry = comm;
    return good && comp.size == 700;
}

static bool read_sizes(const char *name, int64_t ranks, int64_t target, struct size_entry *entry, char *error) {
    return read_sizes_of(name, "dgemm", 0, ranks, target, entry, error);
}

static void test_sizes(void) {
    char error[512] = "";
    struct size_entry comm[] = {{8000000, 1024, CALIBRATE_CONVERGED, 8000100}, {16000000, 2048, CALIBRATE_UNREACHABLE, 5}};
    struct size_entry comp[] = {{16000000, 700, CALIBRATE_OFF_TARGET, 15000000}};
    struct size_list list = {.name = "ibcast", .entries = comm, .count = 2};
    struct size_table table = {.ranks = 2, .threads_per_rank = 2, .computation = "dgemm", .collectives = &list, .collective_count = 1,
                               .work = {.entries = comp, .count = 1}};
    CHECK(sizes_write(place("s.json"), &table, error, sizeof error));
    struct size_entry entry;
    CHECK(!read_sizes("s.json", 2, 8000000, &entry, error) && strstr(error, "2 ranks of 2 threads, this run has 2 of 1 and 0 given-up") != NULL);
    CHECK(read_sizes_of("s.json", "dgemm", 1, 2, 8000000, &entry, error)); /* the work per thread of two threads, on one of them */
    CHECK(!read_sizes_of("s.json", "triad", 1, 2, 8000000, &entry, error) && strstr(error, "computation dgemm, this run has triad") != NULL);
    table.threads_per_rank = 1;
    CHECK(sizes_write(place("s.json"), &table, error, sizeof error)); /* replaced */
    CHECK(!sizes_write("/no/such/folder/s.json", &table, error, sizeof error));
    CHECK(read_sizes("s.json", 2, 8000000, &entry, error));
    CHECK(entry.size == 1024 && entry.status == CALIBRATE_CONVERGED && entry.time_ns == 8000100);
    CHECK(read_sizes("s.json", 2, 16000000, &entry, error) && entry.status == CALIBRATE_UNREACHABLE);
    CHECK(!read_sizes("s.json", 4, 8000000, &entry, error) && strstr(error, "2 ranks of 1 threads, this run has 4") != NULL);
    CHECK(!read_sizes("s.json", 2, 9000000, &entry, error) && strstr(error, "no size of ibcast for 9000000 ns") != NULL);
    CHECK(!read_sizes("none.json", 2, 8000000, &entry, error) && strstr(error, "No such file") != NULL);
    CHECK(!read_sizes(".", 2, 8000000, &entry, error));
    static const char zero_bytes[] = "{\"schema\":\"mpi-campaign.sizes\",\"schema_version\":1,\"ranks\":2,\"threads_per_rank\":1,"
                                     "\"collectives\":{\"ibcast\":[{\"target_ns\":8000000,\"message_bytes\":0,\"status\":\"converged\"}]}}";
    static const char *const bad[] = {"", "[]", "{}", "{\"schema\":\"mpi-campaign.sizes\",\"schema_version\":2}", zero_bytes};
    static const char old[] = "{\"schema\":\"mpi-campaign.sizes\",\"schema_version\":2,\"ranks\":2,\"threads_per_rank\":1,"
                              "\"collectives\":{\"ibcast\":[{\"target_ns\":8000000,\"message_bytes\":64,\"status\":\"converged\"}]},"
                              "\"computation\":[{\"target_ns\":16000000,\"matrix_size\":700,\"status\":\"converged\"}],\"points\":[]}";
    CHECK(file_replace(place("bad.json"), old, strlen(old), error, sizeof error));
    CHECK(read_sizes("bad.json", 2, 8000000, &entry, error) && entry.size == 64);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK(file_replace(place("bad.json"), bad[i], strlen(bad[i]), error, sizeof error));
        CHECK(!read_sizes("bad.json", 2, 8000000, &entry, error) && strchr(error, '\n') == NULL);
    }
}

int main(void) {
    CHECK(mkdtemp(folder) != NULL);
    test_file();
    test_full();
    test_environment();
    test_sizes();
    static const char *const made[] = {"a.jsonl", "full.jsonl", "s.json", "bad.json"};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        CHECK(unlink(place(made[i])) == 0);
    }
    CHECK(rmdir(folder) == 0); /* nothing temporary is left */
    return 0;
}
