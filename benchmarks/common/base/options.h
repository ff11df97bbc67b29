/*
 * options - the command line, driven by a table: one entry per option, from which parsing, checking and --help all
 * follow.
 *
 * Long options only, "--name value" and "--name=value". Every fault is one line that names the option, what is wrong
 * with its value and what is legal. Parsing prints nothing and ends nothing, so that all ranks can do it alike and one
 * of them speaks.
 */
#ifndef CAMPAIGN_OPTIONS_H
#define CAMPAIGN_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_kind {
    OPTION_FLAG,     /* no value; target: bool */
    OPTION_TEXT,     /* any text that is not empty; target: const char * (points into argv) */
    OPTION_INTEGER,  /* target: int64_t, minimum ... maximum */
    OPTION_INTEGERS, /* a comma-separated list of them, in any order; target: option_list */
    OPTION_REAL,     /* target: double, minimum ... maximum */
    OPTION_CHOICE,   /* one of choices; target: int, its index */
    OPTION_CHOICES,  /* a comma-separated list of choices, may be repeated, in any order, each once; target: option_list
                      */
    OPTION_DURATION, /* a time with its unit, or 0; target: int64_t, nanoseconds */
    OPTION_DURATIONS /* a comma-separated list of times with units, ascending; target: option_list of nanoseconds */
};

/* What a list option collects. Zero-initialise; options_free_list. */
struct option_list {
    int64_t *values;
    size_t count;
};

struct option_entry {
    const char *name; /* without the dashes */
    enum option_kind kind;
    void *target;
    double minimum; /* of numbers */
    double maximum;
    const char *const *choices; /* NULL-terminated */
    const char *value_name;     /* in --help: FILE, N, LIST */
    const char *help;
};

/* Parses argv[1..]. entries ends with an entry without a name. false: one line without a newline in error. */
bool options_parse(const struct option_entry *entries, int argc, char *const *argv, char *error, size_t error_size);

/* "16ms", "500us", "1.5s", "250ns" to nanoseconds: more than 0, at most an hour. */
bool options_parse_duration(const char *text, size_t length, int64_t *nanoseconds);

/* The options, one paragraph each, as they are printed by --help. Free with free(). */
char *options_describe(const struct option_entry *entries);

void options_free_list(struct option_list *list);

#endif
