/*
 * sizing - which message and which matrices take the target times: found, or from a sizes file (Denis 2022, section 5.1).
 */
#ifndef CAMPAIGN_SIZING_H
#define CAMPAIGN_SIZING_H

#include "sample.h"
#include "session.h"

/* The name of the communication in a sizes file. */
#define SIZING_COLLECTIVE "ibcast"

/* The targets without sizes: for sizes_read, or to be filled. One rank alone has no communication. */
struct size_table sizing_list(const struct settings *settings, int ranks, int threads);
void sizing_free(struct size_table *table);

/* Collective: rank 0's sizes for all. */
void sizing_broadcast(struct size_table *table);

/* What a sizes file may say but no message or matrix can be: one line in error. memory_bytes: what a rank may take, 0: not known. */
void sizing_check(const struct settings *settings, const struct size_table *table, uint64_t memory_bytes, char *error, size_t error_size);

/* By kind of work, then by target; those of a kind that is not measured are zero. */
struct sizing {
    struct calibrate_result *of[2];
};

/* Collective. Searches, or takes the sizes of the file; saves what was found where that was asked. false: wrong data arrived, or the file
 * cannot be written; the session's reason says which. */
bool sizing_find(struct session *session, sampler *s, struct sizing *sizing);
void sizing_destroy(struct sizing *sizing);

#endif
