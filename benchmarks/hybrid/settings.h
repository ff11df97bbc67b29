/*
 * settings - what hybrid can be asked for: the table of its options, and what the table cannot express.
 */
#pragma once

#include "program.h"

struct settings {
    struct option_list operations;
    struct option_list variants;
    struct option_list message_bytes;
    int grid;
    int cache;
    int method;
    int intranode;
    int64_t virtual_node_ranks;
    bool round_robin;
    bool numa;
    int64_t seed;
};

/* What the command line asked for; program_main frees its lists. */
extern struct settings settings;

/* For struct program_kind. */
void settings_describe(struct option_entry *entries);
void settings_check(const struct program *program, char *error, size_t error_size);

/* Lists that were not given get their usual values. Returns whether the sizes of messages are the grid's. */
bool settings_fill(struct settings *s);
