/* The search for the work that fits beside a collective: it comes as near to the knee as the noise allows. */
#include "check.h"
#include "knee.h"

#include <stdbool.h>
#include <stdint.h>

enum { MOST = 1250000, STEPS = 12 };

/* What is measured of so much work: within `noise` of the knee it cannot be told. */
static enum knee_answer measured(int64_t work, int64_t knee, int64_t noise) {
    return work < knee - noise ? KNEE_FITS : work > knee + noise ? KNEE_TOO_MUCH : KNEE_UNTOLD;
}

static struct knee searched(int64_t knee, int64_t noise, int steps) {
    struct knee k = knee_begin(MOST);
    for (int i = 0; i < steps; i++) {
        const int64_t next = knee_next(&k);
        CHECK(next > k.fits && next < k.too_much);
        knee_note(&k, next, measured(next, knee, noise));
    }
    return k;
}

/* Without noise both ends come nearer to each other by half with each step. */
static void check_halving(void) {
    for (int64_t knee = 1000; knee < MOST; knee += 7919) {
        const struct knee k = searched(knee, 0, STEPS);
        CHECK(k.fits < knee && k.too_much >= knee);
        CHECK(k.too_much - k.fits <= (MOST >> STEPS) + 1);
    }
}

/* With noise the steps that cannot be told are in the middle, and both ends come near to them. */
static void check_noise(void) {
    const int64_t noise = 60000;
    for (int64_t knee = 2 * noise; knee < MOST - noise; knee += 7919) {
        const struct knee k = searched(knee, noise, STEPS);
        CHECK(k.fits < knee - noise && k.too_much > knee + noise);
        CHECK(k.untold_low > k.untold_high || (k.fits < k.untold_low && k.untold_high < k.too_much));
        CHECK(knee - noise - k.fits < MOST / 20 && k.too_much - knee - noise < MOST / 20);
    }
}

/* Where everything fits, or nothing does, the ends are those that there may be. */
static void check_ends(void) {
    CHECK(searched(2 * MOST, 0, STEPS).too_much == MOST);
    CHECK(searched(-1, 0, STEPS).fits == 0);
    struct knee k = knee_begin(1000);
    knee_note(&k, 500, KNEE_UNTOLD);
    CHECK(k.fits == 0 && k.too_much == 1000 && knee_next(&k) == 750);
    /* More work than what could not be told fits: then that is told. */
    knee_note(&k, 750, KNEE_FITS);
    CHECK(k.fits == 750 && knee_next(&k) == 875);
    knee_note(&k, 875, KNEE_UNTOLD);
    knee_note(&k, 800, KNEE_TOO_MUCH);
    CHECK(k.too_much == 800 && knee_next(&k) == 775);
}

int main(void) {
    check_halving();
    check_noise();
    check_ends();
    return 0;
}
