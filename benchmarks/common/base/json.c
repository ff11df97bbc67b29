#include "json.h"

#include "fail.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LEVELS = 64 };

struct json_value {
    enum json_type type;
    bool truth;
    double number;
    char *string;       /* decoded */
    json_value **items; /* of an array or object */
    char **names;       /* of an object */
    size_t count;
};

struct reader {
    const char *text;
    size_t length;
    size_t at;
    int level;
    const char *fault; /* first fault; NULL: none */
};

/* Bytes of the UTF-8 sequence at text (1 to 4), 0 where it is none. RFC 3629: no overlong forms, no surrogates. */
static size_t utf8_length(const unsigned char *text, size_t available) {
    unsigned char a = text[0];
    if (a < 0x80) {
        return 1;
    }
    size_t length = a >= 0xC2 && a <= 0xDF ? 2 : (a & 0xF0) == 0xE0 ? 3 : a >= 0xF0 && a <= 0xF4 ? 4 : 0;
    if (length == 0 || length > available) {
        return 0;
    }
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    if ((a == 0xE0 && text[1] < 0xA0) || (a == 0xED && text[1] > 0x9F) || (a == 0xF0 && text[1] < 0x90) ||
        (a == 0xF4 && text[1] > 0x8F)) {
        return 0;
    }
    return length;
}

static void skip_space(struct reader *reader) {
    while (reader->at < reader->length && strchr(" \t\r\n", reader->text[reader->at]) != NULL &&
           reader->text[reader->at] != '\0') {
        reader->at++;
    }
}

static int peek(const struct reader *reader) {
    return reader->at < reader->length ? (unsigned char)reader->text[reader->at] : -1;
}

static void *refuse(struct reader *reader, const char *fault) {
    if (reader->fault == NULL) {
        reader->fault = fault;
    }
    return NULL;
}

static bool take_word(struct reader *reader, const char *word) {
    size_t length = strlen(word);
    if (reader->length - reader->at < length || memcmp(reader->text + reader->at, word, length) != 0) {
        return false;
    }
    reader->at += length;
    return true;
}

static bool take_hex(struct reader *reader, uint32_t *code) {
    *code = 0;
    for (int i = 0; i < 4; i++) {
        int c = peek(reader);
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) {
            return false;
        }
        *code = *code * 16 + (uint32_t)digit;
        reader->at++;
    }
    return true;
}

static size_t put_utf8(char *out, uint32_t code) {
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xC0 | (code >> 6));
        out[1] = (char)(0x80 | (code & 0x3F));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xE0 | (code >> 12));
        out[1] = (char)(0x80 | ((code >> 6) & 0x3F));
        out[2] = (char)(0x80 | (code & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | (code >> 18));
    out[1] = (char)(0x80 | ((code >> 12) & 0x3F));
    out[2] = (char)(0x80 | ((code >> 6) & 0x3F));
    out[3] = (char)(0x80 | (code & 0x3F));
    return 4;
}

/* At the character after a backslash. Number of bytes put, 0 on a fault. */
static size_t take_escape(struct reader *reader, char *out) {
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    int c = peek(reader);
    const char *known = c > 0 ? strchr(from, c) : NULL;
    if (known != NULL) {
        reader->at++;
        out[0] = to[known - from];
        return 1;
    }
    uint32_t code = 0;
    if (c != 'u') {
        return 0;
    }
    reader->at++;
    if (!take_hex(reader, &code) || (code >= 0xDC00 && code <= 0xDFFF) || code == 0) {
        return 0; /* U+0000 as well: strings end in it here */
    }
    if (code >= 0xD800 && code <= 0xDBFF) {
        uint32_t second = 0;
        if (!take_word(reader, "\\u") || !take_hex(reader, &second) || second < 0xDC00 || second > 0xDFFF) {
            return 0;
        }
        code = 0x10000 + ((code - 0xD800) << 10) + (second - 0xDC00);
    }
    return put_utf8(out, code);
}

