/*
 * bind_rank - binds a rank to CPUs, then becomes the program that it is given. No MPI.
 *
 *     mpiexec -n 2 bind_rank VARIABLE 0,1:2,3 PROGRAM [WORD...]
 *
 * It is for launchers that cannot be told CPUs by the kernel's numbers. VARIABLE, which the launcher sets, holds the
 * rank's number among the ranks of its node. There is one list of CPUs per rank, as the kernel writes it, with colons
 * between the lists. Where hosts have different CPUs, the lists of each follow its name: n1=0,1:2,3/n2=4,5:6,7. PROGRAM
 * and all threads that it starts, also an MPI library's, are on these CPUs from the first instruction.
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

/* Returns the lists of this host: all that is given, or what follows the host's name. Free with free(). */
static char *lists_of_host(const char *given) {
    char host[256] = "";
    if (strchr(given, '=') == NULL) {
        return fail_strdup(given);
    }
    if (gethostname(host, sizeof host - 1) != 0) {
        fail_die("this host's name is not known: %s", strerror(errno));
    }
    const size_t length = strlen(host);
    for (const char *of_host = given; of_host != NULL; of_host = strchr(of_host, '/')) {
        of_host += *of_host == '/';
        if (strncmp(of_host, host, length) == 0 && of_host[length] == '=') {
            char *lists = fail_strdup(of_host + length + 1);
            lists[strcspn(lists, "/")] = '\0';
            return lists;
        }
    }
    fail_die("there are no lists of CPUs for this host, %s, in '%s'", host, given);
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
    char *lists = lists_of_host(words[WORD_LISTS]);
    char *list = list_of(lists, rank);
    struct topology_cpus cpus;
    if (list == NULL) {
        fail_die("there are more ranks on this node than lists of CPUs: no list for rank %ld in '%s'", rank, lists);
    }
    if (!topology_cpus_parse(list, &cpus) || topology_cpus_count(&cpus) == 0) {
        fail_die("'%s' is no list of CPUs, such as 0-3,8", list);
    }
    if (!topology_bind_thread(0, &cpus)) {
        fail_die("rank %ld of this node cannot be bound to CPUs %s: %s", rank, list, strerror(errno));
    }
    free(list);
    free(lists);
    execvp(words[WORD_PROGRAM], words + WORD_PROGRAM);
    fail_report("%s cannot be started: %s", words[WORD_PROGRAM], strerror(errno));
    return NOT_STARTED;
}
