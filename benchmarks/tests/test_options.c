#include "check.h"
#include "options.h"

#include <stdint.h>

static const struct option_choice fruits[] = {{"apple", NULL}, {"pear", NULL}, {"plum", NULL}, {NULL, NULL}};

struct parsed {
    bool flag;
    const char *text;
    int64_t whole;
    double real;
    int one;
    struct option_list several;
    struct option_list times;
    int64_t time;
    struct option_list numbers;
    struct option_list reals;
    char error[256];
};

static bool parse(struct parsed *p, int argc, const char **argv) {
    *p = (struct parsed){.whole = -1, .one = -1, .time = -1};
    const struct option_entry entries[] = {
        {.name = "flag", .kind = OPTION_FLAG, .target = &p->flag, .help = "a flag"},
        {.name = "text", .kind = OPTION_TEXT, .target = &p->text, .value_name = "TEXT", .help = "a text"},
        {.name = "whole",
         .kind = OPTION_INTEGER,
         .target = &p->whole,
         .minimum = 1,
         .maximum = 100,
         .value_name = "N",
         .help = "n"},
        {.name = "real",
         .kind = OPTION_REAL,
         .target = &p->real,
         .minimum = 0,
         .maximum = 1,
         .value_name = "X",
         .help = "x"},
        {.name = "one",
         .kind = OPTION_CHOICE,
         .target = &p->one,
         .choices = fruits,
         .value_name = "FRUIT",
         .help = "one"},
        {.name = "several",
         .kind = OPTION_CHOICES,
         .target = &p->several,
         .choices = fruits,
         .value_name = "LIST",
         .help = "some"},
        {.name = "times", .kind = OPTION_DURATIONS, .target = &p->times, .value_name = "LIST", .help = "times"},
        {.name = "time", .kind = OPTION_DURATION, .target = &p->time, .value_name = "T", .help = "a time"},
        {.name = "numbers",
         .kind = OPTION_INTEGERS,
         .target = &p->numbers,
         .minimum = 0,
         .maximum = 8191,
         .value_name = "LIST",
         .help = "ns"},
        {.name = "reals",
         .kind = OPTION_REALS,
         .target = &p->reals,
         .minimum = 0,
         .maximum = 1000,
         .value_name = "LIST",
         .help = "xs"},
        {.name = NULL}};
    char *words[16];
    for (int i = 0; i < argc; i++) {
        words[i] = strdup(argv[i]);
    }
    bool good = options_parse(entries, argc, words, p->error, sizeof p->error);
    for (int i = 0; i < argc; i++) {
        if (p->text != words[i] && (p->text == NULL || p->text < words[i] || p->text > words[i] + strlen(words[i]))) {
            free(words[i]);
        } else {
            p->text = argv[i] + (p->text - words[i]); /* literals live longer */
            free(words[i]);
        }
    }
    char *help = options_help(entries);
    CHECK(strstr(help, "--several LIST") != NULL && strstr(help, "apple, pear, plum") != NULL);
    free(help);
    return good;
}

static void forget(struct parsed *p) {
    options_free_list(&p->several);
    options_free_list(&p->times);
    options_free_list(&p->numbers);
    options_free_list(&p->reals);
}

#define PARSE(p, ...)                                                                                                  \
    parse((p), (int)(sizeof((const char *[]){"program", __VA_ARGS__}) / sizeof(char *)),                               \
          (const char *[]){"program", __VA_ARGS__})

static void refused(const char *first, const char *second, const char *expected) {
    struct parsed p;
    const char *words[] = {"program", first, second};
    bool good = parse(&p, second != NULL ? 3 : 2, words);
    if (good || strstr(p.error, expected) == NULL || strchr(p.error, '\n') != NULL) {
        fprintf(stderr, "%s %s: accepted, or the wrong line: %s (not: %s)\n", first, second != NULL ? second : "",
                p.error, expected);
        exit(1);
    }
    forget(&p);
}

static void test_durations(void) {
    static const struct {
        const char *text;
        int64_t time;
    } good[] = {{"8ms", 8000000},
                {"500us", 500000},
                {"1s", 1000000000},
                {"1.024s", 1024000000},
                {"1ns", 1},
                {".5ms", 500000},
                {"3600s", INT64_C(3600000000000)}};
    static const char *const bad[] = {"",      "8",     "ms",   "-8ms", "8 ms",  "8m",     "8msx", "0s",  "0.1ns",
                                      "1e3ms", "0x8ms", "nans", "infs", "3601s", "1.2.3s", "/8ms", "+1s", "8MS"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        int64_t time = 0;
        CHECK(options_parse_duration(good[i].text, strlen(good[i].text), &time) && time == good[i].time);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t time = 0;
        CHECK(!options_parse_duration(bad[i], strlen(bad[i]), &time));
    }
}

