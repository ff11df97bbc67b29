/*
 * bind_rank - binds a rank to CPUs, then becomes the program that it is given. No MPI.
 *
 *     mpiexec -n 2 bind_rank VARIABLE 0,1:2,3 PROGRAM [WORD...]
 *
 * It is for launchers that cannot be told CPUs by the kernel's numbers. VARIABLE, which the launcher sets, holds the
 * rank's number among the ranks of its node. There is one list of CPUs per rank, as the kernel writes it, with colons
 * between the lists. PROGRAM and all threads that it starts, also an MPI library's, are on these CPUs from the first
 * instruction.
 */
#include "fail.h"
#include "topology.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORD_VARIABLE = 1, WORD_LISTS, WORD_PROGRAM, NOT_STARTED = 127 };

/* Returns the number that a variable holds; -1 where it holds none. */
static long local_rank(const char *variable) {
    const char *text = getenv(variable);
    char *end = NULL;
    errno = 0;
    const long rank = text == NULL ? -1 : strtol(text, &end, 10);
    return text != NULL && end != text && *end == '\0' && errno == 0 && rank >= 0 ? rank : -1;
}

/* Returns the list with that index; NULL where there are fewer lists. Free with free(). */
static char *list_of(const char *lists, long number) {
    for (; number > 0 && lists != NULL; number--) {
        lists = strchr(lists, ':');
        lists = lists == NULL ? NULL : lists + 1;
    }
    if (lists == NULL) {
        return NULL;
    }
    char *list = fail_strdup(lists);
    list[strcspn(list, ":")] = '\0';
    return list;
}

int main(int count, char **words) {
    fail_setup("bind_rank", -1, NULL);
    if (count <= WORD_PROGRAM) {
        fail_die("a variable, lists of CPUs and a program are needed: bind_rank VARIABLE 0,1:2,3 PROGRAM [WORD...]");
    }
    const long rank = local_rank(words[WORD_VARIABLE]);
    if (rank < 0) {
        fail_die("the launcher does not say which rank this is: %s holds no number", words[WORD_VARIABLE]);
    }
    char *list = list_of(words[WORD_LISTS], rank);
    struct topology_cpus cpus;
    if (list == NULL) {
        fail_die("there are more ranks on this node than lists of CPUs: no list for rank %ld in '%s'", rank,
                 words[WORD_LISTS]);
    }
    if (!topology_cpus_parse(list, &cpus) || topology_cpus_count(&cpus) == 0) {
        fail_die("'%s' is no list of CPUs, such as 0-3,8", list);
    }
    if (!topology_bind_thread(0, &cpus)) {
        fail_die("rank %ld of this node cannot be bound to CPUs %s: %s", rank, list, strerror(errno));
    }
    free(list);
    execvp(words[WORD_PROGRAM], words + WORD_PROGRAM);
    fail_report("%s cannot be started: %s", words[WORD_PROGRAM], strerror(errno));
    return NOT_STARTED;
}
