/*
 * stamps - timestamps of one rank: local when they are taken, global after the next synchronisation of the clock.
 *
 * Each timestamp is interpolated between the synchronisations before and after it (Denis 2022, section 4.2).
 */
#pragma once

#include "clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A zeroed struct stamps is empty. Times in ns. */
struct stamps {
    int64_t *values;
    size_t count;
    size_t capacity;
    size_t closed; /* the first so many are global */
};

void stamps_add(struct stamps *stamps, int64_t local);
void stamps_free(struct stamps *stamps);

/* Call it after a synchronisation: the timestamps since the one before become global. */
void stamps_close(struct stamps *stamps, const clock_model *clock);
