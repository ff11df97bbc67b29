#include "check.h"
#include "fields.h"

#include <math.h>
#include <stdlib.h>

struct inner {
    double share;
};
static const struct field inner_fields[] = {FIELD(struct inner, share, "a share"), FIELDS_END};

static const char *const words[] = {"good", "bad", NULL};

struct row {
    int64_t t_ns;
    int ranks;
    uint64_t size;
    bool late;
    int dirty;
    const char *state;
    const int64_t *times;
    size_t time_count;
    struct inner inside;
    const struct inner *aside;
    const struct inner *each;
    size_t each_count;
};

static void put_twice(json_line *line, const char *name, const void *of) {
    json_put_integer(line, name, 2 * ((const struct row *)of)->ranks);
}

static const struct field table[] = {
    FIELD_OR_NULL(struct row, t_ns, "a time"),
    FIELD(struct row, ranks, "ranks"),
    FIELD(struct row, size, "a size"),
    FIELD(struct row, late, "whether late"),
    FIELD_TRUTH_OR_NULL(struct row, dirty, "whether dirty"),
    FIELD_ONE_OF(struct row, state, words, "a state"),
    FIELD_LIST_OF(struct row, times, time_count, "times"),
    FIELD_STRUCT(struct row, inside, inner_fields, "inside"),
    FIELD_STRUCT_OR_NULL(struct row, aside, inner_fields, "aside"),
    FIELD_STRUCTS(struct row, each, each_count, inner_fields, "each"),
    FIELD_BY("twice", put_twice, "integer", "twice the ranks"),
    FIELDS_END,
};

static void test_known(void) {
    static const int64_t times[] = {1, 2};
    static const struct inner some[] = {{0.5}, {NAN}};
    const struct row row = {7, 2, 8, true, 1, "good", times, 2, {0.25}, &some[0], some, 2};
    char *text = fields_text(table, &row);
    CHECK_TEXT(text,
               "{\"t_ns\":7,\"ranks\":2,\"size\":8,\"late\":true,\"dirty\":true,\"state\":\"good\",\"times\":[1,2],"
               "\"inside\":{\"share\":0.25},\"aside\":{\"share\":0.5},\"each\":[{\"share\":0.5},{\"share\":null}],"
               "\"twice\":4}");
    free(text);
}

static void test_unknown(void) {
    static const struct field lacking[] = {FIELD_MAY_LACK(struct row, t_ns, "a time"),
                                           FIELD_OR_NULL(struct row, state, "a state"),
                                           FIELD_TRUTH_OR_NULL(struct row, dirty, "whether dirty"),
                                           FIELD_STRUCT_OR_NULL(struct row, aside, inner_fields, "aside"), FIELDS_END};
    const struct row row = {.t_ns = -1, .dirty = -1};
    char *text = fields_text(lacking, &row);
    CHECK_TEXT(text, "{\"state\":null,\"dirty\":null,\"aside\":null}");
    free(text);
    text = fields_text(NULL, NULL);
    CHECK_TEXT(text, "{}");
    free(text);
}

static void test_description(void) {
    static const struct field some[] = {FIELD_OR_NULL(struct row, t_ns, "a time"),
                                        FIELD_ONE_OF(struct row, state, words, "a state"),
                                        FIELD_STRUCT(struct row, inside, inner_fields, "inside"), FIELDS_END};
    json_line *line = json_line_create();
    json_open_object(line, NULL);
    fields_describe(line, "own", some);
    json_close_object(line);
    CHECK_TEXT(
        json_line_text(line),
        "{\"own\":[{\"name\":\"t_ns\",\"kind\":\"integer\",\"unit\":\"ns\",\"or_null\":true,\"help\":\"a time\"},"
        "{\"name\":\"state\",\"kind\":\"text\",\"values\":[\"good\",\"bad\"],\"help\":\"a state\"},"
        "{\"name\":\"inside\",\"kind\":\"object\",\"help\":\"inside\",\"members\":[{\"name\":\"share\",\"kind\":"
        "\"number\",\"or_null\":true,\"help\":\"a share\"}]}]}");
    json_line_destroy(line);
}

int main(void) {
    test_known();
    test_unknown();
    test_description();
    return 0;
}
