/*
 * file - whole small files.
 */
#ifndef CAMPAIGN_FILE_H
#define CAMPAIGN_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* The whole file with a terminating zero; NULL and one line in error (errno's text) on a fault. Free with free(). */
char *file_read(const char *path, size_t *length, char *error, size_t error_size);

/* Writes path.tmp.PID, flushes it to the disk and renames it. false and one line in error on a fault; nothing is left
 * behind. */
bool file_replace(const char *path, const char *text, size_t length, char *error, size_t error_size);

#endif
