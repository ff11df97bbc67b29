#include "fail.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *program_name = "benchmark";
static int own_rank = -1;
static void (*end_group)(int exit_code);

void fail_setup(const char *program, int rank, void (*abort_run)(int exit_code)) {
    program_name = program;
    own_rank = rank;
    end_group = abort_run;
}

/* One write per line, so that lines of several ranks do not interleave. */
static void print_line(const char *prefix, const char *format, va_list arguments) {
    char line[2048];
    int used = snprintf(line, sizeof line - 1, "%s", prefix);
    if (used < 0) {
        used = 0;
    }
    vsnprintf(line + used, sizeof line - 1 - (size_t)used, format, arguments);
    size_t length = strlen(line);
    for (size_t i = 0; i < length; i++) {
        if (line[i] == '\n') {
            line[i] = ' ';
        }
    }
    line[length] = '\n';
    fflush(stdout);
    fwrite(line, 1, length + 1, stderr);
    fflush(stderr);
}

void fail_die(const char *format, ...) {
    char prefix[128];
    if (own_rank >= 0) {
        snprintf(prefix, sizeof prefix, "%s: rank %d: ", program_name, own_rank);
    } else {
        snprintf(prefix, sizeof prefix, "%s: ", program_name);
    }
    va_list arguments;
    va_start(arguments, format);
    print_line(prefix, format, arguments);
    va_end(arguments);
    if (end_group != NULL) {
        end_group(1);
    }
    exit(1);
}

void fail_report(const char *format, ...) {
    char prefix[128];
    snprintf(prefix, sizeof prefix, "%s: ", program_name);
    va_list arguments;
    va_start(arguments, format);
    print_line(prefix, format, arguments);
    va_end(arguments);
}

/* Whether the first so many characters of a text end with these words. */
static bool ends_with(const char *text, size_t length, const char *end) {
    const size_t end_length = strlen(end);
    return length >= end_length && strncmp(text + length - end_length, end, end_length) == 0;
}

void fail_cause(const char *text, char *cause, size_t cause_size) {
    static const char begin[] = "error stack:";
    const char *found = text;
    size_t found_length = strlen(text);
    const char *stack = strstr(text, begin);
    const char *line = stack != NULL ? stack + strlen(begin) : "";
    while (*line != '\0') { /* FUNCTION(NUMBER)....: what it tells; of the MPI function, its call */
        const size_t length = strcspn(line, "\n");
        const char *colon = strstr(line, ": ");
        const char *told = colon != NULL ? colon + 1 + strspn(colon + 1, " ") : line + length;
        if (told < line + length && strncmp(line, "(unknown)", 9) != 0 && !ends_with(line, length, ") failed")) {
            found = told;
            found_length = (size_t)(line + length - told);
        }
        line += length + (line[length] == '\n' ? 1 : 0);
    }
    snprintf(cause, cause_size, "%.*s", (int)found_length, found);
}

void *fail_alloc(size_t count, size_t size) {
    void *memory = calloc(count > 0 ? count : 1, size > 0 ? size : 1);
    if (memory == NULL) {
        fail_die("out of memory: %zu times %zu bytes", count, size);
    }
    return memory;
}

void *fail_realloc(void *memory, size_t count, size_t size) {
    if (size > 0 && count > SIZE_MAX / size) {
        fail_die("out of memory: %zu times %zu bytes", count, size);
    }
    size_t bytes = count * size;
    void *grown = realloc(memory, bytes > 0 ? bytes : 1);
    if (grown == NULL) {
        fail_die("out of memory: %zu bytes", bytes);
    }
    return grown;
}

char *fail_strdup(const char *text) {
    size_t bytes = strlen(text) + 1;
    char *copy = fail_alloc(bytes, 1);
    memcpy(copy, text, bytes);
    return copy;
}
