/*
 * fields - says what the members of a JSON object of a record are: name, kind, place in a struct, and one sentence. A
 * record is written from these tables, and --describe prints them, so that a field stands here once.
 *
 * The name of a field is that of the struct's member. Units are in names: _ns, _bytes, _seconds, _relative, _ppm.
 * A value that is not known is RECORD_UNKNOWN (below 0) where it is an integer, not finite where it is real, NULL where
 * it is a text, a list or a struct. A table ends with FIELDS_END.
 */
#pragma once

#include "json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum field_kind {
    FIELD_INTEGER, /* int64_t */
    FIELD_INT,     /* int */
    FIELD_SIZE,    /* uint64_t or size_t */
    FIELD_REAL,    /* double; null where it is not finite */
    FIELD_TEXT,    /* const char * */
    FIELD_TRUTH,   /* bool */
    FIELD_MAYBE,   /* int: 0, 1, or not known */
    FIELD_LIST,    /* const int64_t *, and how many */
    FIELD_OBJECT,  /* a struct, or a pointer to one */
    FIELD_OBJECTS, /* a pointer to structs, and how many */
    FIELD_OTHER    /* written by a function */
};

struct field {
    const char *name;
    enum field_kind kind;
    size_t at;                   /* of the member in the struct */
    size_t count_at;             /* of a list: of its length, a size_t */
    const struct field *members; /* of an object */
    size_t size;                 /* of objects: of one of them */
    bool pointed;                /* of an object: the member is a pointer */
    const char *const *values;   /* legal texts, NULL-terminated; NULL: any */
    bool or_null;                /* null where it is not known */
    bool below_0;                /* an integer that may be below 0; others are counts */
    bool may_lack;               /* left out where it is not known */
    const char *shape;           /* FIELD_OTHER: what it writes, in words */
    void (*put)(json_line *line, const char *name, const void *value); /* FIELD_OTHER; value: the struct */
    const char *help;
};

#define FIELDS_END {.name = NULL}

#define FIELD_KIND(of, member)                                                                                         \
    _Generic(((of *)NULL)->member,                                                                                     \
        int64_t: FIELD_INTEGER,                                                                                        \
        int: FIELD_INT,                                                                                                \
        uint64_t: FIELD_SIZE,                                                                                          \
        double: FIELD_REAL,                                                                                            \
        bool: FIELD_TRUTH,                                                                                             \
        char *: FIELD_TEXT,                                                                                            \
        const char *: FIELD_TEXT)

#define FIELD_BEGIN(of, member, sentence)                                                                              \
    .name = #member, .kind = FIELD_KIND(of, member), .at = offsetof(of, member), .help = (sentence)

/* of: the type of the struct. A field that is always known; that may be null; that may be left out; whose text is one
 * of a table. */
#define FIELD(of, member, sentence) {FIELD_BEGIN(of, member, sentence)}
#define FIELD_OR_NULL(of, member, sentence) {FIELD_BEGIN(of, member, sentence), .or_null = true}
#define FIELD_MAY_LACK(of, member, sentence) {FIELD_BEGIN(of, member, sentence), .may_lack = true}
#define FIELD_ONE_OF(of, member, texts, sentence) {FIELD_BEGIN(of, member, sentence), .values = (texts)}

/* An int that is a truth value or not known, which is written as null. */
#define FIELD_TRUTH_OR_NULL(of, member, sentence)                                                                      \
    {.name = #member, .kind = FIELD_MAYBE, .at = offsetof(of, member), .or_null = true, .help = (sentence)}

/* length: the member with the length of the list. */
#define FIELD_LIST_OF(of, member, length, sentence)                                                                    \
    {.name = #member,                                                                                                  \
     .kind = FIELD_LIST,                                                                                               \
     .at = offsetof(of, member),                                                                                       \
     .count_at = offsetof(of, length),                                                                                 \
     .help = (sentence)}

/* table: of the fields of the struct. The second takes a pointer; NULL is written as null. */
#define FIELD_STRUCT(of, member, table, sentence)                                                                      \
    {.name = #member, .kind = FIELD_OBJECT, .at = offsetof(of, member), .members = (table), .help = (sentence)}
#define FIELD_STRUCT_OR_NULL(of, member, table, sentence)                                                              \
    {.name = #member,                                                                                                  \
     .kind = FIELD_OBJECT,                                                                                             \
     .at = offsetof(of, member),                                                                                       \
     .members = (table),                                                                                               \
     .pointed = true,                                                                                                  \
     .or_null = true,                                                                                                  \
     .help = (sentence)}

/* An array of objects: member is a pointer to so many structs. */
#define FIELD_STRUCTS(of, member, length, table, sentence)                                                             \
    {.name = #member,                                                                                                  \
     .kind = FIELD_OBJECTS,                                                                                            \
     .at = offsetof(of, member),                                                                                       \
     .count_at = offsetof(of, length),                                                                                 \
     .members = (table),                                                                                               \
     .size = sizeof *((of *)NULL)->member,                                                                             \
     .help = (sentence)}

/* Written by a function, which gets the struct. */
#define FIELD_BY(name_of, function, words, sentence)                                                                   \
    {.name = (name_of), .kind = FIELD_OTHER, .shape = (words), .put = (function), .help = (sentence)}

/* Writes the members of an open object. table NULL: none. */
void fields_put(json_line *line, const struct field *table, const void *of);

/* Returns them as a JSON object. Free with free(). */
char *fields_text(const struct field *table, const void *of);

/* Writes a table as an array of objects under this name; table NULL: an empty array. */
void fields_describe(json_line *line, const char *name, const struct field *table);
