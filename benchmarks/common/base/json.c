#include "json.h"

#include "fail.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
