/*
 * team - the OpenMP threads of one process, which meet often.
 *
 * The barrier is our own. OpenMP's own puts threads to sleep almost at once where a process was started on fewer CPUs
 * than it has threads, as it is here (crew.h), and to wake a thread takes longer than an iteration of a kernel.
 */
#pragma once

#include <stdbool.h>

/* NULL is the team of a process without threads: of team_threads, team_meet and team_own_part. */
struct team;

/* Must be called by the only thread. crowded: threads share CPUs, and give them away while they wait. */
struct team *team_create(int threads, bool crowded);
void team_free(struct team *team);

int team_threads(const struct team *team);

/* All threads: waits for all of them. What a thread wrote before is seen by all threads afterwards. */
void team_meet(struct team *team);

/* All threads: waits for all of them, and returns the largest value, the same in all threads. */
double team_largest(struct team *team, int thread, double own);

/* The elements [first, end) of `count` that thread `thread` of `threads` works on; they differ by at most one. */
struct team_part {
    int first;
    int end;
};
struct team_part team_part_of(int count, int thread, int threads);

/* Those of a thread of a team. */
struct team_part team_own_part(const struct team *team, int thread, int count);
