#include "changes.h"
#include "check.h"

/* What a library would do, by size. */
typedef int outcome_of(int64_t bytes);

static int eager_up_to_1016(int64_t bytes) {
    return bytes <= 1016 ? 0 : 1;
}

/* Not monotonic: a hole from 3000 to 5000. */
static int with_a_hole(int64_t bytes) {
    return bytes >= 3000 && bytes <= 5000 ? 1 : 0;
}

static int always_full(int64_t bytes) {
    return bytes >= 0 ? 0 : 1;
}

static int by_chance(int64_t bytes) {
    return (int)((uint64_t)bytes * 0x9E3779B97F4A7C15u >> 63);
}

/* Measures what changes_next says. Returns the number of sizes; *last_of_0 is the largest size below `below` with
 * outcome 0, *first_of_1 the smallest above it with outcome 1. */
static size_t run(changes *c, outcome_of *outcome, int64_t below, int64_t *last_of_0, int64_t *first_of_1) {
    size_t count = 0;
    int64_t bytes = -1;
    *last_of_0 = -1;
    *first_of_1 = INT64_MAX;
    while (changes_next(c, &bytes)) {
        int64_t again = 0;
        CHECK(changes_next(c, &again) && again == bytes);
        CHECK(changes_left(c) > 0);
        const int got = outcome(bytes);
        changes_note(c, bytes, got);
        *last_of_0 = got == 0 && bytes < below && bytes > *last_of_0 ? bytes : *last_of_0;
        *first_of_1 = got == 1 && bytes < *first_of_1 ? bytes : *first_of_1;
        count++;
        CHECK(count < 1000);
    }
    CHECK(changes_left(c) == 0 || count >= CHANGES_MOST_BETWEEN);
    return count;
}

int main(void) {
    const int64_t asked[] = {65536, 64, 1024, 64, 0};
    const int64_t around[] = {0, 2048, 4096, 8192};
    int64_t last = 0;
    int64_t first = 0;

    /* A limit is found to one step, wherever it lies between the sizes that were asked for. */
    changes *c = changes_create(asked, 5, 8, true);
    CHECK(!changes_has_asked(c));
    CHECK(run(c, eager_up_to_1016, INT64_MAX, &last, &first) < 16);
    CHECK(changes_has_asked(c));
    CHECK(last == 1016 && first == 1024);
    changes_destroy(c);

    /* Both edges of a hole. */
    c = changes_create(around, 4, 8, true);
    run(c, with_a_hole, 4096, &last, &first);
    CHECK(last == 2992 && first == 3000);
    changes_destroy(c);

    /* No change: only the sizes that were asked for, each once. */
    c = changes_create(asked, 5, 8, true);
    CHECK(run(c, always_full, INT64_MAX, &last, &first) == 4);
    CHECK(last == 65536 && first == INT64_MAX);
    changes_destroy(c);

    /* The same where nothing is to be divided. */
    c = changes_create(asked, 5, 8, false);
    CHECK(run(c, eager_up_to_1016, INT64_MAX, &last, &first) == 4);
    CHECK(last == 64 && first == 1024);
    changes_destroy(c);

    /* Chance does not go on for ever. */
    const int64_t wide[] = {0, INT64_C(1) << 30};
    c = changes_create(wide, 2, 8, true);
    CHECK(run(c, by_chance, INT64_MAX, &last, &first) <= 2 + CHANGES_MOST_BETWEEN);
    changes_destroy(c);

    /* What was not found out is no change. */
    c = changes_create(around, 4, 8, true);
    for (size_t i = 0; i < 4; i++) {
        changes_note(c, around[i], i == 2 ? CHANGES_UNKNOWN : 0);
    }
    CHECK(!changes_next(c, &last));
    changes_destroy(c);
    return 0;
}
