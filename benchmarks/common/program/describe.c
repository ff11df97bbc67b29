#include "program_internal.h"

#include "json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The entries of the table of options begin with the benchmark's own. */
static size_t own_options(const struct program *program) {
    struct option_entry own[PROGRAM_MOST_OPTIONS] = {{.name = NULL}};
    size_t count = 0;
    if (program->kind->describe != NULL) {
        program->kind->describe(own);
    }
    while (own[count].name != NULL) {
        count++;
    }
    return count;
}

static void describe_points(json_line *line, const struct program_kind *kind) {
    json_open_array(line, "points");
    if (kind->points != NULL && kind->kinds == NULL) {
        sampler_describe(line, kind->points);
    }
    for (size_t i = 0; kind->kinds != NULL && kind->kinds[i] != NULL; i++) {
        sampler_describe(line, kind->kinds[i]);
    }
    json_close_array(line);
}

static void describe_program(json_line *line, const struct program *program) {
    const struct program_kind *kind = program->kind;
    json_put_string(line, "program", kind->name);
    json_put_string(line, "family", kind->family);
    json_put_integer(line, "method", kind->method);
    json_put_boolean(line, "configurations", kind->configurations);
    json_put_boolean(line, "repeats", kind->repeats);
    options_describe(line, program->options, program->options + own_options(program), program_grid_choices);
    fields_describe(line, "plan", kind->plan);
    fields_describe(line, "header", kind->header);
    describe_points(line, kind);
}

static void describe_record(json_line *line, const struct program *program) {
    json_put_string(line, "schema", RECORD_SCHEMA);
    json_put_integer(line, "schema_version", RECORD_VERSION);
    options_describe(line, program->options + own_options(program), NULL, program_grid_choices);
    fields_describe(line, "header", record_header_fields);
    fields_describe(line, "point", record_point_fields);
    fields_describe(line, "footer", record_footer_fields);
}

/* Returns it as text. Free with free(). */
static char *description(const struct program *program, enum program_description what) {
    json_line *line = json_line_create();
    json_open_object(line, NULL);
    if (what == DESCRIBE_RECORD) {
        describe_record(line, program);
    } else {
        describe_program(line, program);
    }
    json_close_object(line);
    return json_line_take_broken(line);
}

void program_describe(const struct program *program, enum program_description what) {
    char *text = description(program, what);
    printf("%s\n", text);
    free(text);
}

void program_describe_hash(const struct program *program, char hash[PROGRAM_HASH]) {
    uint64_t value = UINT64_C(14695981039346656037);
    char *text = description(program, DESCRIBE_PROGRAM);
    for (const char *c = text; *c != '\0'; c++) {
        value = (value ^ (unsigned char)*c) * UINT64_C(1099511628211);
    }
    free(text);
    snprintf(hash, PROGRAM_HASH, "%016" PRIx64, value);
}
