#include "check.h"
#include "names.h"

static void test_let_in(void) {
    CHECK(names_let_in("A_*,B", "A_1", false));
    CHECK(names_let_in("A_*,B", "B", false));
    CHECK(!names_let_in("A_*,B", "B1", false));
    CHECK(!names_let_in("A_*,B", "XA_1", false));
    CHECK(names_let_in("a_*_limit", "a_tcp_limit", false));
}

static void test_the_last_word_decides(void) {
    CHECK(!names_let_in("A_*,^A_B*", "A_BC", false));
    CHECK(names_let_in("A_*,^A_B*", "A_C", false));
    CHECK(names_let_in("A_*,^A_B*,A_BC", "A_BC", false));
    CHECK(!names_let_in("^A", "A", true));
}

static void test_where_no_word_matches(void) {
    CHECK(names_let_in("A", "B", true));
    CHECK(!names_let_in("", "B", false));
    CHECK(names_let_in(NULL, "B", true));
    CHECK(!names_let_in(",,", "", false));
}

static bool is_second(const char *name, void *context) {
    const int calls = ++*(int *)context;
    CHECK_TEXT(name, calls == 1 ? "A" : "B");
    return calls == 2;
}

static void test_find(void) {
    int calls = 0;
    CHECK(names_find("A,B,C", is_second, &calls) && calls == 2);
    calls = 0;
    CHECK(!names_find("A", is_second, &calls) && calls == 1);
    CHECK(!names_find(NULL, is_second, &calls) && calls == 1);
}

int main(void) {
    test_let_in();
    test_the_last_word_decides();
    test_where_no_word_matches();
    test_find();
    return 0;
}
