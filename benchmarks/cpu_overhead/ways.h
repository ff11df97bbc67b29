/*
 * ways - the table of the ways in which a rank can spend the time of a collective. A new one is a new entry.
 *
 * Whether a way leaves the CPU to others is never assumed: the CPU time of each batch says so.
 */
#pragma once

#include "exchange.h"
#include "options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WAY_BLOCKING,
    WAY_NONBLOCKING,
    WAY_TESTING,
    WAY_SLEEPING,
    WAY_SOAKING,
    WAY_WORKING,
    WAY_ONCE,
    WAY_LATE,
    WAY_LATE_WORKING,
    WAY_EVEN,
    WAY_EVEN_WORKING,
    WAY_SKEWED,
    WAY_SKEWED_WORKING,
    WAY_COUNT
};

/* Those from here on belong to the largest grid. */
enum { WAY_FIRST_OF_FULL = WAY_EVEN };

struct way {
    const char *name;
    const char *help;
    bool nonblocking; /* it makes the nonblocking call */
    bool works;       /* it does a fixed amount of work of its own while the call is open */
    bool soaks;       /* a thread of the lowest priority computes meanwhile on the same core (soaker.h) */
    bool late;        /* the last rank works before it calls: it spends the time by spend_late */
    bool once;        /* a batch is one call, and so is its reference */
    bool even;        /* all ranks work before or beside each call for as long */
    bool skewed;      /* likewise, but each rank for another time before each call (skew.h) */
    size_t reference; /* the way of the reference, by its place in the table */
    /* Makes one call and completes it. units: its work (work.h). */
    void (*spend)(exchange *x, int64_t units);
    void (*spend_late)(exchange *x, int64_t units);
};

extern const struct way way_table[WAY_COUNT];

/* Whether a way's work is of a time that is asked for: that of lateness. */
bool way_is_timed(const struct way *way);

/* Returns the table as the choices of an option. */
const struct option_choice *way_choices(void);
