/*
 * json - writes JSON (RFC 8259) into a line that grows. It is always valid UTF-8: U+FFFD replaces invalid bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct json_line json_line;

/* Creates an empty line. Never NULL. Free with json_line_destroy. */
json_line *json_line_create(void);
void json_line_destroy(json_line *line);
void json_line_clear(json_line *line);

/* The text written so far, and its length in bytes. The text is valid until the next call with this line. */
const char *json_line_text(const json_line *line);
size_t json_line_length(const json_line *line);

/* Returns the text written so far and destroys the line. Free the text with free(). */
char *json_line_take(json_line *line);

/* The same with a line for each object, so that a difference between two texts is read line by line. */
char *json_line_take_broken(json_line *line);

/* The functions below append to the line. name is the member's name inside an object, NULL inside an array or at the
 * top. */
void json_open_object(json_line *line, const char *name);
void json_close_object(json_line *line);
void json_open_array(json_line *line, const char *name);
void json_close_array(json_line *line);
/* NULL: null. */
void json_put_string(json_line *line, const char *name, const char *text);
/* Below 0: null. */
void json_put_count(json_line *line, const char *name, int64_t count);
void json_put_integer(json_line *line, const char *name, int64_t number);
/* Writes nine significant digits; null when the number is not finite. */
void json_put_real(json_line *line, const char *name, double number);
void json_put_boolean(json_line *line, const char *name, bool truth);
void json_put_null(json_line *line, const char *name);
/* Writes text that is already JSON, verbatim. */
void json_put_raw(json_line *line, const char *name, const char *json);
void json_put_integers(json_line *line, const char *name, const int64_t *numbers, size_t count);
