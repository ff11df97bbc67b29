/*
 * configuration - whose thread makes communication progress, and on which core (Denis 2022, sections 6 and 7): one
 * table entry each.
 *
 * n is a rank's share of cores. The work of each computing thread is that of basic, whatever the configuration: one
 * that gives up a core does less in all (section 7.3).
 */
#ifndef CAMPAIGN_CONFIGURATION_H
#define CAMPAIGN_CONFIGURATION_H

#include <stdbool.h>

/* Whose progress thread there is. */
enum progress_source { PROGRESS_NONE, PROGRESS_LIBRARY, PROGRESS_APPLICATION };

struct configuration {
    const char *name;
    enum progress_source source;
    bool gives_up_core; /* n - 1 threads compute: nothing computes on the dedicated core */
    bool bound;         /* the progress thread belongs on that core, and nowhere else */
    int thread_level;   /* that MPI is asked for: an MPI_THREAD_ constant */
};

enum {
    CONFIGURATION_BASIC,
    CONFIGURATION_ASYNC,
    CONFIGURATION_DEDICATED,
    CONFIGURATION_APPHELPER,
    CONFIGURATION_DEDICATED_UNBOUND,
    CONFIGURATION_BASIC_REDUCED,
    CONFIGURATION_COUNT
};
extern const struct configuration configuration_table[CONFIGURATION_COUNT];

/* The table's names in its order, NULL-terminated: for the options. */
const char *const *configuration_names(void);

/* "none", "library" or "application", as the record has it. */
const char *configuration_source_name(enum progress_source source);

#endif
