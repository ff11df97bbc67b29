#include "variants.h"

#include <string.h>

const char *const operation_names[] = {"allgather", "bcast", "allreduce", NULL};

enum { SPIN, BARRIER, PAPER, METHOD1, METHOD1_BARRIER, METHOD2 };

const struct variant variant_table[VARIANTS] = {
    [SPIN] = {.name = "spin",
              .tries_ways = true,
              .sync = HYBRID_SPIN,
              .method = HYBRID_METHOD_AUTO,
              .help = "the library's own choice; eviction of what was read, or the paper's own method, where that was "
                      "faster in trials"},
    [BARRIER] = {.name = "barrier",
                 .sync = HYBRID_BARRIER,
                 .method = HYBRID_METHOD_AUTO,
                 .help = "ranks wait in MPI_Barrier, and evict nothing"},
    [PAPER] = {.name = "paper",
               .of_allreduce_only = true,
               .sync = HYBRID_SPIN,
               .method = HYBRID_METHOD_PAPER,
               .help = "the paper's choice: method 2 up to its cut-off, method 1 above, spinning (section 5.2.4)"},
    [METHOD1] = {.name = "method1",
                 .of_allreduce_only = true,
                 .sync = HYBRID_SPIN,
                 .method = HYBRID_METHOD_REDUCE,
                 .help = "MPI_Reduce within the node, spinning"},
    [METHOD1_BARRIER] = {.name = "method1_barrier",
                         .of_allreduce_only = true,
                         .sync = HYBRID_BARRIER,
                         .method = HYBRID_METHOD_REDUCE,
                         .help = "the same with MPI_Barrier (figure 14)"},
    [METHOD2] = {.name = "method2",
                 .of_allreduce_only = true,
                 .sync = HYBRID_SPIN,
                 .method = HYBRID_METHOD_LEADER,
                 .help = "the leader reduces, spinning"},
};

const struct variant *variant_of_paper(enum operation operation) {
    return &variant_table[operation == OPERATION_ALLREDUCE ? PAPER : BARRIER];
}

const char *const *variant_names(void) {
    static const char *names[VARIANTS + 1]; /* the last stays NULL */
    for (size_t i = 0; i < VARIANTS; i++) {
        names[i] = variant_table[i].name;
    }
    return names;
}
