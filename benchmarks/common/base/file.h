/*
 * file - reads and writes small files as a whole.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Reads the whole file and adds a terminating zero; *length is without that. Returns NULL and one line in error
 * (errno's text) on a fault. Free with free(). */
char *file_read(const char *path, size_t *length, char *error, size_t error_size);

/* Writes path.tmp.PID, flushes it to the disk and renames it to path: a reader sees the old file or the whole new one.
 * Returns false and one line in error on a fault; no file is left behind then. */
bool file_replace(const char *path, const char *text, size_t length, char *error, size_t error_size);
