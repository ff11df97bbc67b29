/*
 * options - parses the command line by a table with one entry per option. Parsing, the checks and --help all follow
 * from the table.
 *
 * There are long options only, as "--name value" and "--name=value". Every fault is one line that names the option,
 * what is wrong with its value and which values are legal. Parsing prints nothing and never ends the program, so that
 * all ranks can parse alike and one of them reports the fault.
 */
#pragma once

#include "json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_kind {
    OPTION_FLAG,     /* no value; target: bool */
    OPTION_TEXT,     /* any text that is not empty; target: const char * (points into argv) */
    OPTION_INTEGER,  /* target: int64_t, minimum ... maximum */
    OPTION_INTEGERS, /* a comma-separated list of integers, in any order; target: option_list */
    OPTION_REAL,     /* target: double, minimum ... maximum */
    OPTION_REALS,    /* a comma-separated list of numbers, in any order; target: option_list of millionths */
    OPTION_CHOICE,   /* one of choices; target: int, its index */
    OPTION_CHOICES,  /* a comma-separated list of choices, may be repeated, in any order, each once; target: option_list
                      */
    OPTION_DURATION, /* a time with its unit, or 0; target: int64_t, nanoseconds */
    OPTION_DURATIONS /* a comma-separated list of times with units, ascending; target: option_list of nanoseconds */
};

/* The values of a list option. Zero-initialise; free with options_free_list. */
struct option_list {
    int64_t *values;
    size_t count;
};

/* A legal value and what it means (NULL: its name says it). A table of them ends with a name of NULL. */
struct option_choice {
    const char *name;
    const char *help;
};

/* Defines a function that returns the entries of a table, which have a name and this sentence, as choices. */
#define OPTION_CHOICES_FROM(function, table, entries, sentence)                                                        \
    const struct option_choice *function(void) {                                                                       \
        static struct option_choice choices[(entries) + 1];                                                            \
        for (size_t i = 0; i < (size_t)(entries); i++) {                                                               \
            choices[i] = (struct option_choice){(table)[i].name, (table)[i].sentence};                                 \
        }                                                                                                              \
        return choices;                                                                                                \
    }

/* The values that an option has on a grid. */
struct option_values {
    int64_t items[24];
    size_t count;
};

/* Whether the target of this kind is an option_list. */
static inline bool option_is_list(enum option_kind kind) {
    return kind == OPTION_INTEGERS || kind == OPTION_REALS || kind == OPTION_CHOICES || kind == OPTION_DURATIONS;
}

struct option_entry {
    const char *name; /* without the dashes */
    enum option_kind kind;
    void *target;
    double minimum; /* of numbers */
    double maximum;
    int64_t multiple_of; /* of integers; 0: any */
    bool ascending;      /* of a list of integers */
    size_t most;         /* of a list of integers: values; 0: any number */
    const struct option_choice *choices;
    const char *value_name; /* in --help: FILE, N; NULL: what the kind says */
    const char *help;
    /* Of an option that is an axis, whose values the record has: */
    const char *parameter;             /* their name there; NULL: it is no axis */
    bool of_plan;                      /* only the plan has its values: no point takes one of them from it */
    const struct option_values *grids; /* its values on each grid; NULL: a grid does not say them */
};

/* ---- an entry of each kind ---- */

static inline struct option_entry option_flag(const char *name, bool *target, const char *help) {
    return (struct option_entry){.name = name, .kind = OPTION_FLAG, .target = target, .help = help};
}

static inline struct option_entry option_text(const char *name, const char **target, const char *value_name,
                                              const char *help) {
    return (struct option_entry){
        .name = name, .kind = OPTION_TEXT, .target = target, .value_name = value_name, .help = help};
}

static inline struct option_entry option_integer(const char *name, int64_t *target, double minimum, double maximum,
                                                 const char *value_name, const char *help) {
    return (struct option_entry){.name = name,
                                 .kind = OPTION_INTEGER,
                                 .target = target,
                                 .minimum = minimum,
                                 .maximum = maximum,
                                 .value_name = value_name,
                                 .help = help};
}

static inline struct option_entry option_integers(const char *name, struct option_list *target, double minimum,
                                                  double maximum, const char *help) {
    return (struct option_entry){
        .name = name, .kind = OPTION_INTEGERS, .target = target, .minimum = minimum, .maximum = maximum, .help = help};
}

static inline struct option_entry option_real(const char *name, double *target, double minimum, double maximum,
                                              const char *value_name, const char *help) {
    return (struct option_entry){.name = name,
                                 .kind = OPTION_REAL,
                                 .target = target,
                                 .minimum = minimum,
                                 .maximum = maximum,
                                 .value_name = value_name,
                                 .help = help};
}

static inline struct option_entry option_one_of(const char *name, int *target, const struct option_choice *choices,
                                                const char *help) {
    return (struct option_entry){
        .name = name, .kind = OPTION_CHOICE, .target = target, .choices = choices, .help = help};
}

/* A choice that is the same in all points, and a parameter of the plan under the option's name. */
static inline struct option_entry option_constant(const char *name, int *target, const struct option_choice *choices,
                                                  const char *help) {
    struct option_entry entry = option_one_of(name, target, choices, help);
    entry.parameter = name;
    entry.of_plan = true;
    return entry;
}

static inline struct option_entry option_time(const char *name, int64_t *target, const char *value_name,
                                              const char *help) {
    return (struct option_entry){
        .name = name, .kind = OPTION_DURATION, .target = target, .value_name = value_name, .help = help};
}

/* --seed: a number that JSON and Python keep exactly. */
static inline struct option_entry option_seed(int64_t *target, const char *help) {
    return option_integer("seed", target, 0, 9007199254740992.0, "N", help);
}

/* Parses argv[1..] into the targets of the entries. The last entry has no name (NULL). Returns false and one line,
 * without a newline, in error where an argument is wrong. */
bool options_parse(const struct option_entry *entries, int argc, char *const *argv, char *error, size_t error_size);

/* Converts a time with its unit ("16ms", "500us", "1.5s", "250ns") to nanoseconds. Returns false where the text is no
 * such time, or not above 0 and at most an hour. */
bool options_parse_duration(const char *text, size_t length, int64_t *nanoseconds);

/* Returns the text about the options that --help prints, one paragraph per option. Free with free(). */
char *options_help(const struct option_entry *entries);

/* Writes the entries up to `end` (NULL: all) as an array of objects, "options". grids: the names of the grids. */
void options_describe(json_line *line, const struct option_entry *entries, const struct option_entry *end,
                      const struct option_choice *grids);

/* Gives a list that was not given these values. Returns whether it was not given. */
bool options_fill_list(struct option_list *list, const struct option_values *values);

/* Gives a list that was not given the numbers from `first` on, so many of them. Returns whether it was not given. */
bool options_fill_range(struct option_list *list, int64_t first, size_t count);

void options_free_list(struct option_list *list);

/* Frees the lists of all entries. */
void options_free(const struct option_entry *entries);
