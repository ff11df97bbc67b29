#include "topology.h"

#include "fail.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void topology_cpus_add(struct topology_cpus *cpus, int cpu) {
    if (cpu >= 0 && cpu < TOPOLOGY_MOST_CPUS) {
        cpus->words[cpu / 64] |= UINT64_C(1) << (cpu % 64);
    }
}

bool topology_cpus_has(const struct topology_cpus *cpus, int cpu) {
    return cpu >= 0 && cpu < TOPOLOGY_MOST_CPUS && (cpus->words[cpu / 64] >> (cpu % 64) & 1) != 0;
}

size_t topology_cpus_count(const struct topology_cpus *cpus) {
    size_t count = 0;
    for (int cpu = topology_cpus_next(cpus, -1); cpu >= 0; cpu = topology_cpus_next(cpus, cpu)) {
        count++;
    }
    return count;
}

int topology_cpus_next(const struct topology_cpus *cpus, int previous) {
    for (int cpu = previous + 1; cpu < TOPOLOGY_MOST_CPUS; cpu++) {
        if (cpu % 64 == 0 && cpus->words[cpu / 64] == 0) {
            cpu += 63;
        } else if (topology_cpus_has(cpus, cpu)) {
            return cpu;
        }
    }
    return -1;
}

bool topology_cpus_within(const struct topology_cpus *cpus, const struct topology_cpus *all) {
    for (size_t i = 0; i < TOPOLOGY_WORDS; i++) {
        if ((cpus->words[i] & ~all->words[i]) != 0) {
            return false;
        }
    }
    return true;
}

void topology_cpus_unite(struct topology_cpus *sum, const struct topology_cpus *cpus) {
    for (size_t i = 0; i < TOPOLOGY_WORDS; i++) {
        sum->words[i] |= cpus->words[i];
    }
}

bool topology_cpus_meet(const struct topology_cpus *some, const struct topology_cpus *others) {
    bool met = false;
    for (size_t i = 0; i < TOPOLOGY_WORDS; i++) {
        met = met || (some->words[i] & others->words[i]) != 0;
    }
    return met;
}

char *topology_cpus_format(const struct topology_cpus *cpus) {
    size_t capacity = 12 * topology_cpus_count(cpus) + 1;
    size_t used = 0;
    char *text = fail_alloc(capacity, 1);
    for (int first = topology_cpus_next(cpus, -1); first >= 0;) {
        int last = first;
        while (topology_cpus_has(cpus, last + 1)) {
            last++;
        }
        used += (size_t)snprintf(text + used, capacity - used, "%s%d", used > 0 ? "," : "", first);
        if (last > first) {
            used += (size_t)snprintf(text + used, capacity - used, "-%d", last);
        }
        first = topology_cpus_next(cpus, last);
    }
    return text;
}

bool topology_cpus_parse(const char *text, struct topology_cpus *cpus) {
    *cpus = (struct topology_cpus){{0}};
    const char *at = text;
    while (isspace((unsigned char)*at)) {
        at++;
    }
    while (*at != '\0' && !isspace((unsigned char)*at)) {
        char *end = NULL;
        long first = strtol(at, &end, 10);
        if (end == at || first < 0) {
            return false;
        }
        long last = first;
        if (*end == '-') {
            at = end + 1;
            last = strtol(at, &end, 10);
            if (end == at || last < first) {
                return false;
            }
        }
        for (long cpu = first; cpu <= last && cpu < TOPOLOGY_MOST_CPUS; cpu++) {
            topology_cpus_add(cpus, (int)cpu);
        }
        at = end;
        if (*at == ',') {
            at++;
        }
    }
    return true;
}

void topology_own_cpus(struct topology_cpus *cpus) {
    *cpus = (struct topology_cpus){{0}};
    cpu_set_t *set = CPU_ALLOC(TOPOLOGY_MOST_CPUS);
    if (set == NULL) {
        fail_die("out of memory: a set of CPUs");
    }
    size_t size = CPU_ALLOC_SIZE(TOPOLOGY_MOST_CPUS);
    CPU_ZERO_S(size, set);
    if (sched_getaffinity(0, size, set) == 0) {
        for (int cpu = 0; cpu < TOPOLOGY_MOST_CPUS; cpu++) {
            if (CPU_ISSET_S((size_t)cpu, size, set)) {
                topology_cpus_add(cpus, cpu);
            }
        }
    }
    CPU_FREE(set);
}

