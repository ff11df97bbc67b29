/*
 * session - what the sections of timing_selfcheck share: the settings, the program with its ranks and clock, and
 * writing their points.
 *
 * All ranks call the same functions in the same order. Only rank 0 writes; it tells the others whether it could, so
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

/* The reason in sections that compare ranks, where there is one rank only. */
#define SESSION_ONE_RANK "one rank: nothing to compare"

struct settings {
    struct option_list only;
    double hold_seconds;
    int64_t starts;
    double noise_seconds;
    int64_t detour_ns;
    struct option_list targets;
    int64_t repetitions;     /* 0: repeat until the interval is narrow */
    double interval;         /* 0: make `repetitions` */
    int64_t max_repetitions; /* the most repetitions, where there is an interval */
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
    bool unwritable;                  /* the record could not be written */
    char reason[PROGRAM_MOST_REASON]; /* rank 0: why the run ends early */
};

/* A point of a section that is not measured by the sampler. parameters and own are open JSON objects, to which the
 * section adds members; record has the other fields. */
struct session_point {
    json_line *parameters;
    json_line *own;
    struct record_point record;
};

/* Opens a point; its first parameter is the name of the section. */
struct session_point session_open_point(const char *section);

/* Collective: rank 0 writes the point to the record; all ranks free the point. Returns false where the record cannot be
 * written; the session's reason says why. */
bool session_write_point(struct session *session, struct session_point *point);

/* Returns whether this rank prints the table: rank 0 without --quiet. */
bool session_prints(const struct session *session);

/* Collective: replaces each of the numbers by its largest value over ranks, on rank 0; on other ranks they stay as they
 * are. */
void session_reduce_largest(const struct session *session, int64_t *numbers, size_t count);

#endif
