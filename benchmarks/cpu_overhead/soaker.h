/*
 * soaker - a thread of the lowest priority (SCHED_IDLE) on the CPUs of the calling thread. It computes whenever nobody
 * else wants the CPU. Its CPU time is what an application could have had meanwhile, without any help of the library.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct soaker soaker;

/* Starts the thread, asleep. Returns NULL and one line in error where the system refuses. */
soaker *soaker_create(char *error, size_t error_size);

/* Ends the thread, whether it computes or sleeps. NULL is allowed. */
void soaker_destroy(soaker *s);

/* soaker_wake lets it compute until soaker_rest, which returns when it sleeps again. One that computes already, or
 * sleeps already, goes on. */
void soaker_wake(soaker *s);
void soaker_rest(soaker *s);

/* Returns the CPU time that it has used so far, ns. */
int64_t soaker_cpu_ns(const soaker *s);