bool topology_bind_thread(int64_t id, const struct topology_cpus *cpus) {
    cpu_set_t *set = CPU_ALLOC(TOPOLOGY_MOST_CPUS);
    if (set == NULL) {
        return false;
    }
    size_t size = CPU_ALLOC_SIZE(TOPOLOGY_MOST_CPUS);
    CPU_ZERO_S(size, set);
    for (int cpu = topology_cpus_next(cpus, -1); cpu >= 0; cpu = topology_cpus_next(cpus, cpu)) {
        CPU_SET_S((size_t)cpu, size, set);
    }
    bool bound = sched_setaffinity((pid_t)id, size, set) == 0;
    CPU_FREE(set);
    return bound;
}

/* A small file of /proc or /sys; false where it cannot be read. */
static bool read_line(const char *path, char *text, size_t size) {
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return false;
    }
    bool good = fgets(text, (int)size, file) != NULL;
    fclose(file);
    return good;
}

int topology_core_of(int cpu) {
    char path[128];
    char text[4096];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    struct topology_cpus siblings;
    if (read_line(path, text, sizeof text) && topology_cpus_parse(text, &siblings)) {
        int first = topology_cpus_next(&siblings, -1);
        return first >= 0 ? first : cpu;
    }
    return cpu;
}

void topology_cores(const struct topology_cpus *cpus, struct topology_cpus *cores) {
    struct topology_cpus found = {{0}};
    for (int cpu = topology_cpus_next(cpus, -1); cpu >= 0; cpu = topology_cpus_next(cpus, cpu)) {
        topology_cpus_add(&found, topology_core_of(cpu));
    }
    *cores = found;
}

struct topology_cpus topology_core_cpus(const struct topology_cpus *cpus, int cpu) {
    struct topology_cpus found = {{0}};
    const int core = topology_core_of(cpu);
    for (int other = topology_cpus_next(cpus, -1); other >= 0; other = topology_cpus_next(cpus, other)) {
        if (topology_core_of(other) == core) {
            topology_cpus_add(&found, other);
        }
    }
    return found;
}

size_t topology_first_cpus(const struct topology_cpus *cpus, int *first, size_t capacity) {
    struct topology_cpus seen = {{0}};
    size_t count = 0;
    for (int cpu = topology_cpus_next(cpus, -1); cpu >= 0; cpu = topology_cpus_next(cpus, cpu)) {
        int core = topology_core_of(cpu);
        if (topology_cpus_has(&seen, core)) {
            continue;
        }
        topology_cpus_add(&seen, core);
        if (count < capacity) {
            first[count] = cpu;
        }
        count++;
    }
    return count;
}

static bool read_thread(int64_t id, struct topology_thread *thread) {
    char path[128];
    char text[4096];
    *thread = (struct topology_thread){.id = id};
    snprintf(path, sizeof path, "/proc/self/task/%" PRId64 "/status", id);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return false;
    }
    while (fgets(text, sizeof text, file) != NULL) {
        text[strcspn(text, "\n")] = '\0';
        if (strncmp(text, "Name:\t", 6) == 0) {
            snprintf(thread->name, sizeof thread->name, "%.31s", text + 6);
        } else if (strncmp(text, "Cpus_allowed_list:", 18) == 0) {
            topology_cpus_parse(text + 18, &thread->cpus);
        }
    }
    fclose(file);
    return true;
}

struct topology_thread topology_thread_of(int64_t id) {
    struct topology_thread thread;
    read_thread(id, &thread);
    return thread;
}

void topology_list_threads(struct topology_threads *list) {
    *list = (struct topology_threads){0};
    DIR *directory = opendir("/proc/self/task");
    if (directory == NULL) {
        return;
    }
    for (const struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
        struct topology_thread thread;
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
            read_thread(strtoll(entry->d_name, NULL, 10), &thread)) {
            list->threads = fail_realloc(list->threads, list->count + 1, sizeof *list->threads);
            list->threads[list->count++] = thread;
        }
    }
    closedir(directory);
}

void topology_new_threads(const struct topology_threads *before, struct topology_threads *after) {
    size_t kept = 0;
    for (size_t i = 0; i < after->count; i++) {
        bool old = false;
        for (size_t j = 0; j < before->count; j++) {
            old = old || before->threads[j].id == after->threads[i].id;
        }
        if (!old) {
            after->threads[kept++] = after->threads[i];
        }
    }
    after->count = kept;
}

