#include "fields.h"

#include <math.h>
#include <string.h>

static const char *const kind_names[] = {
    [FIELD_INTEGER] = "integer", [FIELD_INT] = "integer",     [FIELD_SIZE] = "integer", [FIELD_REAL] = "number",
    [FIELD_TEXT] = "text",       [FIELD_TRUTH] = "truth",     [FIELD_MAYBE] = "truth",  [FIELD_LIST] = "integers",
    [FIELD_OBJECT] = "object",   [FIELD_OBJECTS] = "objects", [FIELD_OTHER] = "other",
};

static const struct {
    const char *ending;
    const char *unit;
} units[] = {{"_ns", "ns"}, {"_bytes", "bytes"}, {"_seconds", "s"}, {"_ppm", "ppm"}};

static const void *member(const struct field *field, const void *of) {
    return (const char *)of + field->at;
}

static const void *pointer(const struct field *field, const void *of) {
    const void *value = NULL;
    memcpy(&value, member(field, of), sizeof value);
    return value;
}

static size_t count_of(const struct field *field, const void *of) {
    return *(const size_t *)(const void *)((const char *)of + field->count_at);
}

static bool is_known(const struct field *field, const void *of) {
    switch (field->kind) {
    case FIELD_INTEGER:
        return *(const int64_t *)member(field, of) >= 0;
    case FIELD_INT:
    case FIELD_MAYBE:
        return *(const int *)member(field, of) >= 0;
    case FIELD_REAL:
        return isfinite(*(const double *)member(field, of));
    case FIELD_TEXT:
    case FIELD_LIST:
    case FIELD_OBJECTS:
        return pointer(field, of) != NULL;
    case FIELD_OBJECT:
        return !field->pointed || pointer(field, of) != NULL;
    case FIELD_SIZE:
    case FIELD_TRUTH:
    case FIELD_OTHER:
        return true;
    }
    return true;
}

static void put_objects(json_line *line, const struct field *field, const void *of) {
    const char *items = pointer(field, of);
    json_open_array(line, field->name);
    for (size_t i = 0; i < count_of(field, of); i++) {
        json_open_object(line, NULL);
        fields_put(line, field->members, items + i * field->size);
        json_close_object(line);
    }
    json_close_array(line);
}

static void put_object(json_line *line, const struct field *field, const void *of) {
    json_open_object(line, field->name);
    fields_put(line, field->members, field->pointed ? pointer(field, of) : member(field, of));
    json_close_object(line);
}

static void put(json_line *line, const struct field *field, const void *of) {
    switch (field->kind) {
    case FIELD_INTEGER:
        json_put_integer(line, field->name, *(const int64_t *)member(field, of));
        break;
    case FIELD_INT:
        json_put_integer(line, field->name, *(const int *)member(field, of));
        break;
    case FIELD_SIZE:
        json_put_integer(line, field->name, (int64_t)*(const uint64_t *)member(field, of));
        break;
    case FIELD_REAL:
        json_put_real(line, field->name, *(const double *)member(field, of));
        break;
    case FIELD_TEXT:
        json_put_string(line, field->name, pointer(field, of));
        break;
    case FIELD_TRUTH:
        json_put_boolean(line, field->name, *(const bool *)member(field, of));
        break;
    case FIELD_MAYBE:
        json_put_boolean(line, field->name, *(const int *)member(field, of) != 0);
        break;
    case FIELD_LIST:
        json_put_integers(line, field->name, pointer(field, of), count_of(field, of));
        break;
    case FIELD_OBJECT:
        put_object(line, field, of);
        break;
    case FIELD_OBJECTS:
        put_objects(line, field, of);
        break;
    case FIELD_OTHER:
        field->put(line, field->name, of);
        break;
    }
}

void fields_put(json_line *line, const struct field *table, const void *of) {
    for (; table != NULL && table->name != NULL; table++) {
        if (is_known(table, of) || !(table->or_null || table->may_lack)) {
            put(line, table, of);
        } else if (table->or_null) {
            json_put_null(line, table->name);
        }
    }
}

char *fields_text(const struct field *table, const void *of) {
    json_line *line = json_line_create();
    json_open_object(line, NULL);
    fields_put(line, table, of);
    json_close_object(line);
    return json_line_take(line);
}

/* ---- describing ---- */

/* The unit that a name ends with; NULL: none. */
static const char *unit_of(const char *name) {
    const size_t length = strlen(name);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        const size_t ending = strlen(units[i].ending);
        if (length > ending && strcmp(name + length - ending, units[i].ending) == 0) {
            return units[i].unit;
        }
    }
    return NULL;
}

static void describe(json_line *line, const struct field *field) {
    json_open_object(line, NULL);
    json_put_string(line, "name", field->name);
    json_put_string(line, "kind", field->kind == FIELD_OTHER ? field->shape : kind_names[field->kind]);
    if (unit_of(field->name) != NULL) {
        json_put_string(line, "unit", unit_of(field->name));
    }
    if (field->or_null || field->kind == FIELD_REAL) {
        json_put_boolean(line, "or_null", true);
    }
    if (field->may_lack) {
        json_put_boolean(line, "may_lack", true);
    }
    if (field->below_0) {
        json_put_boolean(line, "below_0", true);
    }
    if (field->values != NULL) {
        json_open_array(line, "values");
        for (const char *const *value = field->values; *value != NULL; value++) {
            json_put_string(line, NULL, *value);
        }
        json_close_array(line);
    }
    json_put_string(line, "help", field->help);
    if (field->members != NULL) {
        fields_describe(line, "members", field->members);
    }
    json_close_object(line);
}

void fields_describe(json_line *line, const char *name, const struct field *table) {
    json_open_array(line, name);
    for (; table != NULL && table->name != NULL; table++) {
        describe(line, table);
    }
    json_close_array(line);
}