static char *take_string(struct reader *reader) {
    if (peek(reader) != '"') {
        return refuse(reader, "a string was expected");
    }
    reader->at++;
    char *string = fail_alloc(reader->length - reader->at + 1, 1); /* decoding never makes it longer */
    size_t used = 0;
    while (reader->fault == NULL) {
        int c = peek(reader);
        if (c < 0x20) {
            refuse(reader, c < 0 ? "a string without its closing quote" : "a control character in a string");
        } else if (c == '"') {
            reader->at++;
            string[used] = '\0';
            return fail_realloc(string, used + 1, 1);
        } else if (c == '\\') {
            reader->at++;
            size_t put = take_escape(reader, string + used);
            if (put == 0) {
                refuse(reader, "an escape that JSON does not have");
            }
            used += put;
        } else {
            size_t length = utf8_length((const unsigned char *)reader->text + reader->at, reader->length - reader->at);
            if (length == 0) {
                refuse(reader, "bytes that are not UTF-8");
            }
            memcpy(string + used, reader->text + reader->at, length);
            used += length;
            reader->at += length;
        }
    }
    free(string);
    return NULL;
}

static json_value *new_value(enum json_type type) {
    json_value *value = fail_alloc(1, sizeof *value);
    value->type = type;
    return value;
}

static void take_digits(struct reader *reader) {
    if (peek(reader) < '0' || peek(reader) > '9') {
        refuse(reader, "a number without digits");
    }
    while (peek(reader) >= '0' && peek(reader) <= '9') {
        reader->at++;
    }
}

static json_value *take_number(struct reader *reader) {
    size_t start = reader->at;
    if (peek(reader) == '-') {
        reader->at++;
    }
    if (peek(reader) == '0') {
        reader->at++;
    } else {
        take_digits(reader);
    }
    if (peek(reader) == '.') {
        reader->at++;
        take_digits(reader);
    }
    if (peek(reader) == 'e' || peek(reader) == 'E') {
        reader->at++;
        if (peek(reader) == '+' || peek(reader) == '-') {
            reader->at++;
        }
        take_digits(reader);
    }
    if (reader->fault != NULL) {
        return NULL;
    }
    char digits[64];
    size_t length = reader->at - start;
    if (length >= sizeof digits) {
        return refuse(reader, "a number of more than 63 characters");
    }
    memcpy(digits, reader->text + start, length);
    digits[length] = '\0';
    json_value *value = new_value(JSON_NUMBER);
    value->number = strtod(digits, NULL);
    return value;
}

static json_value *take_value(struct reader *reader);

static void append_item(json_value *value, char *name, json_value *item) {
    if ((value->count & (value->count + 1)) == 0) { /* room for 2^n - 1 is used up */
        size_t capacity = 2 * value->count + 1;
        value->items = fail_realloc(value->items, capacity, sizeof *value->items);
        if (value->type == JSON_OBJECT) {
            value->names = fail_realloc(value->names, capacity, sizeof *value->names);
        }
    }
    if (value->type == JSON_OBJECT) {
        value->names[value->count] = name;
    }
    value->items[value->count++] = item;
}

static json_value *take_container(struct reader *reader, enum json_type type) {
    int end = type == JSON_OBJECT ? '}' : ']';
    if (++reader->level > MOST_LEVELS) {
        return refuse(reader, "more than 64 levels");
    }
    reader->at++;
    json_value *value = new_value(type);
    skip_space(reader);
    if (peek(reader) == end) {
        reader->at++;
        reader->level--;
        return value;
    }
    for (;;) {
        char *name = NULL;
        skip_space(reader);
        if (type == JSON_OBJECT) {
            name = take_string(reader);
            skip_space(reader);
            if (name == NULL || peek(reader) != ':') {
                free(name);
                refuse(reader, "a colon was expected");
                break;
            }
            reader->at++;
        }
        json_value *item = take_value(reader);
        if (item == NULL) {
            free(name);
            break;
        }
        append_item(value, name, item);
        skip_space(reader);
        if (peek(reader) == end) {
            reader->at++;
            reader->level--;
            return value;
        }
        if (peek(reader) != ',') {
            refuse(reader, "a comma or the end of the list was expected");
            break;
        }
        reader->at++;
    }
    json_destroy(value);
    return NULL;
}

