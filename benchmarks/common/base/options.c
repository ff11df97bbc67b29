#include "options.h"

#include "fail.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_NANOSECONDS 3600e9

/* Bytes of a list of legal values: the names of all collectives fit. */
enum { MOST_LEGAL = 1280 };

struct fault {
    char *text;
    size_t size;
};

static const char *value_name(const struct option_entry *entry) {
    return entry->value_name != NULL        ? entry->value_name
           : option_is_list(entry->kind)    ? "LIST"
           : entry->kind == OPTION_CHOICE   ? "NAME"
           : entry->kind == OPTION_DURATION ? "T"
           : entry->kind == OPTION_FLAG     ? ""
                                            : "N";
}

static bool refuse(const struct fault *fault, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool refuse(const struct fault *fault, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(fault->text, fault->size, format, arguments);
    va_end(arguments);
    return false;
}

bool options_fill_list(struct option_list *list, const struct option_values *values) {
    if (list->count > 0) {
        return false;
    }
    list->values = fail_alloc(values->count, sizeof *list->values);
    list->count = values->count;
    memcpy(list->values, values->items, values->count * sizeof *values->items);
    return true;
}

bool options_fill_range(struct option_list *list, int64_t first, size_t count) {
    if (list->count > 0) {
        return false;
    }
    list->values = fail_alloc(count, sizeof *list->values);
    list->count = count;
    for (size_t i = 0; i < count; i++) {
        list->values[i] = first + (int64_t)i;
    }
    return true;
}

void options_free_list(struct option_list *list) {
    free(list->values);
    *list = (struct option_list){0};
}

void options_free(const struct option_entry *entries) {
    for (; entries->name != NULL; entries++) {
        if (option_is_list(entries->kind)) {
            options_free_list(entries->target);
        }
    }
}

static void append(struct option_list *list, int64_t value) {
    list->values = fail_realloc(list->values, list->count + 1, sizeof *list->values);
    list->values[list->count++] = value;
}

bool options_parse_duration(const char *text, size_t length, int64_t *nanoseconds) {
    static const struct {
        const char *name;
        double factor;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    char copy[64];
    if (length == 0 || length >= sizeof copy || text[0] < '.' || text[0] > '9' || text[0] == '/') {
        return false; /* no sign, no space, no "inf" */
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    size_t digits = strspn(copy, "0123456789.");
    if (copy[digits] != 'n' && copy[digits] != 'u' && copy[digits] != 'm' && copy[digits] != 's') {
        return false; /* no exponents, no hexadecimal */
    }
    char *end = NULL;
    double number = strtod(copy, &end);
    for (size_t i = 0; end != copy && i < sizeof units / sizeof *units; i++) {
        if (strcmp(end, units[i].name) == 0) {
            double value = floor(number * units[i].factor + 0.5);
            if (!(value >= 1) || value > MOST_NANOSECONDS) {
                return false;
            }
            *nanoseconds = (int64_t)value;
            return true;
        }
    }
    return false;
}

/* "a, b, c" of a table of choices. */
static void list_choices(const struct option_choice *choices, char *text, size_t size) {
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; choices[i].name != NULL && used < size; i++) {
        int put = snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "", choices[i].name);
        used += put > 0 ? (size_t)put : 0;
    }
}

static int find_choice(const struct option_choice *choices, const char *text, size_t length) {
    for (int i = 0; choices[i].name != NULL; i++) {
        if (strlen(choices[i].name) == length && strncmp(choices[i].name, text, length) == 0) {
            return i;
        }
    }
    return -1;
}

static bool parse_list(const struct option_entry *entry, const char *value, const struct fault *fault) {
    struct option_list *list = entry->target;
    for (const char *item = value;; item++) {
        size_t length = strcspn(item, ",");
        if (entry->kind == OPTION_DURATIONS) {
            int64_t time = 0;
            if (!options_parse_duration(item, length, &time)) {
                return refuse(
                    fault,
                    "--%s: '%.*s' is not a time; write a number with a unit (ns, us, ms, s), such as 500us or 8ms,16ms",
                    entry->name, (int)length, item);
            }
            if (list->count > 0 && list->values[list->count - 1] >= time) {
                return refuse(fault, "--%s: the times must ascend, '%.*s' does not", entry->name, (int)length, item);
            }
            append(list, time);
        } else {
            int choice = find_choice(entry->choices, item, length);
            if (choice < 0) {
                char legal[MOST_LEGAL];
                list_choices(entry->choices, legal, sizeof legal);
                return refuse(fault, "--%s: unknown '%.*s'; choose from %s", entry->name, (int)length, item, legal);
            }
            for (size_t i = 0; i < list->count; i++) {
                if (list->values[i] == choice) {
                    return refuse(fault, "--%s: '%.*s' is given twice", entry->name, (int)length, item);
                }
            }
            append(list, choice);
        }
        item += length;
        if (*item == '\0') {
            return true;
        }
    }
}

static bool parse_number(const struct option_entry *entry, const char *value, const struct fault *fault) {
    char *end = NULL;
    errno = 0;
    bool integer = entry->kind != OPTION_REAL && entry->kind != OPTION_REALS;
    long long whole = integer ? strtoll(value, &end, 10) : 0;
    double number = integer ? (double)whole : strtod(value, &end);
    bool number_like = (value[0] >= '0' && value[0] <= '9') || value[0] == '-' || value[0] == '.';
    if (!number_like || end == value || *end != '\0' || errno == ERANGE || !(number >= entry->minimum) ||
        !(number <= entry->maximum)) {
        return refuse(fault, "--%s: '%s' is not %s from %.15g to %.15g", entry->name, value,
                      integer ? "a whole number" : "a number", entry->minimum, entry->maximum);
    }
    if (entry->multiple_of > 0 && whole % entry->multiple_of != 0) {
        return refuse(fault, "--%s: %lld is no multiple of %lld", entry->name, whole, (long long)entry->multiple_of);
    }
    if (entry->kind == OPTION_INTEGERS) {
        const struct option_list *list = entry->target;
        if (entry->ascending && list->count > 0 && list->values[list->count - 1] >= whole) {
            return refuse(fault, "--%s: the values must ascend, %lld follows %lld", entry->name, whole,
                          (long long)list->values[list->count - 1]);
        }
        if (entry->most > 0 && list->count == entry->most) {
            return refuse(fault, "--%s: at most %zu values", entry->name, entry->most);
        }
        append(entry->target, whole);
    } else if (entry->kind == OPTION_REALS) {
        append(entry->target, (int64_t)floor(number * 1e6 + 0.5));
    } else if (integer) {
        *(int64_t *)entry->target = whole;
    } else {
        *(double *)entry->target = number;
    }
    return true;
}

static bool parse_numbers(const struct option_entry *entry, const char *value, const struct fault *fault) {
    for (const char *item = value;; item++) {
        const size_t length = strcspn(item, ",");
        char number[32];
        snprintf(number, sizeof number, "%.*s", (int)length, item); /* one that is cut is too large anyway */
        if (!parse_number(entry, number, fault)) {
            return false;
        }
        item += length;
        if (*item == '\0') {
            return true;
        }
    }
}

static bool parse_value(const struct option_entry *entry, const char *value, const struct fault *fault) {
    if (value[0] == '\0') {
        return refuse(fault, "--%s: its value is empty; it takes %s", entry->name, value_name(entry));
    }
    switch (entry->kind) {
    case OPTION_FLAG:
        *(bool *)entry->target = true;
        return true;
    case OPTION_TEXT:
        *(const char **)entry->target = value;
        return true;
    case OPTION_INTEGER:
    case OPTION_REAL:
        return parse_number(entry, value, fault);
    case OPTION_INTEGERS:
    case OPTION_REALS:
        return parse_numbers(entry, value, fault);
    case OPTION_CHOICE: {
        int choice = find_choice(entry->choices, value, strlen(value));
        if (choice < 0) {
            char legal[MOST_LEGAL];
            list_choices(entry->choices, legal, sizeof legal);
            return refuse(fault, "--%s: unknown '%s'; choose from %s", entry->name, value, legal);
        }
        *(int *)entry->target = choice;
        return true;
    }
    case OPTION_DURATION:
        if (strcmp(value, "0") == 0) {
            *(int64_t *)entry->target = 0;
        } else if (!options_parse_duration(value, strlen(value), entry->target)) {
            return refuse(fault,
                          "--%s: '%s' is not a time; write a number with a unit (ns, us, ms, s), such as 100us, or 0",
                          entry->name, value);
        }
        return true;
    case OPTION_CHOICES:
    case OPTION_DURATIONS:
        return parse_list(entry, value, fault);
    }
    return refuse(fault, "--%s: cannot be parsed", entry->name);
}

bool options_parse(const struct option_entry *entries, int argc, char *const *argv, char *error, size_t error_size) {
    const struct fault fault = {error, error_size};
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (strncmp(word, "--", 2) != 0 || word[2] == '\0') {
            return refuse(&fault, "'%s' is not an option; options are written --name value, see --help", word);
        }
        const char *name = word + 2;
        size_t length = strcspn(name, "=");
        const struct option_entry *entry = entries;
        while (entry->name != NULL && !(strlen(entry->name) == length && strncmp(entry->name, name, length) == 0)) {
            entry++;
        }
        if (entry->name == NULL) {
            return refuse(&fault, "unknown option '%.*s'; see --help for those that exist", (int)length + 2, word);
        }
        const char *value = name[length] == '=' ? name + length + 1 : NULL;
        if (entry->kind == OPTION_FLAG) {
            if (value != NULL) {
                return refuse(&fault, "--%s takes no value", entry->name);
            }
            value = "yes";
        } else if (value == NULL) {
            if (i + 1 == argc) {
                return refuse(&fault, "--%s needs a value: %s", entry->name, value_name(entry));
            }
            value = argv[++i];
        }
        if (!parse_value(entry, value, &fault)) {
            return false;
        }
    }
    return true;
}

