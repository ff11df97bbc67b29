/*
 * check - assertions of the unit tests: a failed one prints its place and ends the test program with exit code 1.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                                    \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

#define CHECK_TEXT(got, expected)                                                                                      \
    do {                                                                                                               \
        const char *check_got = (got);                                                                                 \
        if (strcmp(check_got, (expected)) != 0) {                                                                      \
            fprintf(stderr, "%s:%d: got      %s\nexpected %s\n", __FILE__, __LINE__, check_got, expected);             \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)