static json_value *take_value(struct reader *reader) {
    skip_space(reader);
    int c = peek(reader);
    if (c == '{' || c == '[') {
        return take_container(reader, c == '{' ? JSON_OBJECT : JSON_ARRAY);
    }
    if (c == '"') {
        char *string = take_string(reader);
        if (string == NULL) {
            return NULL;
        }
        json_value *value = new_value(JSON_STRING);
        value->string = string;
        return value;
    }
    if (c == '-' || (c >= '0' && c <= '9')) {
        return take_number(reader);
    }
    if (take_word(reader, "null")) {
        return new_value(JSON_NULL);
    }
    bool truth = take_word(reader, "true");
    if (truth || take_word(reader, "false")) {
        json_value *value = new_value(JSON_BOOLEAN);
        value->truth = truth;
        return value;
    }
    return refuse(reader, c < 0 ? "the text ends where a value was expected" : "a value was expected");
}

json_value *json_parse(const char *text, size_t length, char *error, size_t error_size) {
    struct reader reader = {.text = text, .length = length};
    json_value *value = take_value(&reader);
    if (value != NULL) {
        skip_space(&reader);
        if (reader.at < length) {
            refuse(&reader, "text after the end of the document");
        }
    }
    if (reader.fault != NULL) {
        size_t line = 1;
        for (size_t i = 0; i < reader.at && i < length; i++) {
            line += text[i] == '\n';
        }
        snprintf(error, error_size, "not JSON: %s (line %zu, byte %zu)", reader.fault, line, reader.at);
        json_destroy(value);
        return NULL;
    }
    return value;
}

void json_destroy(json_value *value) {
    if (value == NULL) {
        return;
    }
    for (size_t i = 0; i < value->count; i++) {
        json_destroy(value->items[i]);
        if (value->names != NULL) {
            free(value->names[i]);
        }
    }
    free(value->items);
    free(value->names);
    free(value->string);
    free(value);
}

enum json_type json_type_of(const json_value *value) {
    return value->type;
}

const json_value *json_member(const json_value *value, const char *name) {
    if (value == NULL || value->type != JSON_OBJECT) {
        return NULL;
    }
    for (size_t i = 0; i < value->count; i++) {
        if (strcmp(value->names[i], name) == 0) {
            return value->items[i];
        }
    }
    return NULL;
}

size_t json_count(const json_value *value) {
    return value != NULL ? value->count : 0;
}

const json_value *json_item(const json_value *value, size_t index) {
    return index < json_count(value) ? value->items[index] : NULL;
}

const char *json_string(const json_value *value) {
    return value != NULL && value->type == JSON_STRING ? value->string : NULL;
}

bool json_count_value(const json_value *value, uint64_t *number) {
    if (value == NULL || value->type != JSON_NUMBER || !(value->number >= 0) || value->number > 9007199254740992.0 ||
        floor(value->number) != value->number) {
        return false;
    }
    *number = (uint64_t)value->number;
    return true;
}

char *json_compact(const char *text, size_t length) {
    char *compact = fail_alloc(length + 1, 1);
    size_t used = 0;
    bool in_string = false;
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (!in_string && (c == ' ' || c == '\t' || c == '\r' || c == '\n')) {
            continue;
        }
        compact[used++] = c;
        if (in_string && c == '\\' && i + 1 < length) {
            compact[used++] = text[++i];
        } else if (c == '"') {
            in_string = !in_string;
        }
    }
    compact[used] = '\0';
    return compact;
}

/* ---- writing ---- */

struct json_line {
    char *text;
    size_t length;
    size_t capacity;
    bool comma; /* something stands before the next item of this list */
};

json_line *json_line_create(void) {
    json_line *line = fail_alloc(1, sizeof *line);
    line->capacity = 4096;
    line->text = fail_alloc(line->capacity, 1);
    return line;
}

void json_line_destroy(json_line *line) {
    if (line != NULL) {
        free(line->text);
        free(line);
    }
}

void json_line_clear(json_line *line) {
    line->length = 0;
    line->text[0] = '\0';
    line->comma = false;
}

const char *json_line_text(const json_line *line) {
    return line->text;
}

size_t json_line_length(const json_line *line) {
    return line->length;
}

