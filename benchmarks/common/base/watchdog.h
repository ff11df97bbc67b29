/*
 * watchdog - a thread that calls a function at a deadline, unless it is stopped before. It uses no CPU while it sleeps,
 * and works while the main thread hangs. No MPI.
 */
#pragma once

#include <stdint.h>

typedef struct watchdog watchdog;

/* Starts the thread. It calls over(context) at deadline_ns (timer_now_ns), at most once; over may end the process. Dies
 * where no thread can be started. */
watchdog *watchdog_start(int64_t deadline_ns, void (*over)(void *context), void *context);

/* Ends the thread before its deadline, or waits for a call that has begun; then joins the thread and frees the
 * watchdog. NULL is allowed. */
void watchdog_stop(watchdog *w);
