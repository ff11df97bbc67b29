/*
 * topology - asks the kernel which CPUs, physical cores, threads, caches and memory this process has. No MPI.
 *
 * The answers come from sched_getaffinity, /proc/self/task and /sys/devices/system/cpu. Where /proc or /sys is absent,
 * every CPU counts as a core and no threads are seen; no function fails for that.
 */
#pragma once

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
/* Returns the smallest member above previous (-1: the first member); -1 where there is none. */
int topology_cpus_next(const struct topology_cpus *cpus, int previous);

/* Returns the set as the kernel writes it, such as "0-3,8"; "" for the empty set. Free with free(). */
char *topology_cpus_format(const struct topology_cpus *cpus);

/* Reads such a list into cpus. Returns false where text is none. */
bool topology_cpus_parse(const char *text, struct topology_cpus *cpus);

/* Finds the CPUs that the calling thread may use; the empty set where the system does not say. */
void topology_own_cpus(struct topology_cpus *cpus);

/* Binds a thread of this process, named by the kernel's id (0: the calling thread), to CPUs. Returns false where the
 * system refuses; errno says why. */
bool topology_bind_thread(int64_t id, const struct topology_cpus *cpus);

/* Returns whether all members of cpus are in all. */
bool topology_cpus_within(const struct topology_cpus *cpus, const struct topology_cpus *all);

/* topology_cpus_unite adds the members of cpus to sum. topology_cpus_meet returns whether two sets have a member in
 * common. */
void topology_cpus_unite(struct topology_cpus *sum, const struct topology_cpus *cpus);
bool topology_cpus_meet(const struct topology_cpus *some, const struct topology_cpus *others);

/* Returns the physical core of a CPU as the number of the lowest CPU on that core; the CPU itself where /sys does not
 * say. */
int topology_core_of(int cpu);

/* Finds the physical cores of a set of CPUs; a core is named as by topology_core_of. */
void topology_cores(const struct topology_cpus *cpus, struct topology_cpus *cores);

/* Returns the members of cpus that are on the physical core of cpu. */
struct topology_cpus topology_core_cpus(const struct topology_cpus *cpus, int cpu);

/* Writes the first CPU of cpus on each core into first, ascending, at most capacity of them. Returns the number of
 * cores. */
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

/* Returns a thread of this process as it is now; with an empty name and no CPUs where it has ended or is not known. */
struct topology_thread topology_thread_of(int64_t id);

/* Lists the threads of this process. Free with topology_free_threads. */
void topology_list_threads(struct topology_threads *list);

/* Removes from *after the threads that are in *before. */
void topology_new_threads(const struct topology_threads *before, struct topology_threads *after);
/* Appends the threads of *more to *list. */
void topology_add_threads(struct topology_threads *list, const struct topology_threads *more);
void topology_free_threads(struct topology_threads *list);

/* The time of the calling thread so far, ns. on_cpu: its CPU time, with the interrupts that the kernel handled
 * meanwhile where it counts them to the thread (no CONFIG_IRQ_TIME_ACCOUNTING). waiting: it could have run, and
 * something else ran on its CPUs; 0 where the system does not say. */
struct topology_own_time {
    int64_t on_cpu;
    int64_t waiting;
};
struct topology_own_time topology_own_time(void);

/* Returns the CPU time that a thread of this process has used, ns; 0 where it has ended or is not known. */
int64_t topology_thread_cpu_ns(int64_t id);

/* Writes the id of the kernel's boot into text. Returns false, with text empty, where the system does not say. */
bool topology_boot_id(char *text, size_t size);

/* Writes the boot id and the time namespace: in a time namespace a container may see another CLOCK_MONOTONIC. Processes
 * with equal texts read one clock. Returns false, with text empty, where the system does not say. */
bool topology_clock_id(char *text, size_t size);

/* Returns the size of CPU 0's largest cache, bytes; 32 MiB where the system does not say. */
uint64_t topology_cache_bytes(void);

/* Returns that size divided by the number of threads that share the cache, where so many threads run. Looked up once.
 */
uint64_t topology_cache_share(int threads);

/* Returns how many bytes the memory limits of a process's cgroups (version 1 or 2) and of all cgroups above them leave:
 * at least 1; UINT64_MAX where there is no limit. Pages of files that were not read lately do not count as used. own:
 * text as in /proc/self/cgroup. root: the folder where cgroups are mounted for this process. Groups that cannot be seen
 * from here, such as those around a container, are left out.
 */
uint64_t topology_cgroup_memory(const char *own, const char *root);

/* Returns how many bytes of memory are available now without swapping and within the limits of cgroups; 0 where that is
 * not known. */
uint64_t topology_available_memory(void);
