/*
 * settings - what hybrid_kernels can be asked for: the table of its options, and what the table cannot express.
 */
#pragma once

#include "kernels.h"

struct settings {
    struct option_list kernels;
    struct option_list sizes[KERNELS];
    int grid;
    int method;
    bool memory_only;
    const char *ratings;
    double noise;
    int64_t iterations;
    int64_t virtual_node_ranks;
    bool round_robin;
    int64_t seed;
};

/* What the command line asked for; program_main frees its lists. */
extern struct settings settings;

/* For struct program_kind. */
void settings_describe(struct option_entry *entries);
void settings_check(const struct program *program, char *error, size_t error_size);

/* Lists that were not given get their usual values. ratings: those of a file; NULL: there is none. */
void settings_fill(struct settings *s, const struct crew *crew, const struct ratings *ratings);

/* Returns the sizes of the chosen kernels, each once, ascending. Free with options_free_list. */
struct option_list settings_sizes(const struct settings *s);
