#include "changes.h"

#include "fail.h"

#include <stdlib.h>

struct size {
    int64_t bytes;
    bool known;
    int outcome;
};

struct changes {
    struct size *sizes; /* ascending */
    size_t count;
    size_t asked;
    int64_t step;
    bool bisects;
};

static int by_bytes(const void *left, const void *right) {
    const struct size *a = left;
    const struct size *b = right;
    return (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

changes *changes_create(const int64_t *asked, size_t count, int64_t step, bool bisects) {
    changes *c = fail_alloc(1, sizeof *c);
    c->sizes = fail_alloc(count + CHANGES_MOST_BETWEEN, sizeof *c->sizes);
    c->step = step;
    c->bisects = bisects;
    for (size_t i = 0; i < count; i++) {
        c->sizes[i] = (struct size){.bytes = asked[i]};
    }
    qsort(c->sizes, count, sizeof *c->sizes, by_bytes);
    for (size_t i = 0; i < count; i++) {
        if (c->count == 0 || c->sizes[i].bytes != c->sizes[c->count - 1].bytes) {
            c->sizes[c->count++] = c->sizes[i];
        }
    }
    c->asked = c->count;
    return c;
}

void changes_destroy(changes *c) {
    if (c != NULL) {
        free(c->sizes);
        free(c);
    }
}

static int64_t middle(const changes *c, size_t lower) {
    const int64_t from = c->sizes[lower].bytes;
    return (from + (c->sizes[lower + 1].bytes - from) / 2) / c->step * c->step;
}

/* Whether a change lies between a size and the next one, and there is a size between them. */
static bool divides(const changes *c, size_t lower) {
    const struct size *from = &c->sizes[lower];
    const struct size *to = from + 1;
    const bool known = from->known && to->known && from->outcome != CHANGES_UNKNOWN && to->outcome != CHANGES_UNKNOWN;
    return known && from->outcome != to->outcome && middle(c, lower) > from->bytes;
}

/* A size of 0 bytes counts as one step: a ratio to 0 says nothing. */
static double ratio(const changes *c, size_t lower) {
    const int64_t from = c->sizes[lower].bytes;
    return (double)c->sizes[lower + 1].bytes / (double)(from > 0 ? from : c->step);
}

bool changes_has_asked(const changes *c) {
    for (size_t i = 0; i < c->count; i++) {
        if (!c->sizes[i].known) {
            return false;
        }
    }
    return true;
}

bool changes_next(const changes *c, int64_t *bytes) {
    double widest = 0;
    for (size_t i = 0; i < c->count; i++) {
        if (!c->sizes[i].known) {
            *bytes = c->sizes[i].bytes;
            return true;
        }
    }
    if (!c->bisects || c->count - c->asked >= CHANGES_MOST_BETWEEN) {
        return false;
    }
    for (size_t i = 0; i + 1 < c->count; i++) {
        if (divides(c, i) && ratio(c, i) > widest) {
            widest = ratio(c, i);
            *bytes = middle(c, i);
        }
    }
    return widest > 0;
}

void changes_note(changes *c, int64_t bytes, int outcome) {
    size_t place = 0;
    while (place < c->count && c->sizes[place].bytes < bytes) {
        place++;
    }
    if (place == c->count || c->sizes[place].bytes != bytes) {
        if (c->count - c->asked >= CHANGES_MOST_BETWEEN) {
            return; /* changes_next never leads here */
        }
        for (size_t i = c->count; i > place; i--) {
            c->sizes[i] = c->sizes[i - 1];
        }
        c->count++;
    }
    c->sizes[place] = (struct size){.bytes = bytes, .known = true, .outcome = outcome};
}

size_t changes_left(const changes *c) {
    size_t left = 0;
    for (size_t i = 0; i < c->count; i++) {
        left += c->sizes[i].known ? 0 : 1;
    }
    for (size_t i = 0; i + 1 < c->count && c->bisects; i++) {
        for (int64_t gap = divides(c, i) ? c->sizes[i + 1].bytes - c->sizes[i].bytes : 0; gap > c->step; gap /= 2) {
            left++;
        }
    }
    return left;
}
