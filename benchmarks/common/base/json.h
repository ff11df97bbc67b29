/*
 * json - a reader of JSON (RFC 8259) into a tree, and a writer into a line that grows: what records, sizes files and
 * metadata need.
 *
 * The reader takes one complete document. It refuses everything that is not JSON (text after the document, NaN, lone
 * surrogates, invalid UTF-8), and more than 64 levels, and says where the fault is. The writer always emits valid
 * UTF-8: it replaces invalid bytes by U+FFFD.
 */
#ifndef CAMPAIGN_JSON_H
#define CAMPAIGN_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- reading ---- */

enum json_type { JSON_NULL, JSON_BOOLEAN, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

typedef struct json_value json_value;

/* Parses text[0..length). Returns NULL and one line in error[0..error_size) on a fault. Free with json_destroy. */
json_value *json_parse(const char *text, size_t length, char *error, size_t error_size);
void json_destroy(json_value *value);

enum json_type json_type_of(const json_value *value);

/* Returns the member of an object by its name; NULL where the object has none, or where value is NULL or no object. */
const json_value *json_member(const json_value *value, const char *name);

/* json_count: the number of items of an array or of members of an object; 0 for every other value. json_item: the item
 * of an array by its index. */
size_t json_count(const json_value *value);
const json_value *json_item(const json_value *value, size_t index);

/* Returns the text of a string in UTF-8; NULL where value is NULL or no string. */
const char *json_string(const json_value *value);

/* Reads a number as an integer >= 0. Returns false where value is no number, is negative, has a fraction or exceeds
 * 2^53. */
bool json_count_value(const json_value *value, uint64_t *number);

/* Returns the document as one line: without the white space between its tokens, the tokens verbatim. The text must have
 * passed json_parse. Free with free(). */
char *json_compact(const char *text, size_t length);

/* ---- writing ---- */

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

#endif
