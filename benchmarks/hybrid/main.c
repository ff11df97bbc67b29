/*
 * hybrid - collectives that keep one copy of the data per node, against those of the MPI library.
 *
 * H. Zhou et al., "Collectives in hybrid MPI+MPI code: design, practice and performance", 2020, sections 4 and 5.2.
 */
#include "fail.h"
#include "fail_mpi.h"
#include "json.h"
#include "one_off.h"
#include "options.h"
#include "program.h"
#include "rounds.h"
#include "topology.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

enum { ELEMENT = 8, MOST_RANKS = 65536 };
/* Sizes of messages, bytes; 800 bytes is the paper's block of an allgather (figure 12). */
static const struct program_values grids[] = {
    [GRID_SMOKE] = {{8, 800, 16384, 262144}, 4},
    [GRID_NIGHTLY] = {{8, 64, 800, 4096, 16384, 65536, 262144, 1048576}, 8},
    [GRID_FULL] = {{8, 16, 32, 64, 128, 256, 512, 800, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144,
                    524288, 1048576},
                   19},
};

enum { TIMES_CACHE = 2 }; /* cold caches: so many times the largest cache is written before each batch */

/* As the paper's section 5.1: averages of 10,000 executions, here of ten batches. */
enum { PAPERS_EXECUTIONS = 10000, PAPERS_BATCHES = 10 };

static const char *const intranode_names[] = {"usual", "shared_memory", "point_to_point", NULL};

static struct settings {
    struct option_list operations;
    struct option_list variants;
    struct option_list message_bytes;
    int grid;
    int cache;
    int method;
    int intranode;
    int64_t virtual_node_ranks;
    bool round_robin;
    bool numa;
    int64_t seed;
} settings = {.seed = 1};

static void describe_options(struct option_entry *entries) {
    struct settings *s = &settings;
    const struct option_entry table[] = {
        option_some_of("operation", &s->operations, operation_names(),
                       "collectives to measure, comma-separated, may be repeated; default: those of the paper, with "
                       "--grid full all"),
        option_some_of("variant", &s->variants, variant_names(),
                       "ways in which the hybrid library makes them, see --list; default: all"),
        option_one_of("grid", &s->grid, program_grid_names,
                      "the sizes of messages, as far as the ranks have memory for them; --message-bytes replaces them; "
                      "default: smoke"),
        option_integers("message-bytes", &s->message_bytes, ELEMENT, INT_MAX,
                        "sizes of messages, bytes, multiples of 8: the buffer, or the block of one rank"),
        option_one_of("cache", &s->cache, program_cache_names,
                      "`cold`: a batch has one call, and before it each rank writes other data, twice the size of the "
                      "largest cache; default: warm"),
        option_one_of("method", &s->method, program_method_names,
                      "`paper`: ten batches of 1000 calls, whatever the intervals; `campaign`: as --interval and its "
                      "like say; default: campaign"),
        option_one_of("intranode", &s->intranode, intranode_names,
                      "how the environment has set the MPI library's collectives within a node, for the record: in "
                      "shared memory (`shared_memory`) or by messages (`point_to_point`); default: usual"),
        option_integer("virtual-node-ranks", &s->virtual_node_ranks, 0, MOST_RANKS, "N",
                       "virtual nodes of at most so many ranks, fewer than there are, of which the MPI library does "
                       "not know; default: 0, the nodes there are"),
        option_flag("round-robin", &s->round_robin,
                    "deal the ranks out to the virtual nodes in turn; default: in blocks"),
        option_flag("numa", &s->numa, "a copy and a leader per NUMA domain"),
        option_seed(&s->seed, "the number of the first call, of which the contents of messages are made; default: 1"),
    };
    program_add_options(entries, table, sizeof table);
}

/* Lists that were not given get all values. Returns whether the sizes are the grid's. */
static bool fill_lists(struct settings *s) {
    const struct program_values *grid = &grids[s->grid];
    int64_t operations[OPERATIONS];
    size_t count = 0;
    for (int64_t i = 0; i < OPERATIONS; i++) {
        if (operation_table[i].in_paper || s->grid == GRID_FULL) {
            operations[count++] = i;
        }
    }
    options_fill_list(&s->operations, operations, count);
    options_fill_range(&s->variants, 0, VARIANTS);
    return options_fill_list(&s->message_bytes, grid->items, grid->count);
}

