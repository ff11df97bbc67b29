/*
 * session - what the sections of timing_selfcheck have in common: the ranks, their clock, the record.
 *
 * All ranks call the same functions in the same order. Rank 0 alone writes; what it finds out it tells the others, so that all
 * go on or all end.
 */
#ifndef CAMPAIGN_SESSION_H
#define CAMPAIGN_SESSION_H

#include "clock.h"
#include "compute.h"
#include "json.h"
#include "options.h"
#include "placement.h"
#include "record.h"
#include "sizes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SESSION_PROGRAM "timing_selfcheck"

/* Why sections that compare ranks have nothing to say of one. */
#define SESSION_ONE_RANK "one rank: nothing to compare"

struct settings {
    bool help;
    bool version;
    bool quiet;
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
    int64_t threads;
    const char *sizes;
    const char *save_sizes;
    const char *record;
    const char *metadata;
    const char *toolchain;
    const char *provider;
    const char *network;
};

struct session {
    const struct settings *settings;
    int argc;
    char **argv;
    int rank;
    int ranks;
    int threads;
    int thread_level;
    char started_utc[32];
    int64_t began; /* local: when the process started */
    placement *place;
    compute_team *team;
    clock_model *clock;
    struct size_table sizes;
    uint64_t memory_bytes; /* that this rank may take; 0: not known */
    char *metadata;        /* rank 0 */
    record_file *record;   /* rank 0 */
    bool unwritable;       /* the record took no more */
    char reason[768];      /* rank 0: why the run ends early */
};

/* Collective: rank 0's verdict for all. */
bool session_agree(bool good);

/* Collective: true where no rank has an error text; otherwise rank 0 prints that of the lowest rank that has one, in one line. */
bool session_all_good(const char *error);

/* Collective: rank 0 writes the line to the record. false: it cannot be written, and reason says why. */
bool session_write(struct session *session, const json_line *line);

/* Rank 0, and wanted: print the table for people. */
bool session_prints(const struct session *session);

/* Collective: of count numbers, the largest over ranks. In place, on rank 0; elsewhere the numbers are left as they are. */
void session_reduce_largest(const struct session *session, int64_t *numbers, size_t count);

#endif