char *json_line_take(json_line *line) {
    char *text = fail_strdup(json_line_text(line));
    json_line_destroy(line);
    return text;
}

char *json_line_take_broken(json_line *line) {
    char *broken = fail_alloc(2 * line->length + 1, 1);
    size_t used = 0;
    bool quoted = false;
    for (const char *c = line->text; *c != '\0'; c++) {
        if (!quoted && *c == '{' && c > line->text) {
            broken[used++] = '\n';
        }
        quoted = quoted != (*c == '"' && c[-1] != '\\');
        broken[used++] = *c;
    }
    json_line_destroy(line);
    return broken;
}

static void append(json_line *line, const char *text, size_t length) {
    if (line->length + length + 1 > line->capacity) {
        while (line->length + length + 1 > line->capacity) {
            line->capacity *= 2;
        }
        line->text = fail_realloc(line->text, line->capacity, 1);
    }
    memcpy(line->text + line->length, text, length);
    line->length += length;
    line->text[line->length] = '\0';
}

static void append_quoted(json_line *line, const char *text) {
    size_t length = strlen(text);
    append(line, "\"", 1);
    for (size_t i = 0; i < length;) {
        unsigned char c = (unsigned char)text[i];
        size_t bytes = utf8_length((const unsigned char *)text + i, length - i);
        if (bytes == 0) {
            append(line, "\xEF\xBF\xBD", 3);
            bytes = 1;
        } else if (c == '"' || c == '\\') {
            char escape[2] = {'\\', (char)c};
            append(line, escape, 2);
        } else if (c < 0x20 || c == 0x7F) {
            char escape[8];
            snprintf(escape, sizeof escape, "\\u%04x", c);
            append(line, escape, 6);
        } else {
            append(line, text + i, bytes);
        }
        i += bytes;
    }
    append(line, "\"", 1);
}

static void begin_item(json_line *line, const char *name) {
    if (line->comma) {
        append(line, ",", 1);
    }
    line->comma = true;
    if (name != NULL) {
        append_quoted(line, name);
        append(line, ":", 1);
    }
}

static void open_list(json_line *line, const char *name, const char *bracket) {
    begin_item(line, name);
    append(line, bracket, 1);
    line->comma = false;
}

static void close_list(json_line *line, const char *bracket) {
    append(line, bracket, 1);
    line->comma = true;
}

void json_open_object(json_line *line, const char *name) {
    open_list(line, name, "{");
}

void json_close_object(json_line *line) {
    close_list(line, "}");
}

void json_open_array(json_line *line, const char *name) {
    open_list(line, name, "[");
}

void json_close_array(json_line *line) {
    close_list(line, "]");
}

void json_put_string(json_line *line, const char *name, const char *text) {
    if (text == NULL) {
        json_put_null(line, name);
        return;
    }
    begin_item(line, name);
    append_quoted(line, text);
}

void json_put_count(json_line *line, const char *name, int64_t count) {
    if (count < 0) {
        json_put_null(line, name);
    } else {
        json_put_integer(line, name, count);
    }
}

void json_put_integer(json_line *line, const char *name, int64_t number) {
    char digits[32];
    begin_item(line, name);
    append(line, digits, (size_t)snprintf(digits, sizeof digits, "%" PRId64, number));
}

void json_put_real(json_line *line, const char *name, double number) {
    if (!isfinite(number)) {
        json_put_null(line, name);
        return;
    }
    char digits[48];
    begin_item(line, name);
    append(line, digits, (size_t)snprintf(digits, sizeof digits, "%.9g", number));
}

void json_put_boolean(json_line *line, const char *name, bool truth) {
    begin_item(line, name);
    append(line, truth ? "true" : "false", truth ? 4 : 5);
}

void json_put_null(json_line *line, const char *name) {
    begin_item(line, name);
    append(line, "null", 4);
}

void json_put_raw(json_line *line, const char *name, const char *json) {
    begin_item(line, name);
    append(line, json, strlen(json));
}

void json_put_integers(json_line *line, const char *name, const int64_t *numbers, size_t count) {
    json_open_array(line, name);
    for (size_t i = 0; i < count; i++) {
        json_put_integer(line, NULL, numbers[i]);
    }
    json_close_array(line);
}
