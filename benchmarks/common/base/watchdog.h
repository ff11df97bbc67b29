/*
 * watchdog - a thread that sleeps until a moment and then calls a function, unless it is told before that all is over.
 * It uses no CPU while it sleeps, and works while the main thread hangs. No MPI.
 */
#ifndef CAMPAIGN_WATCHDOG_H
#define CAMPAIGN_WATCHDOG_H

#include <stdint.h>

typedef struct watchdog watchdog;

/* over(context) is called by that thread at deadline_ns (timer_now_ns), at most once; it may end the process. Dies
 * without threads. */
watchdog *watchdog_start(int64_t deadline_ns, void (*over)(void *context), void *context);

/* All is over: the thread ends, if it does not call already, and is joined. NULL is allowed. */
void watchdog_stop(watchdog *w);

#endif
