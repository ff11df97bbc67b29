#include "names.h"

#include "fail.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

bool names_find(const char *list, bool (*visit)(const char *name, void *context), void *context) {
    if (list == NULL) {
        return false;
    }
    char *copy = fail_strdup(list);
    char *rest = NULL;
    bool found = false;
    for (const char *name = strtok_r(copy, ",", &rest); name != NULL && !found; name = strtok_r(NULL, ",", &rest)) {
        found = visit(name, context);
    }
    free(copy);
    return found;
}

struct question {
    const char *name;
    bool let_in;
};

static bool ask_word(const char *word, void *context) {
    struct question *question = context;
    const bool out = word[0] == '^';
    if (fnmatch(out ? word + 1 : word, question->name, 0) == 0) {
        question->let_in = !out;
    }
    return false;
}

bool names_let_in(const char *list, const char *name, bool otherwise) {
    struct question question = {name, otherwise};
    names_find(list, ask_word, &question);
    return question.let_in;
}
