#include "check.h"
#include "pattern.h"

#include <math.h>

enum { COUNT = 10000, RANKS = 5, SEED = 99 };

static uint64_t words[COUNT + 8 * 61];
static double terms[COUNT + 8 * 61];
static double sums[COUNT];

static void test_words(void) {
    struct pattern_fault fault = {0};
    for (uint64_t repetition = 0; repetition < 130; repetition++) {
        size_t first = pattern_first(repetition);
        CHECK(first < PATTERN_PADDING && first % 8 == 0);
        CHECK(first != pattern_first(repetition + 1));
        pattern_fill_words(words, COUNT, SEED, 3, first);
        CHECK(pattern_check_words(words, COUNT, SEED, 3, first, &fault) == 0);
        /* another repetition, source, position or seed: everything is wrong */
        CHECK(pattern_check_words(words, COUNT, SEED, 3, pattern_first(repetition + 1), &fault) == COUNT);
        CHECK(pattern_check_words(words, COUNT, SEED, 2, first, &fault) == COUNT);
        CHECK(pattern_check_words(words + 1, COUNT - 1, SEED, 3, first, &fault) == COUNT - 1);
        CHECK(pattern_check_words(words, COUNT, SEED + 1, 3, first, &fault) == COUNT);
    }
    /* A window of the whole sequence is the same as a fill from there: what repetitions rely on. */
    pattern_fill_words(words, COUNT + PATTERN_PADDING, SEED, 1, 0);
    CHECK(pattern_check_words(words + pattern_first(17), COUNT, SEED, 1, pattern_first(17), &fault) == 0);
    /* every single bit, at the ends and in the middle */
    static const size_t places[] = {0, 1, 2047, 2048, 5000, COUNT - 1};
    pattern_fill_words(words, COUNT, SEED, 0, 0);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        for (int bit = 0; bit < 64; bit++) {
            uint64_t right = words[places[i]];
            words[places[i]] ^= UINT64_C(1) << bit;
            CHECK(pattern_check_words(words, COUNT, SEED, 0, 0, &fault) == 1);
            CHECK(fault.position == places[i] && fault.expected_word == right && fault.got_word == words[places[i]] &&
                  fault.count == 1);
            words[places[i]] = right;
        }
    }
    CHECK(pattern_check_words(words, 0, SEED, 0, 0, &fault) == 0);
}

static void reduce(int ranks, size_t first) {
    memset(sums, 0, sizeof sums);
    for (int source = 0; source < ranks; source++) {
        pattern_fill_summands(terms, COUNT, SEED, source, first);
        for (size_t i = 0; i < COUNT; i++) {
            CHECK(terms[i] >= 1 && floor(terms[i]) == terms[i]);
            sums[i] += terms[i];
        }
    }
}

static void test_sums(void) {
    struct pattern_fault fault = {0};
    for (int ranks = 2; ranks <= RANKS; ranks++) {
        size_t first = pattern_first((uint64_t)ranks);
        reduce(ranks, first);
        CHECK(pattern_check_sums(sums, COUNT, SEED, ranks, first, &fault) == 0);
        CHECK(pattern_check_sums(sums, COUNT, SEED, ranks - 1, first, &fault) == COUNT); /* a rank is missing */
        CHECK(pattern_check_sums(sums, COUNT, SEED, ranks, pattern_first((uint64_t)ranks + 1), &fault) >
              COUNT * 99 / 100);
    }
    double right = sums[4321];
    size_t first = pattern_first(RANKS);
    sums[4321] += 1;
    CHECK(pattern_check_sums(sums, COUNT, SEED, RANKS, first, &fault) == 1);
    CHECK(fault.position == 4321 && fault.expected_sum == right && fault.got_sum == right + 1);
    sums[4321] = NAN;
    CHECK(pattern_check_sums(sums, COUNT, SEED, RANKS, first, &fault) == 1 && fault.position == 4321);
    sums[0] = -1;
    CHECK(pattern_check_sums(sums, COUNT, SEED, RANKS, first, &fault) == 2 && fault.position == 0 && fault.count == 2);
    /* Exact at the limit: the largest sum is at most 2^53, and one rank more could exceed it. */
    const uint64_t most = PATTERN_MAX_SUM_RANKS;
    CHECK((most * (most + 1) / 2) << 20 <= UINT64_C(1) << 53);
    CHECK(((most + 1) * (most + 2) / 2) << 20 > UINT64_C(1) << 53);
    pattern_fill_summands(terms, COUNT, SEED, PATTERN_MAX_SUM_RANKS - 1, 0);
    CHECK(terms[0] + 1 != terms[0]);
}

int main(void) {
    test_words();
    test_sums();
    return 0;
}
