#include "key_values.h"

#include "fail.h"
#include "file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void key_values_fail(struct key_values *file, const struct key_line *line, const char *format, ...) {
    if (file->fault[0] != '\0') {
        return;
    }
    const int used = line != NULL ? snprintf(file->fault, sizeof file->fault, "%s '%s', line %zu: ", file->what,
                                             file->path, line->number)
                                  : snprintf(file->fault, sizeof file->fault, "%s '%s' ", file->what, file->path);
    va_list arguments;
    va_start(arguments, format);
    if (used > 0 && (size_t)used < sizeof file->fault) {
        vsnprintf(file->fault + used, sizeof file->fault - (size_t)used, format, arguments);
    }
    va_end(arguments);
}

/* Splits one line of the text, which becomes the next of the lines where it has a key. Returns the number of its words.
 */
static size_t split_line(struct key_values *file, char *text, size_t number, char **words) {
    char *rest = NULL;
    size_t count = 0;
    text[strcspn(text, "#")] = '\0';
    for (char *word = strtok_r(text, " \t\r", &rest); word != NULL; word = strtok_r(NULL, " \t\r", &rest)) {
        words[count++] = word;
    }
    if (count > 0) {
        file->lines[file->count++] = (struct key_line){number, words[0], words + 1, count - 1};
    }
    return count;
}

static void split(struct key_values *file, size_t length) {
    size_t used = 0;
    size_t most = 1;
    for (size_t i = 0; i < length; i++) {
        most += file->text[i] == '\n';
    }
    file->lines = fail_alloc(most, sizeof *file->lines);
    file->words = fail_alloc(length / 2 + 1, sizeof *file->words);
    char *line = file->text;
    for (size_t number = 1; line != NULL; number++) {
        char *end = strchr(line, '\n');
        if (end != NULL) {
            *end = '\0';
        }
        used += split_line(file, line, number, file->words + used);
        line = end != NULL ? end + 1 : NULL;
    }
}

struct key_values key_values_read(const char *what, const char *path, const char *schema, int version,
                                  const char *remedy) {
    struct key_values file = {.what = what, .path = path, .remedy = remedy};
    char wanted[32];
    char cause[256];
    size_t length = 0;
    file.text = file_read(path, &length, cause, sizeof cause);
    if (file.text == NULL) {
        snprintf(file.fault, sizeof file.fault, "%s: %s", what, cause);
        return file;
    }
    const bool is_json = file.text[strspn(file.text, " \t\r\n")] == '{';
    const bool is_whole = length > 0 && file.text[length - 1] == '\n';
    split(&file, length);
    snprintf(wanted, sizeof wanted, "%d", version);
    const struct key_line *first = file.lines;
    if (is_json) {
        key_values_fail(&file, NULL, "is JSON, which older versions wrote; %s", remedy);
    } else if (file.count == 0 || strcmp(first->key, "schema") != 0 || first->count != 2 ||
               strcmp(first->values[0], schema) != 0 || strcmp(first->values[1], wanted) != 0) {
        key_values_fail(&file, NULL, "does not begin with the line 'schema %s %s'; %s", schema, wanted, remedy);
    } else if (!is_whole) {
        key_values_fail(&file, NULL, "is cut off: its last line has no end");
    }
    return file;
}

void key_values_free(struct key_values *file) {
    free(file->text);
    free(file->words);
    free(file->lines);
    *file = (struct key_values){.text = NULL};
}

const struct key_line *key_values_next(const struct key_values *file, const char *key, const struct key_line *after) {
    for (size_t i = after != NULL ? (size_t)(after - file->lines) + 1 : 0; i < file->count; i++) {
        if (strcmp(file->lines[i].key, key) == 0) {
            return &file->lines[i];
        }
    }
    return NULL;
}

const struct key_line *key_values_line(struct key_values *file, const char *key) {
    const struct key_line *line = key_values_next(file, key, NULL);
    if (line == NULL) {
        key_values_fail(file, NULL, "lacks the line '%s'; %s", key, file->remedy);
    }
    return line;
}

const char *key_values_text(struct key_values *file, const struct key_line *line, size_t index, const char *name) {
    if (line != NULL && index < line->count) {
        return line->values[index];
    }
    if (line != NULL) {
        key_values_fail(file, line, "'%s' lacks its value %zu, %s", line->key, index + 1, name);
    }
    return "";
}

uint64_t key_values_number(struct key_values *file, const struct key_line *line, size_t index, const char *name,
                           uint64_t least) {
    const char *text = key_values_text(file, line, index, name);
    char *end = NULL;
    errno = 0;
    const unsigned long long number = strtoull(text, &end, 10);
    if (text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 && number >= least &&
        number <= UINT64_C(1) << 53) {
        return number;
    }
    if (text[0] != '\0') {
        key_values_fail(file, line, "%s must be a whole number of at least %" PRIu64 ", not '%s'", name, least, text);
    }
    return least;
}

void key_values_begin(struct key_writer *writer, const char *schema, int version) {
    writer->file = open_memstream(&writer->text, &writer->length);
    if (writer->file == NULL) {
        fail_die("open_memstream failed");
    }
    fprintf(writer->file, "schema %s %d\n", schema, version);
}

bool key_values_end(struct key_writer *writer, const char *path, char *error, size_t error_size) {
    if (fclose(writer->file) != 0) {
        fail_die("out of memory");
    }
    const bool good = file_replace(path, writer->text, writer->length, error, error_size);
    free(writer->text);
    return good;
}