/* Prints a text in lines of at most 100 columns, so far indented; `first` stands before its first word. */
static void print_wrapped(FILE *file, int indent, const char *first, const char *text) {
    int column = fprintf(file, "%*s%s", indent, "", first);
    for (const char *word = text + strspn(text, " "); *word != '\0';) {
        const int length = (int)strcspn(word, " ");
        if (column > indent && column + 1 + length > 100) {
            fputc('\n', file);
            column = fprintf(file, "%*s", indent, "") - 1;
        } else if (column > indent) {
            fputc(' ', file);
        } else {
            column--;
        }
        fprintf(file, "%.*s", length, word);
        column += 1 + length;
        word += length;
        word += strspn(word, " ");
    }
    fputc('\n', file);
}

/* A short table with a line for each choice, a long one by names alone. */
static void print_choices(FILE *file, const struct option_choice *choices) {
    enum { SHORT = 20 };
    char legal[MOST_LEGAL];
    size_t count = 0;
    while (choices[count].name != NULL) {
        count++;
    }
    if (choices->help == NULL || count > SHORT) {
        list_choices(choices, legal, sizeof legal);
        fprintf(file, "        (%s)\n", legal);
        return;
    }
    for (; choices->name != NULL; choices++) {
        char name[64];
        snprintf(name, sizeof name, "%s:", choices->name);
        print_wrapped(file, 10, name, choices->help);
    }
}

