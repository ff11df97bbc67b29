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
    CHECK(size_table_write(place("s.txt"), &table, error, sizeof error));
    struct size_entry entry;
    CHECK(!read_sizes("s.txt", 2, 8000000, &entry, error) &&
          strstr(error, "2 ranks of 2 threads, this run has 2 of 1 and 0 given-up") != NULL);
    CHECK(read_sizes_of("s.txt", "dgemm", 1, 2, 8000000, &entry,
                        error)); /* the work per thread of two threads, on one of them */
    CHECK(!read_sizes_of("s.txt", "triad", 1, 2, 8000000, &entry, error) &&
          strstr(error, "computation dgemm, this run has triad") != NULL);
    table.threads_per_rank = 1;
    CHECK(size_table_write(place("s.txt"), &table, error, sizeof error)); /* replaced */
    CHECK(!size_table_write("/no/such/folder/s.txt", &table, error, sizeof error));
    CHECK(read_sizes("s.txt", 2, 8000000, &entry, error));
    CHECK(entry.size == 1024 && entry.status == SIZE_CONVERGED && entry.time_ns == 8000100);
    CHECK(read_sizes("s.txt", 2, 16000000, &entry, error) && entry.status == SIZE_UNREACHABLE);
    CHECK(!read_sizes("s.txt", 4, 8000000, &entry, error) &&
          strstr(error, "2 ranks of 1 threads, this run has 4") != NULL);
    CHECK(!read_sizes("s.txt", 2, 9000000, &entry, error) && strstr(error, "no size of ibcast for 9000000 ns") != NULL);
    CHECK(!read_sizes("none.txt", 2, 8000000, &entry, error) && strstr(error, "No such file") != NULL);
    CHECK(!read_sizes(".", 2, 8000000, &entry, error));
}

#define SIZES "schema mpi-campaign.sizes 4\nranks 2\nthreads_per_rank 1\ncomputation dgemm\n"
#define WORK "work 16000000 700 converged 1\n"
#define MESSAGE "message ibcast 8000000 64 converged 2"

/* What is wrong with a file is said in one line, with the line of the file where there is one. */
static void test_bad(void) {
    static const struct {
        const char *text;
        const char *says;
    } bad[] = {
        {"", "does not begin with the line 'schema mpi-campaign.sizes 4'"},
        {"schema mpi-campaign.sizes 3\n", "does not begin with"},
        {"\x01\x02", "does not begin with"},
        {" {\"schema\":\"mpi-campaign.sizes\",\"schema_version\":3}", "is JSON"},
        {"schema mpi-campaign.sizes 4\n", "lacks the line 'ranks'"},
        {"schema mpi-campaign.sizes 4\nranks two\n", "line 2: ranks must be a whole number of at least 1, not 'two'"},
        {"# made by hand\nschema mpi-campaign.sizes 4\n\nranks\n", "line 4: 'ranks' lacks its value 1"},
        {SIZES WORK "message ibcast 8000000 0 converged 2\n", "line 6: message_bytes must be above 0"},
        {SIZES WORK "message ibcast 8000000 -64 converged 2\n", "not '-64'"},
        {SIZES WORK "message ibcast 8000000 64 found 2\n", "'found' is no status"},
        {SIZES WORK "message ibcast 8000000 64\n", "lacks its value 4"},
        {SIZES WORK MESSAGE, "is cut off"},
        {SIZES MESSAGE "\n", "no size of the computation for 16000000 ns"},
    };
    struct size_entry entry;
    char error[512] = "";
    static const char good[] =
        "# by hand\r\n" SIZES "\n \tmessage  ibcast 8000000 64\tconverged 2 # a comment\r\n" WORK "other 1\n";
    CHECK(file_replace(place("bad.txt"), good, strlen(good), error, sizeof error));
    CHECK(read_sizes("bad.txt", 2, 8000000, &entry, error) && entry.size == 64 && entry.time_ns == 2);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK(file_replace(place("bad.txt"), bad[i].text, strlen(bad[i].text), error, sizeof error));
        CHECK(!read_sizes("bad.txt", 2, 8000000, &entry, error) && strchr(error, '\n') == NULL);
        if (strstr(error, bad[i].says) == NULL || strstr(error, "bad.txt") == NULL) {
            CHECK_TEXT(error, bad[i].says);
        }
    }
}

int main(void) {
    CHECK(mkdtemp(folder) != NULL);
    test_sizes();
    test_bad();
    static const char *const made[] = {"s.txt", "bad.txt"};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        CHECK(unlink(place(made[i])) == 0);
    }
    CHECK(rmdir(folder) == 0); /* nothing temporary is left */
    return 0;
}
