#include "stamps.h"

#include "fail.h"

#include <stdlib.h>

void stamps_add(struct stamps *stamps, int64_t local) {
    if (stamps->count == stamps->capacity) {
        stamps->capacity = stamps->capacity > 0 ? 2 * stamps->capacity : 1024;
        stamps->values = fail_realloc(stamps->values, stamps->capacity, sizeof *stamps->values);
    }
    stamps->values[stamps->count++] = local;
}

void stamps_free(struct stamps *stamps) {
    free(stamps->values);
    *stamps = (struct stamps){0};
}

void stamps_close(struct stamps *stamps, const clock_model *clock) {
    for (; stamps->closed < stamps->count; stamps->closed++) {
        stamps->values[stamps->closed] = clock_interpolate(clock, stamps->values[stamps->closed]);
    }
}