static void test_lists_that_were_not_given(void) {
    const struct option_values usual = {{5, 3, 8}, 3};
    struct option_list list = {0};
    CHECK(options_fill_list(&list, &usual) && list.count == 3 && list.values[1] == 3);
    CHECK(!options_fill_list(&list, &usual) && !options_fill_range(&list, 0, 2) && list.count == 3);
    options_free_list(&list);
    CHECK(options_fill_range(&list, 7, 2) && list.count == 2 && list.values[0] == 7 && list.values[1] == 8);
    options_free_list(&list);
}

int main(void) {
    struct parsed p;
    CHECK(PARSE(&p, "--flag", "--text", "a b", "--whole=7", "--real", "0.5", "--one=pear", "--several", "plum,apple",
                "--several=pear", "--times=500us,8ms", "--times", "1s"));
    CHECK(p.flag && p.whole == 7 && p.real == 0.5 && p.one == 1);
    CHECK_TEXT(p.text, "a b");
    CHECK(p.several.count == 3 && p.several.values[0] == 2 && p.several.values[1] == 0 && p.several.values[2] == 1);
    CHECK(p.times.count == 3 && p.times.values[0] == 500000 && p.times.values[2] == 1000000000);
    forget(&p);
    CHECK(PARSE(&p, "--text=--flag=x"));
    CHECK_TEXT(p.text, "--flag=x");
    forget(&p);
    CHECK(PARSE(&p, "--time", "100us") && p.time == 100000);
    forget(&p);
    CHECK(PARSE(&p, "--time=0") && p.time == 0);
    forget(&p);

    refused("--no-such", NULL, "unknown option '--no-such'");
    refused("--fla", NULL, "unknown option '--fla'");
    refused("--no-such=3", NULL, "unknown option '--no-such'");
    refused("-f", NULL, "not an option");
    refused("--", NULL, "not an option");
    refused("word", NULL, "not an option");
    refused("--flag=yes", NULL, "takes no value");
    refused("--text", NULL, "needs a value: TEXT");
    refused("--text=", NULL, "empty");
    refused("--whole", "0", "not a whole number from 1 to 100");
    refused("--whole", "101", "not a whole number from 1 to 100");
    refused("--whole", "7x", "not a whole number");
    refused("--whole", "7.5", "not a whole number");
    refused("--whole", " 7", "not a whole number");
    refused("--whole", "99999999999999999999", "not a whole number");
    refused("--real", "1.5", "not a number from 0 to 1");
    refused("--real", "nan", "not a number");
    refused("--one", "cherry", "unknown 'cherry'; choose from apple, pear, plum");
    refused("--several", "apple,,pear", "unknown ''");
    refused("--several", "apple,apple", "given twice");
    refused("--times", "8ms,8ms", "ascend");
    refused("--times", "8", "write a number with a unit");
    CHECK(PARSE(&p, "--numbers", "3,0,3") && p.numbers.count == 3 && p.numbers.values[0] == 3 &&
          p.numbers.values[1] == 0);
    forget(&p);
    refused("--numbers", "1,,2", "'' is not a whole number from 0 to 8191");
    refused("--numbers", "1,8192", "'8192' is not a whole number");
    refused("--numbers", "0-3", "'0-3' is not a whole number");
    refused("--numbers", "1,99999999999999999999999999999999999999", "not a whole number");
    CHECK(PARSE(&p, "--reals", "2.5,0,0.0000005") && p.reals.count == 3 && p.reals.values[0] == 2500000 &&
          p.reals.values[1] == 0 && p.reals.values[2] == 1); /* millionths, rounded */
    forget(&p);
    refused("--reals", "1,-0.5", "'-0.5' is not a number from 0 to 1000");
    refused("--reals", "1e4", "'1e4' is not a number from 0 to 1000");
    refused("--reals", "1,,2", "'' is not a number");
    refused("--time", "100", "'100' is not a time; write a number with a unit");
    refused("--time", "-1us", "write a number with a unit");
    refused("--time", "1us,2us", "write a number with a unit");
    test_durations();
    test_lists_that_were_not_given();
    return 0;
}
