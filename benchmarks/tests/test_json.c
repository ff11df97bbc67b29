#include "check.h"
#include "json.h"

#include <math.h>
#include <stdint.h>

int main(void) {
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
    json_line_clear(line);
    json_open_array(line, NULL);
    for (int i = 0; i < 10000; i++) { /* grows */
        json_put_integer(line, NULL, i);
    }
    json_close_array(line);
    const char *text = json_line_text(line);
    CHECK(strncmp(text, "[0,1,2,", 7) == 0 && strcmp(text + strlen(text) - 11, ",9998,9999]") == 0);
    json_line_destroy(line);
    return 0;
}
