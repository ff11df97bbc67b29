/*
 * session - what the sections of timing_selfcheck have in common: the ranks, their clock, the record.
 *
 * All ranks call the same functions in the same order. Rank 0 alone writes; what it finds out it tells the others, so
 * that all go on or all end.
 */
#ifndef CAMPAIGN_SESSION_H
#define CAMPAIGN_SESSION_H

#include "json.h"
#include "options.h"
#include "plan.h"
#include "program.h"
#include "size_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why sections that compare ranks have nothing to say of one. */
#define SESSION_ONE_RANK "one rank: nothing to compare"

struct settings {
    struct option_list only;
    double hold_seconds;
    int64_t starts;
    double noise_seconds;
    int64_t detour_ns;
    struct option_list targets;
    int64_t repetitions;     /* 0: until the interval is narrow */
    double interval;         /* 0: so many repetitions */
    int64_t max_repetitions; /* with an interval */
    int64_t max_message_bytes;
    const char *sizes;
    const char *save_sizes;
};

struct session {
    const struct settings *settings;
    struct program *program;
    struct plan plan; /* of the section work */
    struct size_table sizes;
    double measured_seconds;          /* in repetitions of the section work; NAN: it was left out */
    bool unwritable;                  /* the record took no more */
    char reason[PROGRAM_MOST_REASON]; /* rank 0: why the run ends early */
};

/* A point of a section that is not the sampler's: its parameters and its own object, open for what is in them, and what
 * else there is. */
struct session_point {
    json_line *parameters;
    json_line *own;
    struct record_point record;
};

/* The section is its first parameter. */
struct session_point session_open_point(const char *section);

/* Collective: rank 0 writes the point to the record; on all ranks it is gone then. false: it cannot be written, and the
 * session's reason says why. */
bool session_write_point(struct session *session, struct session_point *point);

/* Rank 0, and wanted: print the table for people. */
bool session_prints(const struct session *session);

/* Collective: of count numbers, the largest over ranks. In place, on rank 0; elsewhere the numbers are left as they
 * are. */
void session_reduce_largest(const struct session *session, int64_t *numbers, size_t count);

#endif