void topology_add_threads(struct topology_threads *list, const struct topology_threads *more) {
    if (more->count > 0) {
        list->threads = fail_realloc(list->threads, list->count + more->count, sizeof *list->threads);
        memcpy(list->threads + list->count, more->threads, more->count * sizeof *more->threads);
        list->count += more->count;
    }
}

void topology_free_threads(struct topology_threads *list) {
    free(list->threads);
    *list = (struct topology_threads){0};
}

struct topology_own_time topology_own_time(void) {
    struct topology_own_time own = {0};
    struct timespec cpu;
    char text[128];
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu) == 0) {
        own.on_cpu = (int64_t)cpu.tv_sec * INT64_C(1000000000) + (int64_t)cpu.tv_nsec;
    }
    /* Time on a CPU, which lags behind by up to a tick; time that the thread waited for one. */
    if (read_line("/proc/thread-self/schedstat", text, sizeof text)) {
        char *second = NULL;
        strtoll(text, &second, 10);
        own.waiting = strtoll(second, NULL, 10);
    }
    return own;
}

int64_t topology_thread_cpu_ns(int64_t id) {
    char path[128];
    char text[4096];
    snprintf(path, sizeof path, "/proc/self/task/%" PRId64 "/schedstat", id);
    if (read_line(path, text, sizeof text)) {
        return strtoll(text, NULL, 10); /* first field: time on a CPU, ns */
    }
    /* A kernel without schedstat: ticks of user and system time, fields 14 and 15; the name may hold spaces and
     * brackets. */
    snprintf(path, sizeof path, "/proc/self/task/%" PRId64 "/stat", id);
    const char *fields = read_line(path, text, sizeof text) ? strrchr(text, ')') : NULL;
    unsigned long user = 0;
    unsigned long system = 0;
    long ticks = sysconf(_SC_CLK_TCK);
    if (fields == NULL || ticks <= 0 ||
        sscanf(fields + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2) {
        return 0;
    }
    return (int64_t)(((double)user + (double)system) * 1e9 / (double)ticks);
}

bool topology_boot_id(char *text, size_t size) {
    char line[64];
    text[0] = '\0';
    if (!read_line("/proc/sys/kernel/random/boot_id", line, sizeof line)) {
        return false;
    }
    line[strcspn(line, "\n")] = '\0';
    snprintf(text, size, "%s", line);
    return text[0] != '\0';
}

bool topology_clock_id(char *text, size_t size) {
    char boot[64];
    char name_space[64] = "";
    text[0] = '\0';
    if (!topology_boot_id(boot, sizeof boot)) {
        return false;
    }
    /* a kernel without time namespaces has one clock: this part of the text stays empty */
    if (readlink("/proc/self/ns/time", name_space, sizeof name_space - 1) < 0) {
        name_space[0] = '\0';
    }
    snprintf(text, size, "%s %s", boot, name_space);
    return true;
}

/* The largest cache of CPU 0, and how many CPUs share it; 0: not known. */
static uint64_t largest_cache(size_t *sharing) {
    uint64_t largest = 0;
    for (int i = 0; i < 8; i++) {
        char path[128];
        char line[4 * TOPOLOGY_MOST_CPUS]; /* a list of CPUs that are numbered in turn names each of them */
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        if (read_line(path, line, sizeof line)) {
            char *unit = NULL;
            uint64_t size = strtoull(line, &unit, 10);
            size *= *unit == 'K' ? 1024 : *unit == 'M' ? 1048576 : 1;
            if (size <= largest) {
                continue;
            }
            largest = size;
            struct topology_cpus cpus = {{0}};
            snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/shared_cpu_list", i);
            *sharing =
                read_line(path, line, sizeof line) && topology_cpus_parse(line, &cpus) ? topology_cpus_count(&cpus) : 0;
        }
    }
    return largest;
}

uint64_t topology_cache_bytes(void) {
    size_t sharing = 0;
    const uint64_t bytes = largest_cache(&sharing);
    return bytes > 0 ? bytes : UINT64_C(32) * 1048576;
}

uint64_t topology_cache_share(int threads) {
    static uint64_t bytes;
    static size_t sharing;
    if (bytes == 0) {
        largest_cache(&sharing);
        bytes = topology_cache_bytes();
    }
    const size_t users = sharing > 0 && sharing < (size_t)threads ? sharing : (size_t)threads;
    return bytes / users;
}

/* The number in a file of a cgroup, where there is one: "max", no limit, is none. */
static bool read_bytes(const char *root, const char *below, const char *path, const char *name, uint64_t *bytes) {
    char file[8192];
    char text[64];
    const int length = snprintf(file, sizeof file, "%s%s%s/%s", root, below, path, name);
    if (length < 0 || (size_t)length >= sizeof file || !read_line(file, text, sizeof text) ||
        !isdigit((unsigned char)text[0])) {
        return false;
    }
    *bytes = strtoull(text, NULL, 10);
    return true;
}

/* A number of a cgroup's memory.stat; 0 where there is none of that name. */
static uint64_t read_statistic(const char *root, const char *below, const char *path, const char *name) {
    char file_name[8192];
    char line[256];
    const size_t name_length = strlen(name);
    uint64_t bytes = 0;
    const int length = snprintf(file_name, sizeof file_name, "%s%s%s/memory.stat", root, below, path);
    FILE *file = length >= 0 && (size_t)length < sizeof file_name ? fopen(file_name, "r") : NULL;
    if (file == NULL) {
        return 0;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, name, name_length) == 0 && line[name_length] == ' ') {
            bytes = strtoull(line + name_length, NULL, 10);
        }
    }
    fclose(file);
    return bytes;
}

