#include "check.h"
#include "json.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>

static json_value *parse(const char *text) {
    char error[256] = "";
    return json_parse(text, strlen(text), error, sizeof error);
}

static void test_good(void) {
    json_value *root = parse(
        " {\"a\": [1, 2.5, -3e2, true, false, null], \"b\": {\"c\": \"\\u00e4\\ud83d\\ude00\\n\\\"\"}, \"d\": 42} ");
    CHECK(root != NULL && json_type_of(root) == JSON_OBJECT && json_count(root) == 3);
    const json_value *a = json_member(root, "a");
    uint64_t number = 0;
    CHECK(json_count(a) == 6 && json_count_value(json_item(a, 0), &number) && number == 1);
    CHECK(!json_count_value(json_item(a, 1), &number) && !json_count_value(json_item(a, 2), &number));
    CHECK(json_type_of(json_item(a, 3)) == JSON_BOOLEAN && json_type_of(json_item(a, 5)) == JSON_NULL);
    CHECK(json_item(a, 6) == NULL && json_member(a, "x") == NULL && json_member(root, "x") == NULL &&
          json_member(NULL, "x") == NULL);
    CHECK_TEXT(json_string(json_member(json_member(root, "b"), "c")), "\xC3\xA4\xF0\x9F\x98\x80\n\"");
    CHECK(json_string(json_member(root, "d")) == NULL);
    json_destroy(root);
    static const char *const good[] = {"0", "-0.5e+10", "[]", "{}", "\"\"", "[[[]]]", "\t[1 , 2]\r\n", "\"\\/\\b\\f\""};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        root = parse(good[i]);
        CHECK(root != NULL);
        json_destroy(root);
    }
}

static void refuse(const char *first, ...) {
    va_list others;
    va_start(others, first);
    for (const char *text = first; text != NULL; text = va_arg(others, const char *)) {
        char error[256] = "";
        CHECK(json_parse(text, strlen(text), error, sizeof error) == NULL);
        CHECK(strncmp(error, "not JSON: ", 10) == 0);
    }
    va_end(others);
}

static void test_bad(void) {
    refuse("", " ", "{", "}", "[1,]", "[,1]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "01", "1.", ".5", "+1",
           "1e", "--1", "NaN", "Infinity", "tru", "nulls", "\"", "\"\\x\"", "\"\\u12\"", "\"\\ud800\"", "\"\\udc00x\"",
           "\"\\u0000\"", "\"\x01\"", "\"\xFF\"", "\"\xC0\x80\"", "\"\xED\xA0\x80\"", "\"\xF5\x80\x80\x80\"",
           "\"\xE2\x82\"", "[1] [2]", "{} x", "'a'", "[1 2]", "// c\n1", NULL);
    char deep[400];
    memset(deep, '[', 200);
    memset(deep + 200, ']', 200);
    char error[256];
    CHECK(json_parse(deep, 400, error, sizeof error) == NULL && strstr(error, "64 levels") != NULL);
    /* Every prefix of a document is refused, none of them reads beyond its end. */
    const char *whole = "{\"a\":[1,{\"b\":\"\\u00e4x\"},true]}";
    for (size_t length = 0; length < strlen(whole); length++) {
        char *copy = malloc(length + 1);
        CHECK(copy != NULL);
        memcpy(copy, whole, length);
        copy[length] = 'x'; /* no terminating zero */
        CHECK(json_parse(copy, length, error, sizeof error) == NULL);
        free(copy);
    }
}

static void test_compact(void) {
    const char *text = " { \"a b\" : [ 1 ,\n 2 ] , \"c\\\" d\" : \" x \\\\\" }\n";
    char *compact = json_compact(text, strlen(text));
    CHECK_TEXT(compact, "{\"a b\":[1,2],\"c\\\" d\":\" x \\\\\"}");
    free(compact);
}

static void test_writer(void) {
    json_line *line = json_line_create();
    static const int64_t numbers[] = {1, -2, INT64_MAX};
    json_open_object(line, NULL);
    json_put_string(line, "s", "a\"\\\n\x7F\xC3\xA4\xFF");
    json_put_integer(line, "i", INT64_MIN);
    json_put_real(line, "r", 0.25);
    json_put_real(line, "n", NAN);
    json_put_boolean(line, "t", true);
    json_put_null(line, "z");
    json_open_array(line, "empty");
    json_close_array(line);
    json_put_integers(line, "l", numbers, 3);
    json_open_object(line, "o");
    json_close_object(line);
    json_put_raw(line, "raw", "[0]");
    json_close_object(line);
    const char *expected =
        "{\"s\":\"a\\\"\\\\\\u000a\\u007f\xC3\xA4\xEF\xBF\xBD\",\"i\":-9223372036854775808,\"r\":0.25,\"n\":null,"
        "\"t\":true,\"z\":null,\"empty\":[],\"l\":[1,-2,9223372036854775807],\"o\":{},\"raw\":[0]}";
    CHECK_TEXT(json_line_text(line), expected);
    CHECK(json_line_length(line) == strlen(expected));
    json_value *root = parse(json_line_text(line));
    CHECK(root != NULL);
    json_destroy(root);
    json_line_clear(line);
    json_open_array(line, NULL);
    for (int i = 0; i < 10000; i++) { /* grows */
        json_put_integer(line, NULL, i);
    }
    json_close_array(line);
    root = parse(json_line_text(line));
    uint64_t number = 0;
    CHECK(json_count(root) == 10000 && json_count_value(json_item(root, 9999), &number) && number == 9999);
    json_destroy(root);
    json_line_destroy(line);
}

int main(void) {
    test_good();
    test_bad();
    test_compact();
    test_writer();
    return 0;
}
