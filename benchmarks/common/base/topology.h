/*
 * topology - what the kernel says about this process: CPUs, physical cores, threads. No MPI.
 *
 * Read from sched_getaffinity, /proc/self/task and /sys/devices/system/cpu. Where /proc or /sys is absent, every CPU
 * counts as a core and no threads are seen; nothing fails.
 */
#ifndef CAMPAIGN_TOPOLOGY_H
#define CAMPAIGN_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOPOLOGY_MOST_CPUS 8192
#define TOPOLOGY_WORDS (TOPOLOGY_MOST_CPUS / 64)

/* A set of CPUs; of fixed size, so that ranks can send it to each other as TOPOLOGY_WORDS integers. */
struct topology_cpus {
    uint64_t words[TOPOLOGY_WORDS];
};

void topology_cpus_add(struct topology_cpus *cpus, int cpu);
bool topology_cpus_has(const struct topology_cpus *cpus, int cpu);
size_t topology_cpus_count(const struct topology_cpus *cpus);
/* Smallest member above previous (-1 to begin), -1 at the end. */
int topology_cpus_next(const struct topology_cpus *cpus, int previous);

/* As the kernel lists them: "0-3,8"; empty for none. Free with free(). */
char *topology_cpus_format(const struct topology_cpus *cpus);

/* The reverse; false where text is no such list. */
bool topology_cpus_parse(const char *text, struct topology_cpus *cpus);

/* CPUs that the calling thread may use; empty where the system does not say. */
void topology_own_cpus(struct topology_cpus *cpus);

/* Binds a thread of this process, by the kernel's id; 0: the calling one. false where the system refuses: errno says
 * why. */
bool topology_bind_thread(int64_t id, const struct topology_cpus *cpus);

/* Whether all members of cpus are in all. */
bool topology_cpus_within(const struct topology_cpus *cpus, const struct topology_cpus *all);

/* Adds those of a set to a sum; whether two sets have one in common. */
void topology_cpus_unite(struct topology_cpus *sum, const struct topology_cpus *cpus);
bool topology_cpus_meet(const struct topology_cpus *some, const struct topology_cpus *others);

/* The physical core of a CPU, named by its lowest sibling; the CPU itself where /sys does not say. */
int topology_core_of(int cpu);

/* The physical cores of a set of CPUs. */
void topology_cores(const struct topology_cpus *cpus, struct topology_cpus *cores);

/* Those of cpus that are on the physical core of a CPU. */
struct topology_cpus topology_core_cpus(const struct topology_cpus *cpus, int cpu);

/* First CPU of cpus on each of its cores, ascending; at most capacity; returns how many cores there are. */
size_t topology_first_cpus(const struct topology_cpus *cpus, int *first, size_t capacity);

struct topology_thread {
    int64_t id; /* the kernel's */
    char name[32];
    struct topology_cpus cpus;
};

struct topology_threads {
    struct topology_thread *threads;
    size_t count;
};

/* A thread of this process as it is now; nameless, without CPUs, where it is gone or not known. */
struct topology_thread topology_thread_of(int64_t id);

/* The threads of this process. Free with topology_free_threads. */
void topology_list_threads(struct topology_threads *list);

/* Leaves in *after only those that are not in before. */
void topology_new_threads(const struct topology_threads *before, struct topology_threads *after);
/* Adds all of more to list. */
void topology_add_threads(struct topology_threads *list, const struct topology_threads *more);
void topology_free_threads(struct topology_threads *list);

/* CPU time that a thread of this process has had, ns; 0 when it is gone or not known. */
int64_t topology_thread_cpu_ns(int64_t id);

/* Which boot of which kernel this process runs on; false (text empty) where the system does not say. */
bool topology_boot_id(char *text, size_t size);

/* The same with the time namespace, in which a container may see another CLOCK_MONOTONIC: equal texts, one clock. */
bool topology_clock_id(char *text, size_t size);

/* The largest cache of CPU 0, bytes; 32 MiB where the system does not say. */
uint64_t topology_cache_bytes(void);

/* That cache divided by those of so many threads that can share it. Looked up once. */
uint64_t topology_cache_share(int threads);

/* What the memory limits of a process's cgroups, version 1 or 2, and of all above them leave, bytes, at least 1;
 * UINT64_MAX: no limit. Pages of files that were not read lately do not count as used. own: as /proc/self/cgroup; root:
 * where cgroups are mounted, as seen from here. Groups that cannot be seen, as those around a container, are left out.
 */
uint64_t topology_cgroup_memory(const char *own, const char *root);

/* Memory that could be had now without swapping, bytes, the limits of cgroups included; 0 when not known. */
uint64_t topology_available_memory(void);

#endif
