#include "file.h"

#include "fail.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *file_read(const char *path, size_t *length, char *error, size_t error_size) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        snprintf(error, error_size, "cannot read '%s': %s", path, strerror(errno));
        return NULL;
    }
    size_t capacity = 4096;
    size_t used = 0;
    char *text = fail_alloc(capacity, 1);
    for (;;) {
        errno = 0;
        size_t got = fread(text + used, 1, capacity - used - 1, file);
        used += got;
        if (got == 0) {
            break;
        }
        if (used + 1 == capacity) {
            capacity *= 2;
            text = fail_realloc(text, capacity, 1);
        }
    }
    bool failed = ferror(file) != 0;
    int cause = errno;
    if (fclose(file) != 0 && !failed) {
        failed = true;
        cause = errno;
    }
    if (failed) {
        snprintf(error, error_size, "cannot read '%s': %s", path, strerror(cause));
        free(text);
        return NULL;
    }
    text[used] = '\0';
    *length = used;
    return text;
}

bool file_replace(const char *path, const char *text, size_t length, char *error, size_t error_size) {
    size_t size = strlen(path) + 32;
    char *temporary = fail_alloc(size, 1);
    snprintf(temporary, size, "%s.tmp.%ld", path, (long)getpid());
    FILE *file = fopen(temporary, "wb");
    bool good = file != NULL;
    int cause = errno;
    if (good) {
        good = fwrite(text, 1, length, file) == length && fflush(file) == 0 && fsync(fileno(file)) == 0;
        cause = errno;
        if (fclose(file) != 0 && good) {
            good = false;
            cause = errno;
        }
        if (good && rename(temporary, path) != 0) {
            good = false;
            cause = errno;
        }
        if (!good) {
            unlink(temporary);
        }
    }
    free(temporary);
    if (!good) {
        snprintf(error, error_size, "cannot write '%s': %s", path, strerror(cause));
    }
    return good;
}
