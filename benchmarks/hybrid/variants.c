#include "variants.h"

#include <string.h>

enum { SPIN, UNTUNED, BARRIER, PAPER, METHOD1, METHOD1_BARRIER, METHOD2 };

static const struct hybrid_trials everything = {.method_count = 0};

/* Its two methods, whichever is faster at the point: a cut-off that is right at every size. */
static const enum hybrid_method papers_methods[] = {HYBRID_METHOD_PAPER, HYBRID_METHOD_LEADER, HYBRID_METHOD_REDUCE};
static const struct hybrid_trials papers_trials = {
    .methods = papers_methods, .method_count = sizeof papers_methods / sizeof *papers_methods, .never_evicts = true};

const struct variant variant_table[VARIANTS] = {
    [SPIN] = {.name = "spin",
              .sync = HYBRID_SPIN,
              .method = HYBRID_METHOD_AUTO,
              .trials = &everything,
              .help = "the library's own choice: in trials the fastest of its methods, without or with eviction of "
                      "what was read"},
    [UNTUNED] = {.name = "untuned",
                 .sync = HYBRID_SPIN,
                 .method = HYBRID_METHOD_AUTO,
                 .help = "without trials: what an application gets that never calls hybrid_memory_tune"},
    [BARRIER] = {.name = "barrier",
                 .sync = HYBRID_BARRIER,
                 .method = HYBRID_METHOD_AUTO,
                 .help = "ranks wait in MPI_Barrier, and evict nothing"},
    [PAPER] = {.name = "paper",
               .of_reductions = true,
               .sync = HYBRID_SPIN,
               .method = HYBRID_METHOD_PAPER,
               .trials = &papers_trials,
               .help = "the paper's own method: its method 1 or 2, whichever was faster in trials, spinning (section "
                       "5.2.4)"},
    [METHOD1] = {.name = "method1",
                 .of_reductions = true,
                 .of_paper = true,
                 .sync = HYBRID_SPIN,
                 .method = HYBRID_METHOD_REDUCE,
                 .help = "MPI_Reduce within the node, spinning"},
    [METHOD1_BARRIER] = {.name = "method1_barrier",
                         .of_reductions = true,
                         .of_paper = true,
                         .sync = HYBRID_BARRIER,
                         .method = HYBRID_METHOD_REDUCE,
                         .help = "the same with MPI_Barrier (figure 14)"},
    [METHOD2] = {.name = "method2",
                 .of_reductions = true,
                 .of_paper = true,
                 .sync = HYBRID_SPIN,
                 .method = HYBRID_METHOD_LEADER,
                 .help = "the leader reduces, spinning"},
};

bool variant_makes(const struct variant *variant, const struct operation *operation) {
    return (operation->reduces || !variant->of_reductions) && (operation->in_paper || !variant->of_paper);
}

const struct variant *variant_of_paper(const struct operation *operation) {
    return &variant_table[operation->reduces ? PAPER : BARRIER];
}

const char *const node_method_names[] = {[HYBRID_METHOD_AUTO] = "auto",
                                         [HYBRID_METHOD_PAPER] = "paper",
                                         [HYBRID_METHOD_REDUCE] = "reduce",
                                         [HYBRID_METHOD_LEADER] = "leader",
                                         [HYBRID_METHOD_SLICES] = "slices",
                                         [HYBRID_METHOD_EACH] = "each",
                                         NULL};

OPTION_CHOICES_FROM(variant_choices, variant_table, VARIANTS, help)