/* One line in error. */
static void check_options(const struct program *program, char *error, size_t error_size) {
    (void)program;
    const struct settings *s = &settings;
    for (size_t i = 0; i < s->message_bytes.count && error[0] == '\0'; i++) {
        if (s->message_bytes.values[i] % ELEMENT != 0) {
            snprintf(error, error_size, "--message-bytes: %" PRId64 " bytes are no whole words of %d bytes",
                     s->message_bytes.values[i], ELEMENT);
        }
    }
    if (s->cache == CACHE_COLD && s->method == METHOD_PAPER && error[0] == '\0') {
        snprintf(error, error_size,
                 "--cache cold: --method paper has batches of many calls, whose data are in caches; "
                 "leave one of the two out");
    }
    if (s->round_robin && s->virtual_node_ranks == 0 && error[0] == '\0') {
        snprintf(error, error_size,
                 "--round-robin: it deals ranks out to virtual nodes, which --virtual-node-ranks makes");
    }
}

/* One line in error, the same on all ranks, where these ranks cannot measure it. */
static void check_ranks(const struct program *program, const struct rounds *o, int64_t virtual_node_ranks, char *error,
                        size_t error_size) {
    program_check_nodes(program, virtual_node_ranks, error, error_size);
    for (size_t i = 0; i < o->operation_count && !o->preset && error[0] == '\0'; i++) {
        const struct operation *operation = &operation_table[o->operations[i]];
        const uint64_t most = rounds_most_bytes(o, operation);
        for (size_t j = 0; j < o->message_count; j++) {
            if ((uint64_t)o->message_bytes[j] > most) {
                snprintf(error, error_size,
                         "--message-bytes: %" PRId64 " bytes are too many for %s on %d ranks: at most %" PRIu64
                         " fit into half of a rank's share of memory and into MPI's counts",
                         o->message_bytes[j], operation->name, program->ranks, most);
            }
        }
    }
}

/* The ranks of each node, in the order of nodes. */
static void put_node_ranks(const struct rounds *o, json_line *line) {
    int64_t *ranks = fail_alloc((size_t)o->info.nodes, sizeof *ranks);
    for (int rank = 0; rank < o->info.ranks; rank++) {
        int node = 0;
        int node_rank = 0;
        if (hybrid_comm_translate(o->comm, rank, &node, &node_rank) != MPI_SUCCESS) {
            fail_die("rank %d has no node", rank);
        }
        ranks[node]++;
    }
    json_put_integers(line, "node_ranks", ranks, (size_t)o->info.nodes);
    free(ranks);
}

/* Collective: returns the header's own object, on rank 0, which writes it; NULL on the others, so that they hold no
 * text that grows with the ranks. measured: with what is paid once. Free with free(). */
static char *own_text(const struct settings *s, const struct rounds *o, const struct hybrid_settings *of_comm,
                      bool measured) {
    json_line *line = json_line_create();
    json_open_object(line, NULL);
    json_put_integer(line, "shared_nodes", o->info.nodes);
    json_put_integer(line, "virtual_node_ranks", s->virtual_node_ranks);
    json_put_boolean(line, "numa", s->numa);
    json_put_boolean(line, "blocks", o->info.blocks);
    put_node_ranks(o, line);
    json_put_integer(line, "cutoff_bytes", (int64_t)o->info.cutoff_bytes);
    one_off_measure(of_comm, measured, line);
    json_close_object(line);
    if (o->program->rank != 0) {
        json_line_destroy(line);
        return NULL;
    }
    return json_line_take(line);
}

static void copy_names(const char **names, const struct option_list *list, const char *const *all) {
    for (size_t i = 0; i < list->count; i++) {
        names[i] = all[list->values[i]];
    }
}

/* Which points there are depends on the nodes: `measure` says it. */
static int run(struct program *program);
static void print_list(void);
static struct program_kind kind = {
    .name = "hybrid",
    .family = "hybrid",
    .method = 6,
    .configurations = true,
    .repeats = true,
    .help = "usage: mpiexec -n RANKS hybrid [OPTION]...\n\n"
            "Measures collectives that keep one copy of the data per node, in shared memory (Zhou et al. 2020),\n"
            "against those of the MPI library, in turn in every repetition.\n\n"
            "  whole  each rank writes its contribution, the collective, each rank reads all of the result\n"
            "  alone  the collective alone: within one node the hybrid one then copies nothing, and ranks only wait\n"
            "         for each other\n",
    .describe = describe_options,
    .check_options = check_options,
    .run = run,
    .list = print_list,
    .begin = rounds_begin,
};

