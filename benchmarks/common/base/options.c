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

static bool refuse(const struct fault *fault, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool refuse(const struct fault *fault, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(fault->text, fault->size, format, arguments);
    va_end(arguments);
    return false;
}

bool options_fill_list(struct option_list *list, const int64_t *values, size_t count) {
    if (list->count > 0) {
        return false;
    }
    list->values = fail_alloc(count, sizeof *list->values);
    list->count = count;
    memcpy(list->values, values, count * sizeof *values);
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
        if (entries->kind == OPTION_INTEGERS || entries->kind == OPTION_REALS || entries->kind == OPTION_CHOICES ||
            entries->kind == OPTION_DURATIONS) {
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
static void list_choices(const char *const *choices, char *text, size_t size) {
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; choices[i] != NULL && used < size; i++) {
        int put = snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "", choices[i]);
        used += put > 0 ? (size_t)put : 0;
    }
}

static int find_choice(const char *const *choices, const char *text, size_t length) {
    for (int i = 0; choices[i] != NULL; i++) {
        if (strlen(choices[i]) == length && strncmp(choices[i], text, length) == 0) {
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
    if (entry->kind == OPTION_INTEGERS) {
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
        return refuse(fault, "--%s: its value is empty; it takes %s", entry->name, entry->value_name);
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
                return refuse(&fault, "--%s needs a value: %s", entry->name, entry->value_name);
            }
            value = argv[++i];
        }
        if (!parse_value(entry, value, &fault)) {
            return false;
        }
    }
    return true;
}

char *options_describe(const struct option_entry *entries) {
    size_t capacity = 256;
    for (const struct option_entry *entry = entries; entry->name != NULL; entry++) {
        capacity += strlen(entry->name) + 2 * strlen(entry->help) + 128 + 600;
    }
    char *text = fail_alloc(capacity, 1);
    size_t used = 0;
    for (const struct option_entry *entry = entries; entry->name != NULL; entry++) {
        used +=
            (size_t)snprintf(text + used, capacity - used, "  --%s%s%s\n", entry->name,
                             entry->value_name != NULL ? " " : "", entry->value_name != NULL ? entry->value_name : "");
        /* wrapped at 100 columns */
        const char *rest = entry->help;
        while (*rest != '\0') {
            size_t length = strlen(rest);
            size_t cut = length;
            if (length > 90) {
                cut = 90;
                while (cut > 0 && rest[cut] != ' ') {
                    cut--;
                }
                cut = cut > 0 ? cut : 90;
            }
            used += (size_t)snprintf(text + used, capacity - used, "        %.*s\n", (int)cut, rest);
            rest += cut;
            rest += strspn(rest, " ");
        }
        if (entry->choices != NULL) {
            char legal[MOST_LEGAL];
            list_choices(entry->choices, legal, sizeof legal);
            used += (size_t)snprintf(text + used, capacity - used, "        (%s)\n", legal);
        }
    }
    return text;
}
