/*
 * json - as much of RFC 8259 as records, sizes files and metadata need: a reader into a tree, and a writer into a
 * growing line.
 *
 * The reader takes one complete document, refuses everything that is not JSON (trailing text, NaN, lone surrogates,
 * invalid UTF-8, more than 64 levels), and says where. The writer always emits valid UTF-8: bytes that are not are
 * replaced by U+FFFD.
 */
#ifndef CAMPAIGN_JSON_H
#define CAMPAIGN_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- reading ---- */

enum json_type { JSON_NULL, JSON_BOOLEAN, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

typedef struct json_value json_value;

/* Parses text[0..length). NULL and one line in error[0..error_size) on a fault; destroy the result otherwise. */
json_value *json_parse(const char *text, size_t length, char *error, size_t error_size);
void json_destroy(json_value *value);

enum json_type json_type_of(const json_value *value);

/* Member of an object; NULL where there is none, or value is NULL or no object. */
const json_value *json_member(const json_value *value, const char *name);

/* Number of items of an array or members of an object, 0 of everything else; the item itself. */
size_t json_count(const json_value *value);
const json_value *json_item(const json_value *value, size_t index);

/* The string, UTF-8; NULL when it is none (or value is NULL). */
const char *json_string(const json_value *value);

/* The number as an integer >= 0; false when it is none, is negative, has a fraction or exceeds 2^53. */
bool json_count_value(const json_value *value, uint64_t *number);

/* The document without the white space between its tokens: one line, tokens verbatim. Free with free(). The text must
 * have passed json_parse. */
char *json_compact(const char *text, size_t length);

/* ---- writing ---- */

typedef struct json_line json_line;

/* An empty line. Never NULL. */
json_line *json_line_create(void);
void json_line_destroy(json_line *line);
void json_line_clear(json_line *line);

/* What was written so far, and its length. Valid until the next call. */
const char *json_line_text(const json_line *line);
size_t json_line_length(const json_line *line);

/* What was written, and the line is destroyed. Free with free(). */
char *json_line_take(json_line *line);

/* name: the member's name inside an object, NULL inside an array or at the top. */
void json_open_object(json_line *line, const char *name);
void json_close_object(json_line *line);
void json_open_array(json_line *line, const char *name);
void json_close_array(json_line *line);
void json_put_string(json_line *line, const char *name, const char *text);
void json_put_integer(json_line *line, const char *name, int64_t number);
/* Nine significant digits; null when it is not finite. */
void json_put_real(json_line *line, const char *name, double number);
void json_put_boolean(json_line *line, const char *name, bool truth);
void json_put_null(json_line *line, const char *name);
/* Text that is JSON already, verbatim. */
void json_put_raw(json_line *line, const char *name, const char *json);
void json_put_integers(json_line *line, const char *name, const int64_t *numbers, size_t count);

#endif
