#include "knee.h"

#include <stdbool.h>

static bool has_untold(const struct knee *k) {
    return k->untold_low <= k->untold_high;
}

static void forget_untold(struct knee *k) {
    k->untold_low = k->too_much;
    k->untold_high = k->fits;
}

struct knee knee_begin(int64_t most) {
    struct knee k = {.fits = 0, .too_much = most};
    forget_untold(&k);
    return k;
}

static int64_t middle(int64_t low, int64_t high) {
    return low + (high - low) / 2;
}

int64_t knee_next(const struct knee *k) {
    if (!has_untold(k)) {
        return middle(k->fits, k->too_much);
    }
    const bool is_below = k->untold_low - k->fits > k->too_much - k->untold_high;
    return is_below ? middle(k->fits, k->untold_low) : middle(k->untold_high, k->too_much);
}

void knee_note(struct knee *k, int64_t tried, enum knee_answer answer) {
    switch (answer) {
    case KNEE_FITS:
        k->fits = tried;
        break;
    case KNEE_TOO_MUCH:
        k->too_much = tried;
        break;
    case KNEE_UNTOLD:
        k->untold_low = has_untold(k) && k->untold_low < tried ? k->untold_low : tried;
        k->untold_high = has_untold(k) && k->untold_high > tried ? k->untold_high : tried;
        return;
    }
    /* More work than what could not be told fits, or less is too much: then that is answered, too. */
    if (k->untold_low <= k->fits || k->untold_high >= k->too_much) {
        forget_untold(k);
    }
}
