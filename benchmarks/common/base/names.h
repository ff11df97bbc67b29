/*
 * names - comma-separated lists of names and patterns, such as the lists of variables that the campaign hands over to a
 * program.
 */
#pragma once

#include <stdbool.h>

/*
 * Returns whether a list lets a name in. A word of the list is a name, or a pattern in which '*' stands for any
 * characters; a word that begins with '^' keeps out the names that it matches. The last word that matches decides.
 * Where no word matches, the answer is `otherwise`. A list that is NULL has no words.
 */
bool names_let_in(const char *list, const char *name, bool otherwise);

/* Calls visit for each name of a list, in order, until visit returns true. Returns whether it did. A list that is NULL
 * has no names. */
bool names_find(const char *list, bool (*visit)(const char *name, void *context), void *context);
