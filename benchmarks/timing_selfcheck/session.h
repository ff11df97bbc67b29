/*
 * session - what the sections of timing_selfcheck share: the settings, the program with its ranks and clock, and
 * writing their points.
 *
 * All ranks call the same functions in the same order. Only rank 0 writes; it tells the others whether it could, so
 * that all go on or all end.
 */
#pragma once

#include "options.h"
#include "plan.h"
#include "program.h"
#include "size_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The reason in sections that compare ranks, where there is one rank only. */
#define SESSION_ONE_RANK "one rank: nothing to compare"

/* Of the contents of messages. */
#define SESSION_SEED 1

/* What the field `reason` of a point is. */
#define SESSION_REASON                                                                                                 \
    "why something here was not measured, or less than was asked for, or otherwise; empty where all was as it should " \
    "be, '" SESSION_ONE_RANK "' where ranks would have been compared and there is one"

/* The field `section` of a row, which is the name of the section; of: the type of the row. */
#define SESSION_SECTION(of, name_of)                                                                                   \
    FIELD_ONE_OF(of, section, ((const char *const[]){name_of, NULL}), "what was looked at")

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

/* What the plan in the header has of them. */
extern const struct field session_plan_fields[];

struct session {
    const struct settings *settings;
    struct program *program;
    struct plan plan; /* of the section work */
    struct size_table sizes;
    double measured_seconds;          /* in repetitions of the section work; NAN: it was left out */
    bool unwritable;                  /* the record could not be written */
    char reason[PROGRAM_MOST_REASON]; /* rank 0: why the run ends early */
};

/* Collective: rank 0 writes a point of a section that is not measured by the sampler. kind: whose tables say what
 * `row`, rank 0's, is; record: what else the point has. Returns false where the record cannot be written; the session's
 * reason says why. */
bool session_write_point(struct session *session, const struct sampler_kind *kind, const void *row,
                         struct record_point record);

/* Returns whether this rank prints the table: rank 0 without --quiet. */
bool session_prints(const struct session *session);

/* Collective: replaces each of the numbers by its largest value over ranks, on rank 0; on other ranks they stay as they
 * are. */
void session_reduce_largest(const struct session *session, int64_t *numbers, size_t count);
