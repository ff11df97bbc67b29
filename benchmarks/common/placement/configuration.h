/*
 * configuration - the table of configurations: whose thread makes communication progress, and on which core (Denis
 * 2022, sections 6 and 7). A new configuration is a new entry.
 *
 * Each computing thread does the same work in every configuration. A configuration that gives up a core computes with
 * one thread less and so does less work in all (section 7.3).
 */
#pragma once

#include "options.h"

#include <stdbool.h>

/* Whose progress thread there is: none, the MPI library's, the application's own (helper.h). */
enum progress_source { PROGRESS_NONE, PROGRESS_LIBRARY, PROGRESS_APPLICATION };

struct configuration {
    const char *name;
    const char *help;
    enum progress_source source;
    bool gives_up_core; /* no thread computes on the dedicated core: n - 1 threads compute on a share of n cores */
    bool bound;         /* the progress thread must be bound to the dedicated core */
    int thread_level;   /* the thread level that MPI is asked for: an MPI_THREAD_ constant */
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

/* Returns the table as the choices of an option. */
const struct option_choice *configuration_choices(void);

/* Returns the record schema's word: "none", "library" or "application". */
const char *configuration_source_name(enum progress_source source);
