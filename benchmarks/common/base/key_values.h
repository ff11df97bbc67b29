/*
 * key_values - small text files that programs hand to each other, such as sizes files. Each line is a key and its
 * values, with blanks between them; '#' begins a comment. The first line is "schema NAME VERSION".
 *
 * Reading goes on after a fault, with a harmless value instead of the wrong one, and keeps the first fault: who reads
 * looks once, at the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct key_line {
    size_t number; /* in the file, from 1 */
    char *key;
    char **values;
    size_t count;
};

struct key_values {
    const char *what; /* what the file is, such as "sizes file" */
    const char *path;
    const char *remedy; /* how such a file is made */
    char *text;
    char **words; /* the keys and values of all lines */
    struct key_line *lines;
    size_t count;
    char fault[512]; /* one line, with the file and, where there is one, the line; "": none */
};

/* Reads a file. what, path and remedy must outlive it. It has a fault where the file cannot be read or is none of this
 * schema and version. Free with key_values_free. */
struct key_values key_values_read(const char *what, const char *path, const char *schema, int version,
                                  const char *remedy);
void key_values_free(struct key_values *file);

/* Returns the next line with this key after another one (NULL: the first); NULL where there is none. */
const struct key_line *key_values_next(const struct key_values *file, const char *key, const struct key_line *after);

/* Returns the first line with this key; NULL and a fault where there is none. */
const struct key_line *key_values_line(struct key_values *file, const char *key);

/* Return a value of a line by its index. name: what it is, for the fault where the line has no such value, or it is no
 * whole number from `least` to 2^53. The result is "" or `least` then, and where line is NULL. */
const char *key_values_text(struct key_values *file, const struct key_line *line, size_t index, const char *name);
uint64_t key_values_number(struct key_values *file, const struct key_line *line, size_t index, const char *name,
                           uint64_t least);

/* Notes a fault, unless there is one already. line NULL: of the whole file. */
__attribute__((format(printf, 3, 4))) void key_values_fail(struct key_values *file, const struct key_line *line,
                                                           const char *format, ...);

/* A file that is being written: its lines go to `file`. */
struct key_writer {
    FILE *file;
    char *text;
    size_t length;
};

/* Begins with the schema's line. The other lines are written with fprintf. Dies when memory runs out. */
void key_values_begin(struct key_writer *writer, const char *schema, int version);

/* Ends it and puts it in its place (file_replace). Returns false and one line in error on a fault. */
bool key_values_end(struct key_writer *writer, const char *path, char *error, size_t error_size);