/* The names of folders and files in a version of cgroups. */
struct memory_files {
    const char *below; /* the root */
    const char *limit;
    const char *used;
    const char *inactive; /* of memory.stat, with all groups below */
};

/* Returns how many bytes the limits of a cgroup and of all cgroups above it leave. path is shortened name by name until
 * it is empty. Pages of files that were not read lately are given up before a limit is reached, and so do not count as
 * used. */
static uint64_t left_in_group(const char *root, char *path, const struct memory_files *files) {
    uint64_t least = UINT64_MAX;
    for (char *end = path + strlen(path); end != NULL; end = strrchr(path, '/')) {
        uint64_t limit = 0;
        uint64_t used = 0;
        *end = '\0';
        if (read_bytes(root, files->below, path, files->limit, &limit)) {
            read_bytes(root, files->below, path, files->used, &used);
            const uint64_t inactive = read_statistic(root, files->below, path, files->inactive);
            used = used > inactive ? used - inactive : 0;
            const uint64_t left = limit > used ? limit - used : 1;
            least = left < least ? left : least;
        }
    }
    return least;
}

uint64_t topology_cgroup_memory(const char *own, const char *root) {
    static const struct memory_files version_1 = {"/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                                                  "total_inactive_file"};
    static const struct memory_files version_2 = {"", "memory.max", "memory.current", "inactive_file"};
    uint64_t least = UINT64_MAX;
    char line[4096];
    FILE *file = fopen(own, "r");
    if (file == NULL) {
        return least;
    }
    while (fgets(line, sizeof line, file) != NULL) { /* ID:CONTROLLERS:PATH, of version 2 0::PATH */
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
        if (path == NULL) {
            continue;
        }
        *path++ = '\0';
        uint64_t left = UINT64_MAX;
        if (strcmp(controllers, ":") == 0) {
            left = left_in_group(root, path, &version_2);
        } else if (strcmp(controllers, ":memory") == 0) {
            left = left_in_group(root, path, &version_1);
        }
        least = left < least ? left : least;
    }
    fclose(file);
    return least;
}

uint64_t topology_available_memory(void) {
    char text[256];
    uint64_t available = 0;
    FILE *file = fopen("/proc/meminfo", "r");
    if (file != NULL) {
        while (fgets(text, sizeof text, file) != NULL) {
            if (strncmp(text, "MemAvailable:", 13) == 0) {
                available = strtoull(text + 13, NULL, 10) * 1024;
            }
        }
        fclose(file);
    }
    if (available == 0) {
        long pages = sysconf(_SC_PHYS_PAGES);
        long size = sysconf(_SC_PAGESIZE);
        available = pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size / 2 : 0;
    }
    const uint64_t left = topology_cgroup_memory("/proc/self/cgroup", "/sys/fs/cgroup");
    return left < available ? left : available;
}
