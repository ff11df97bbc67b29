/* memory_use: a large block has pages of its own while memory is counted, and is part of the heap while time is. */
#include "check.h"
#include "memory_use.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE = 1024 * 1024, MANY = 64 };

/* Returns how many blocks the allocator has mapped one by one. */
static size_t mapped(void) {
#if __GLIBC_PREREQ(2, 33)
    return mallinfo2().hblks;
#else
    return (size_t)mallinfo().hblks;
#endif
}

/* Returns how many mapped blocks one more large block makes. */
static size_t mapped_by_one_more(void) {
    const size_t before = mapped();
    char *block = malloc(LARGE);
    CHECK(block != NULL);
    memset(block, 1, LARGE);
    const size_t after = mapped();
    free(block);
    return after - before;
}

static void test_a_large_block_is_mapped_only_while_memory_is_counted(void) {
    for (int i = 0; i < 3; i++) {
        memory_use_begin();
        CHECK(mapped_by_one_more() == 1);
        CHECK(mapped_by_one_more() == 1); /* the block that was freed has not changed that */
        memory_use_end();
        CHECK(mapped_by_one_more() == 0);
    }
}

static void test_freed_memory_does_not_count(void) {
    char *blocks[MANY];
    memory_use_begin();
    const struct memory_use before = memory_use_now();
    for (int i = 0; i < MANY; i++) {
        blocks[i] = malloc(LARGE);
        CHECK(blocks[i] != NULL);
        memset(blocks[i], i + 1, LARGE);
    }
    const struct memory_use with = memory_use_now();
    for (int i = 0; i < MANY; i++) {
        free(blocks[i]);
    }
    const struct memory_use after = memory_use_now();
    memory_use_end();
    if (before.proportional < 0) {
        return; /* this kernel does not tell */
    }
    CHECK(with.proportional - before.proportional >= MANY * (int64_t)LARGE);
    CHECK(after.proportional - before.proportional < LARGE);
    CHECK(with.resident >= with.proportional);
}

int main(void) {
    test_a_large_block_is_mapped_only_while_memory_is_counted();
    test_freed_memory_does_not_count();
    return 0;
}
