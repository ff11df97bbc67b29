#include "settings.h"

#include "operations.h"
#include "variants.h"

#include <limits.h>
#include <stdio.h>

enum { ELEMENT = 8 };
/* Sizes of messages, bytes; 800 bytes is the paper's block of an allgather (figure 12). */
static const struct option_values grids[] = {
    [GRID_SMOKE] = {{8, 800, 16384, 262144}, 4},
    [GRID_NIGHTLY] = {{8, 64, 800, 4096, 16384, 65536, 262144, 1048576}, 8},
    [GRID_FULL] = {{8, 16, 32, 64, 128, 256, 512, 800, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144,
                    524288, 1048576},
                   19},
};

static const struct option_choice intranode_choices[] = {{"usual", "as the library does them by itself"},
                                                         {"shared_memory", "in shared memory"},
                                                         {"point_to_point", "by messages"},
                                                         {NULL, NULL}};
static const struct option_choice cache_choices[] = {
    [CACHE_WARM] = {"warm", "four untimed calls of its kind precede each batch"},
    [CACHE_COLD] = {"cold", "a batch has one call, and before it each rank writes other data, twice the size of the "
                            "largest cache"},
    {NULL, NULL}};

struct settings settings = {.seed = 1};

void settings_describe(struct option_entry *entries) {
    struct settings *s = &settings;
    const struct option_entry table[] = {
        {.name = "operation",
         .kind = OPTION_CHOICES,
         .target = &s->operations,
         .choices = operation_choices(),
         .parameter = "operation",
         .help = "collectives to measure, comma-separated, may be repeated; default: those of the paper, with --grid "
                 "full all"},
        {.name = "variant",
         .kind = OPTION_CHOICES,
         .target = &s->variants,
         .choices = variant_choices(),
         .parameter = "variant",
         .help = "ways in which the hybrid library makes them; default: all"},
        {.name = "message-bytes",
         .kind = OPTION_INTEGERS,
         .target = &s->message_bytes,
         .minimum = ELEMENT,
         .maximum = INT_MAX,
         .multiple_of = ELEMENT,
         .parameter = "message_bytes",
         .grids = grids,
         .help = "sizes of messages, bytes, multiples of 8: of bcast and allreduce the buffer, of the others the block "
                 "of one rank; default: the grid's"},
        option_constant(
            "intranode", &s->intranode, intranode_choices,
            "how the environment has set the MPI library's collectives within a node, for the record; default: "
            "usual"),
        option_constant("cache", &s->cache, cache_choices, "what the caches hold before a batch; default: warm"),
        option_constant(
            "method", &s->method, program_method_choices,
            "when a point is done; default: campaign. The paper's way is ten batches of 1000 calls, whatever the "
            "intervals"),
        program_virtual_node_ranks(&s->virtual_node_ranks),
        option_one_of("grid", &s->grid, program_grid_choices,
                      "the sizes of messages, as far as the ranks have memory for them; default: smoke"),
        option_flag("round-robin", &s->round_robin,
                    "deal the ranks out to the virtual nodes in turn; default: in blocks"),
        option_flag("numa", &s->numa, "a copy and a leader per NUMA domain"),
        option_seed(&s->seed, "the number of the first call, of which the contents of messages are made; default: 1"),
    };
    program_add_options(entries, table, sizeof table);
}

bool settings_fill(struct settings *s) {
    struct option_values operations = {.count = 0};
    for (int64_t i = 0; i < OPERATIONS; i++) {
        if (operation_table[i].in_paper || s->grid == GRID_FULL) {
            operations.items[operations.count++] = i;
        }
    }
    options_fill_list(&s->operations, &operations);
    options_fill_range(&s->variants, 0, VARIANTS);
    return options_fill_list(&s->message_bytes, &grids[s->grid]);
}

void settings_check(const struct program *program, char *error, size_t error_size) {
    const struct settings *s = &settings;
    if (s->cache == CACHE_COLD && s->method == METHOD_PAPER) {
        snprintf(error, error_size,
                 "--cache cold: --method paper has batches of many calls, whose data are in caches; "
                 "leave one of the two out");
    }
    if (s->round_robin && s->virtual_node_ranks == 0 && error[0] == '\0') {
        snprintf(error, error_size,
                 "--round-robin: it deals ranks out to virtual nodes, which --virtual-node-ranks makes");
    }
}
