/*
 * header - the first and the last line of the record: where, with what and by whom it was made, and whether it is whole.
 */
#ifndef CAMPAIGN_HEADER_H
#define CAMPAIGN_HEADER_H

#include "session.h"

/* Rank 0 reads the metadata: a compact JSON object. Free it. NULL and one line in error. */
char *header_read_metadata(const char *path, char *error, size_t error_size);

/* Collective. false: the record cannot be written. */
bool header_write(struct session *session);
bool header_write_footer(struct session *session, bool complete);

#endif