/* Collective: measures what was asked for. Returns the exit code. */
static int measure(struct program *program, const struct settings *s, bool preset) {
    char impossible[PROGRAM_MOST_REASON] = "";
    const char *operations[OPERATIONS];
    const char *variants[VARIANTS];
    const struct hybrid_settings of_comm = {.ranks_per_node = (int)s->virtual_node_ranks,
                                            .round_robin = s->round_robin,
                                            .split = s->numa ? HYBRID_NUMA_DOMAINS : HYBRID_NODES};
    struct rounds rounds = {.program = program,
                            .operations = s->operations.values,
                            .operation_count = s->operations.count,
                            .variants = s->variants.values,
                            .variant_count = s->variants.count,
                            .message_bytes = s->message_bytes.values,
                            .message_count = s->message_bytes.count,
                            .preset = preset,
                            .calls = s->method == METHOD_PAPER ? PAPERS_EXECUTIONS / PAPERS_BATCHES
                                     : s->cache == CACHE_COLD  ? 1
                                                               : 0,
                            .other_bytes = s->cache == CACHE_COLD ? TIMES_CACHE * (size_t)topology_cache_bytes() : 0,
                            .call = (uint64_t)s->seed};
    rounds.between_cores = handover_create(MPI_COMM_WORLD);
    rounds.other_data = rounds.other_bytes > 0 ? fail_alloc(rounds.other_bytes, 1) : NULL;
    if (hybrid_comm_create(MPI_COMM_WORLD, &of_comm, &rounds.comm) != MPI_SUCCESS ||
        hybrid_comm_info(rounds.comm, &rounds.info) != MPI_SUCCESS) {
        char reason[512];
        hybrid_last_error(reason, sizeof reason);
        fail_die("%s", reason);
    }
    kind.points = rounds.info.nodes > 1 ? &rounds_points_of_nodes : &rounds_points;
    copy_names(operations, &s->operations, operation_names());
    copy_names(variants, &s->variants, variant_names());
    const struct sampler_axis axes[] = {
        [AXIS_OPERATION] = {.name = "operation", .texts = operations, .count = s->operations.count},
        [AXIS_VARIANT] = {.name = "variant", .texts = variants, .count = s->variants.count},
        [AXIS_MESSAGE] = sampler_numbers("message_bytes", s->message_bytes.values, s->message_bytes.count),
        sampler_constant("intranode", &intranode_names[s->intranode]),
        sampler_constant("cache", &program_cache_names[s->cache]),
        sampler_constant("method", &program_method_names[s->method]),
        {.name = "virtual_node_ranks", .numbers = &s->virtual_node_ranks, .count = 1, .constant = true}};
    program_configure(program, impossible, sizeof impossible);
    if (impossible[0] == '\0') {
        check_ranks(program, &rounds, s->virtual_node_ranks, impossible, sizeof impossible);
    }
    char *own = own_text(s, &rounds, &of_comm, impossible[0] == '\0');
    struct program_measurement measurement = {.context = &rounds,
                                              .plan = program_plan(program, axes, sizeof axes / sizeof *axes),
                                              .seed = s->seed,
                                              .sizes_given = RECORD_UNKNOWN,
                                              .own = own,
                                              .impossible = impossible};
    if (s->method == METHOD_PAPER) {
        measurement.plan.rule.interval_relative = 0;
        measurement.plan.rule.warmup_relative = 1e9; /* every batch counts in the average */
        measurement.plan.rule.min_repetitions = PAPERS_BATCHES;
        measurement.plan.rule.max_repetitions = PAPERS_BATCHES;
    }
    const int code = program_measure(program, &measurement);
    free(own);
    free(rounds.other_data);
    handover_destroy(rounds.between_cores);
    if (hybrid_comm_free(&rounds.comm) != MPI_SUCCESS) {
        fail_die("the communicators of the hybrid library could not be freed");
    }
    return code;
}

static void print_list(void) {
    for (size_t i = 0; i < OPERATIONS; i++) {
        printf("%s\n", operation_table[i].name);
    }
    for (size_t i = 0; i < VARIANTS; i++) {
        const struct variant *v = &variant_table[i];
        printf("%-16s %s%s\n", v->name, v->help,
               v->of_paper        ? " (allreduce only)"
               : v->of_reductions ? " (reductions only)"
                                  : "");
    }
}

static int run(struct program *program) {
    const bool preset = fill_lists(&settings);
    return measure(program, &settings, preset);
}

int main(int argc, char **argv) {
    return program_main(&kind, argc, argv);
}
