#include "check.h"
#include "topology.h"

#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/test_topology_XXXXXX";
static char path[256];

static const char *place(const char *name) {
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void put(const char *name, const char *text) {
    FILE *file = fopen(place(name), "w");
    CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* What is left by the text of /proc/self/cgroup. */
static uint64_t left_by(const char *own) {
    char file[256];
    put("own", own);
    snprintf(file, sizeof file, "%s", place("own"));
    return topology_cgroup_memory(file, folder);
}

/* The smallest of what any limit leaves, from the group's own up to the root, of version 1 and 2. */
static void check_cgroup_memory(void) {
    static const char *const folders[] = {"job", "job/step", "job/step/inner", "memory", "memory/box", "memory/job"};
    static const char *const files[][2] = {
        {"memory.max", "9000\n"},
        {"job/memory.max", "5000\n"},
        {"job/memory.current", "1000\n"},
        {"job/step/inner/memory.max", "3500\n"},
        {"job/step/inner/memory.current", "3500\n"},
        {"job/step/inner/memory.stat", "anon 500\nfile 3000\nactive_file 400\ninactive_file 2600\n"},
        {"job/step/memory.max", "max\n"},
        {"job/step/memory.current", "1000\n"},
        {"memory/memory.limit_in_bytes", "3000\n"},
        {"memory/job/memory.limit_in_bytes", "2000\n"},
        {"memory/job/memory.usage_in_bytes", "1900\n"},
        {"memory/job/memory.stat", "inactive_file 1\ntotal_cache 1500\ntotal_inactive_file 2000\n"},
        {"memory/box/memory.limit_in_bytes", "2000\n"},
        {"memory/box/memory.usage_in_bytes", "2500\n"}};
    CHECK(mkdtemp(folder) != NULL);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        CHECK(mkdir(place(folders[i]), 0700) == 0);
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        put(files[i][0], files[i][1]);
    }
    CHECK(left_by("0::/job/step\n") == 4000);
    CHECK(left_by("0::/job/step/inner\n") == 2600); /* pages of files that were not read lately are as good as free */
    CHECK(left_by("0::/job\n") == 4000);
    CHECK(left_by("0::/\n") == 9000);
    CHECK(left_by("0::/not/seen/from/here\n") == 9000);
    CHECK(left_by("5:memory:/box\n1:name=systemd:/job\n") == 1); /* more is used than the limit */
    CHECK(left_by("5:memory:/job\n") == 2000);                   /* two files that were not read at the same moment */
    CHECK(left_by("5:memory:/another\n0::/job/step\n") == 3000);
    CHECK(left_by("5:cpu:/job\nnothing\n") == UINT64_MAX && left_by("") == UINT64_MAX);
    CHECK(topology_cgroup_memory("/nonexistent", folder) == UINT64_MAX);
    CHECK(unlink(place("own")) == 0);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        CHECK(unlink(place(files[i][0])) == 0);
    }
    for (size_t i = sizeof folders / sizeof *folders; i > 0; i--) {
        CHECK(rmdir(place(folders[i - 1])) == 0);
    }
    CHECK(rmdir(folder) == 0);
}

static void round_trip(const char *text) {
    struct topology_cpus cpus;
    CHECK(topology_cpus_parse(text, &cpus));
    char *again = topology_cpus_format(&cpus);
    CHECK_TEXT(again, text);
    free(again);
}

int main(void) {
    round_trip("");
    round_trip("0");
    round_trip("0-3,8");
    round_trip("1,3,5-7,63-65,8191");
    struct topology_cpus cpus;
    CHECK(topology_cpus_parse(" 0-1\n", &cpus) && topology_cpus_count(&cpus) == 2);
    CHECK(topology_cpus_has(&cpus, 1) && !topology_cpus_has(&cpus, 2) && !topology_cpus_has(&cpus, -1));
    CHECK(!topology_cpus_parse("a", &cpus) && !topology_cpus_parse("3-1", &cpus) && !topology_cpus_parse("1-", &cpus));

    /* This machine: at least one CPU, no more cores than CPUs, a core for each; where the kernel says nothing, nothing
     * fails. */
    topology_own_cpus(&cpus);
    size_t count = topology_cpus_count(&cpus);
    struct topology_cpus cores;
    topology_cores(&cpus, &cores);
    int first[4];
    CHECK(topology_cpus_count(&cores) <= count);
    CHECK(topology_first_cpus(&cpus, first, 4) == topology_cpus_count(&cores));
    struct topology_cpus none = {{0}};
    struct topology_cpus own_core = topology_core_cpus(&cpus, topology_cpus_next(&cpus, -1));
    CHECK(topology_cpus_within(&own_core, &cpus) && topology_cpus_within(&none, &cpus) &&
          !topology_cpus_within(&cpus, &none));
    CHECK(count == 0 || topology_cpus_has(&own_core, topology_cpus_next(&cpus, -1)));

    /* A thread is where it was bound, by its id or as the calling one. */
    if (count > 0) {
        struct topology_cpus last = {{0}};
        int cpu = -1;
        while (topology_cpus_next(&cpus, cpu) >= 0) {
            cpu = topology_cpus_next(&cpus, cpu);
        }
        topology_cpus_add(&last, cpu);
        CHECK(topology_bind_thread(0, &last));
        const struct topology_thread self = topology_thread_of((int64_t)getpid());
        CHECK(topology_cpus_count(&self.cpus) == 0 ||
              (topology_cpus_count(&self.cpus) == 1 && topology_cpus_has(&self.cpus, cpu)));
        CHECK(topology_bind_thread((int64_t)getpid(), &cpus) && !topology_bind_thread(INT64_C(999999999), &cpus));
    }
    CHECK(topology_thread_of(INT64_C(999999999)).name[0] == '\0');
    struct topology_threads before;
    struct topology_threads after;
    topology_list_threads(&before);
    topology_list_threads(&after);
    topology_new_threads(&before, &after);
    CHECK(after.count == 0);
    if (before.count > 0) {
        const struct topology_own_time own = topology_own_time();
        CHECK(own.on_cpu > 0 && own.waiting >= 0);
        CHECK(topology_own_time().on_cpu > own.on_cpu);
        CHECK(topology_thread_cpu_ns(before.threads[0].id) >= 0 && topology_thread_cpu_ns(INT64_C(999999999)) == 0);
    }
    topology_free_threads(&before);
    topology_free_threads(&after);

    /* The same answer every time, without the newline; short buffers are not overrun. */
    char boot[64];
    char clock[128];
    char again[128];
    bool known = topology_boot_id(boot, sizeof boot);
    CHECK(topology_clock_id(clock, sizeof clock) == known && topology_clock_id(again, sizeof again) == known);
    CHECK_TEXT(clock, again);
    CHECK(known == (boot[0] != '\0') && strchr(clock, '\n') == NULL && strncmp(clock, boot, strlen(boot)) == 0);
    char little[8];
    topology_boot_id(little, sizeof little);
    CHECK(strncmp(boot, little, strlen(little)) == 0);
    check_cgroup_memory();
    return 0;
}
