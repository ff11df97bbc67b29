#include "check.h"
#include "file.h"
#include "size_table.h"

#include <stdint.h>
#include <unistd.h>

static char folder[] = "/tmp/test_sizes_XXXXXX";
static char path[256];

static const char *place(const char *name) {
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* A run of the computation that gives up this many cores of each rank. */
static bool read_sizes_of(const char *name, const char *computation, int64_t given_up, int64_t ranks, int64_t target,
                          struct size_entry *entry, char *error) {
    struct size_entry comm = {.target_ns = target};
    struct size_entry comp = {.target_ns = 16000000};
    struct size_list list = {.name = "ibcast", .entries = &comm, .count = 1};
    struct size_table table = {.ranks = ranks,
                               .threads_per_rank = 1,
                               .given_up_cores = given_up,
                               .computation = computation,
                               .collectives = &list,
                               .collective_count = 1,
                               .work = {.entries = &comp, .count = 1}};
    bool good = size_table_read(place(name), &table, error, 512);
    *entry = comm;
    return good && comp.size == 700;
}

static bool read_sizes(const char *name, int64_t ranks, int64_t target, struct size_entry *entry, char *error) {
    return read_sizes_of(name, "dgemm", 0, ranks, target, entry, error);
}

static void test_sizes(void) {
    char error[512] = "";
    struct size_entry comm[] = {{8000000, 1024, SIZE_CONVERGED, 8000100}, {16000000, 2048, SIZE_UNREACHABLE, 5}};
    struct size_entry comp[] = {{16000000, 700, SIZE_OFF_TARGET, 15000000}};
    struct size_list list = {.name = "ibcast", .entries = comm, .count = 2};
    struct size_table table = {.ranks = 2,
                               .threads_per_rank = 2,
                               .computation = "dgemm",
                               .collectives = &list,
                               .collective_count = 1,
                               .work = {.entries = comp, .count = 1}};
    CHECK(size_table_write(place("s.json"), &table, error, sizeof error));
    struct size_entry entry;
    CHECK(!read_sizes("s.json", 2, 8000000, &entry, error) &&
          strstr(error, "2 ranks of 2 threads, this run has 2 of 1 and 0 given-up") != NULL);
    CHECK(read_sizes_of("s.json", "dgemm", 1, 2, 8000000, &entry,
                        error)); /* the work per thread of two threads, on one of them */
    CHECK(!read_sizes_of("s.json", "triad", 1, 2, 8000000, &entry, error) &&
          strstr(error, "computation dgemm, this run has triad") != NULL);
    table.threads_per_rank = 1;
    CHECK(size_table_write(place("s.json"), &table, error, sizeof error)); /* replaced */
    CHECK(!size_table_write("/no/such/folder/s.json", &table, error, sizeof error));
    CHECK(read_sizes("s.json", 2, 8000000, &entry, error));
    CHECK(entry.size == 1024 && entry.status == SIZE_CONVERGED && entry.time_ns == 8000100);
    CHECK(read_sizes("s.json", 2, 16000000, &entry, error) && entry.status == SIZE_UNREACHABLE);
    CHECK(!read_sizes("s.json", 4, 8000000, &entry, error) &&
          strstr(error, "2 ranks of 1 threads, this run has 4") != NULL);
    CHECK(!read_sizes("s.json", 2, 9000000, &entry, error) &&
          strstr(error, "no size of ibcast for 9000000 ns") != NULL);
    CHECK(!read_sizes("none.json", 2, 8000000, &entry, error) && strstr(error, "No such file") != NULL);
    CHECK(!read_sizes(".", 2, 8000000, &entry, error));
    static const char zero_bytes[] =
        "{\"schema\":\"mpi-campaign.sizes\",\"schema_version\":1,\"ranks\":2,\"threads_per_rank\":1,"
        "\"collectives\":{\"ibcast\":[{\"target_ns\":8000000,\"message_bytes\":0,\"status\":\"converged\"}]}}";
    static const char *const bad[] = {"", "[]", "{}", "{\"schema\":\"mpi-campaign.sizes\",\"schema_version\":2}",
                                      zero_bytes};
    static const char old[] =
        "{\"schema\":\"mpi-campaign.sizes\",\"schema_version\":2,\"ranks\":2,\"threads_per_rank\":1,"
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
    test_sizes();
    static const char *const made[] = {"s.json", "bad.json"};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        CHECK(unlink(place(made[i])) == 0);
    }
    CHECK(rmdir(folder) == 0); /* nothing temporary is left */
    return 0;
}
