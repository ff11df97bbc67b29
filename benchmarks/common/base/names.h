/*
 * names - comma-separated lists of names, such as those of variables that the campaign hands over.
 */
#ifndef CAMPAIGN_NAMES_H
#define CAMPAIGN_NAMES_H

#include <stdbool.h>

/*
 * Whether a list lets a name in. A word of it is a name, or a pattern with '*' for any letters; one that begins with
 * '^' leaves out what it matches. The last word that matches decides; otherwise: the answer where none does. A list
 * that is NULL has no words.
 */
bool names_let_in(const char *list, const char *name, bool otherwise);

/* Calls visit for each name of a list, in order, until it returns true; returns whether it did. NULL has no names. */
bool names_find(const char *list, bool (*visit)(const char *name, void *context), void *context);

#endif
