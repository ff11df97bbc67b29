#include "check.h"
#include "gibbs.h"
#include "philox.h"

#include <math.h>

static void check_block(uint32_t counter, uint32_t key, const uint32_t expected[4]) {
    const uint32_t counters[4] = {counter, counter, counter, counter};
    const uint32_t keys[2] = {key, key};
    uint32_t words[4];
    philox_block(counters, keys, words);
    CHECK(memcmp(words, expected, sizeof words) == 0);
}

/* The answers that Salmon et al. publish with their library (kat_vectors). */
static void check_known_answers(void) {
    const uint32_t of_zeros[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    const uint32_t of_ones[4] = {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd};
    const uint32_t of_pi[4] = {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
    const uint32_t counter[4] = {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344};
    const uint32_t key[2] = {0xa4093822, 0x299f31d0};
    uint32_t words[4];
    check_block(0, 0, of_zeros);
    check_block(0xffffffff, 0xffffffff, of_ones);
    philox_block(counter, key, words);
    CHECK(memcmp(words, of_pi, sizeof words) == 0);
}

enum { DRAWS = 100000 };

/* Within six standard errors. */
static void check_moments(double (*draw)(struct philox_stream *), double mean, double variance, double fourth) {
    struct philox_stream stream = philox_stream_of(7, 1, 2, 3);
    double sum = 0;
    double squares = 0;
    for (int i = 0; i < DRAWS; i++) {
        const double x = draw(&stream) - mean;
        sum += x;
        squares += x * x;
    }
    CHECK(fabs(sum / DRAWS) < 6 * sqrt(variance / DRAWS));
    CHECK(fabs(squares / DRAWS - variance) < 6 * sqrt((fourth - variance * variance) / DRAWS));
}

static double gamma_of_3(struct philox_stream *s) {
    return philox_gamma(s, 3);
}

/* Streams depend on all that names them, and on nothing else. */
static void check_streams(void) {
    struct philox_stream one = philox_stream_of(1, 2, 3, 4);
    struct philox_stream again = philox_stream_of(1, 2, 3, 4);
    const double first = philox_uniform(&one);
    CHECK(first > 0 && first < 1 && first == philox_uniform(&again));
    struct philox_stream others[] = {philox_stream_of(2, 2, 3, 4), philox_stream_of(1, 3, 3, 4),
                                     philox_stream_of(1, 2, 4, 4), philox_stream_of(1, 2, 3, 5),
                                     philox_stream_of(1 + (UINT64_C(1) << 32), 2, 3, 4)};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        CHECK(philox_uniform(&others[i]) != first);
    }
}

/* Sums do not depend on how the items are divided, or on their order. */
static void check_sums(void) {
    enum { ITEMS = 100 };
    double factors[ITEMS][GIBBS_RANK];
    struct gibbs_sums forth = {0};
    struct gibbs_sums back = {0};
    for (int i = 0; i < ITEMS; i++) {
        struct philox_stream stream = philox_stream_of(3, 0, (uint32_t)i, 0);
        for (int k = 0; k < GIBBS_RANK; k++) {
            factors[i][k] = philox_normal(&stream);
        }
    }
    for (int i = 0; i < ITEMS; i++) {
        gibbs_add(&forth, factors[i]);
        gibbs_add(&back, factors[ITEMS - 1 - i]);
    }
    CHECK(memcmp(&forth, &back, sizeof forth) == 0);
    CHECK(forth.moments[0] > 0 && forth.squares > forth.moments[0]);
}

/* With exact ratings an item's factors are found again, whatever the prior. */
static void check_factors(void) {
    enum { OTHERS = 50 };
    double others[OTHERS][GIBBS_RANK];
    double truth[GIBBS_RANK];
    double found[GIBBS_RANK];
    struct gibbs_rating ratings[OTHERS];
    struct gibbs_prior prior = {.mean = {0}};
    for (int k = 0; k < GIBBS_RANK; k++) {
        prior.precision[k * GIBBS_RANK + k] = 1;
        truth[k] = k - 4.5;
    }
    for (int i = 0; i < OTHERS; i++) {
        struct philox_stream stream = philox_stream_of(5, 0, (uint32_t)i, 0);
        for (int k = 0; k < GIBBS_RANK; k++) {
            others[i][k] = philox_normal(&stream);
        }
        ratings[i] = (struct gibbs_rating){.other = i, .value = gibbs_product(others[i], truth)};
    }
    gibbs_draw_factors(&prior, 1e8, ratings, OTHERS, &others[0][0], philox_stream_of(5, 1, 0, 0), found);
    for (int k = 0; k < GIBBS_RANK; k++) {
        CHECK(fabs(found[k] - truth[k]) < 1e-3);
    }
    /* Without ratings they follow the prior: their mean, where it is narrow. */
    for (int k = 0; k < GIBBS_RANK; k++) {
        prior.precision[k * GIBBS_RANK + k] = 1e8;
        prior.mean[k] = truth[k];
    }
    gibbs_draw_factors(&prior, 1, ratings, 0, &others[0][0], philox_stream_of(5, 2, 0, 0), found);
    for (int k = 0; k < GIBBS_RANK; k++) {
        CHECK(fabs(found[k] - truth[k]) < 1e-3);
    }
}

/* The prior of many items is close to their mean and precision. */
static void check_prior(void) {
    enum { ITEMS = 20000 };
    struct gibbs_sums sums = {0};
    for (int i = 0; i < ITEMS; i++) {
        struct philox_stream stream = philox_stream_of(9, 0, (uint32_t)i, 0);
        double factors[GIBBS_RANK];
        for (int k = 0; k < GIBBS_RANK; k++) {
            factors[k] = k + (k + 1) * philox_normal(&stream);
        }
        gibbs_add(&sums, factors);
    }
    const struct gibbs_prior prior = gibbs_draw_prior(sums.moments, ITEMS, philox_stream_of(9, 1, 0, 0));
    for (int i = 0; i < GIBBS_RANK; i++) {
        CHECK(fabs(prior.mean[i] - i) < 0.1 * (i + 1));
        const double scaled = prior.precision[i * GIBBS_RANK + i] * (i + 1) * (i + 1);
        CHECK(fabs(scaled - 1) < 0.1);
    }
}

int main(void) {
    check_known_answers();
    check_streams();
    check_moments(philox_uniform, 0.5, 1.0 / 12, 1.0 / 80);
    check_moments(philox_normal, 0, 1, 3);
    check_moments(gamma_of_3, 3, 3, 3 * 3 * 3 + 6 * 3);
    check_sums();
    check_factors();
    check_prior();
    return 0;
}