char *options_help(const struct option_entry *entries) {
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    if (file == NULL) {
        fail_die("open_memstream failed");
    }
    for (const struct option_entry *entry = entries; entry->name != NULL; entry++) {
        fprintf(file, "  --%s%s%s\n", entry->name, entry->kind == OPTION_FLAG ? "" : " ", value_name(entry));
        print_wrapped(file, 8, "", entry->help);
        if (entry->choices != NULL) {
            print_choices(file, entry->choices);
        }
    }
    if (fclose(file) != 0) {
        fail_die("out of memory");
    }
    return text;
}

/* ---- describing ---- */

static const char *const kind_names[] = {
    [OPTION_FLAG] = "flag",           [OPTION_TEXT] = "text",       [OPTION_INTEGER] = "integer",
    [OPTION_INTEGERS] = "integers",   [OPTION_REAL] = "number",     [OPTION_REALS] = "numbers",
    [OPTION_CHOICE] = "choice",       [OPTION_CHOICES] = "choices", [OPTION_DURATION] = "duration",
    [OPTION_DURATIONS] = "durations",
};

static void describe_choices(json_line *line, const struct option_choice *choices) {
    json_open_array(line, "choices");
    for (; choices->name != NULL; choices++) {
        json_open_object(line, NULL);
        json_put_string(line, "name", choices->name);
        if (choices->help != NULL) {
            json_put_string(line, "help", choices->help);
        }
        json_close_object(line);
    }
    json_close_array(line);
}

