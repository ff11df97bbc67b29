/*
 * stamps - moments of one rank, local when they are taken, global from the synchronisation on that comes after them.
 *
 * Each is interpolated between the synchronisations before and after it (Denis 2022, section 4.2).
 */
#ifndef CAMPAIGN_STAMPS_H
#define CAMPAIGN_STAMPS_H

#include "clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A zeroed struct stamps has none. */
struct stamps {
    int64_t *values;
    size_t count;
    size_t capacity;
    size_t closed; /* of them, those that are global */
};

void stamps_add(struct stamps *stamps, int64_t local);
void stamps_free(struct stamps *stamps);

/* After a synchronisation: those since the one before become global. */
void stamps_close(struct stamps *stamps, const clock_model *clock);

#endif