/* What the target holds before an option is parsed. A number below the smallest legal one, or a
 * choice below 0, stands for none. */
static void describe_default(json_line *line, const struct option_entry *entry) {
    if (entry->kind == OPTION_CHOICE && *(int *)entry->target >= 0) {
        json_put_string(line, "default", entry->choices[*(int *)entry->target].name);
    } else if ((entry->kind == OPTION_INTEGER || entry->kind == OPTION_DURATION) &&
               (double)*(int64_t *)entry->target >= entry->minimum) {
        json_put_integer(line, "default", *(int64_t *)entry->target);
    } else if (entry->kind == OPTION_REAL && *(double *)entry->target >= entry->minimum) {
        json_put_real(line, "default", *(double *)entry->target);
    }
}

/* millionths: as those of OPTION_REALS are kept. */
static void describe_values(json_line *line, const char *name, const struct option_values *values, bool millionths) {
    json_open_array(line, name);
    for (size_t i = 0; i < values->count; i++) {
        if (millionths) {
            json_put_real(line, NULL, (double)values->items[i] / 1e6);
        } else {
            json_put_integer(line, NULL, values->items[i]);
        }
    }
    json_close_array(line);
}

static void describe(json_line *line, const struct option_entry *entry, const struct option_choice *grids) {
    json_open_object(line, NULL);
    json_put_string(line, "name", entry->name);
    json_put_string(line, "kind", kind_names[entry->kind]);
    if (entry->maximum >= 1 && entry->kind != OPTION_REAL && entry->kind != OPTION_REALS) {
        json_put_integer(line, "minimum", (int64_t)entry->minimum);
        json_put_integer(line, "maximum", (int64_t)entry->maximum);
    } else if (entry->maximum > 0) {
        json_put_real(line, "minimum", entry->minimum);
        json_put_real(line, "maximum", entry->maximum);
    }
    describe_default(line, entry);
    if (entry->multiple_of > 0) {
        json_put_integer(line, "multiple_of", entry->multiple_of);
    }
    if (entry->ascending || entry->kind == OPTION_DURATIONS) {
        json_put_boolean(line, "ascending", true);
    }
    if (entry->most > 0) {
        json_put_integer(line, "most", (int64_t)entry->most);
    }
    if (entry->parameter != NULL) {
        json_put_string(line, "parameter", entry->parameter);
        json_put_boolean(line, "of_plan", entry->of_plan);
    }
    json_put_string(line, "help", entry->help);
    if (entry->choices != NULL) {
        describe_choices(line, entry->choices);
    }
    if (entry->grids != NULL) {
        json_open_object(line, "grids");
        for (size_t i = 0; grids[i].name != NULL; i++) {
            describe_values(line, grids[i].name, &entry->grids[i], entry->kind == OPTION_REALS);
        }
        json_close_object(line);
    }
    json_close_object(line);
}

void options_describe(json_line *line, const struct option_entry *entries, const struct option_entry *end,
                      const struct option_choice *grids) {
    json_open_array(line, "options");
    for (; entries != end && entries->name != NULL; entries++) {
        describe(line, entries, grids);
    }
    json_close_array(line);
}
