/*
 * hybrid - collectives that keep one copy of the data per node, against those of the MPI library.
 *
 * H. Zhou et al., "Collectives in hybrid MPI+MPI code: design, practice and performance", 2020, sections 4 and 5.2.
 */
#include "fail.h"
#include "fail_hybrid.h"
#include "header_own.h"
#include "rounds.h"
#include "settings.h"
#include "topology.h"

#include <stdio.h>
#include <stdlib.h>

enum { TIMES_CACHE = 2 }; /* cold caches: so many times the largest cache is written before each batch */

/* As the paper's section 5.1: averages of 10,000 executions, here of ten batches. */
enum { PAPERS_EXECUTIONS = 10000, PAPERS_BATCHES = 10 };

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

/* Which points there are depends on the nodes: `run` says it. */
static int run(struct program *program);
static const struct sampler_kind *const kinds[] = {&rounds_points, &rounds_points_of_nodes, NULL};
static struct program_kind kind = {
    .name = "hybrid",
    .family = "hybrid",
    .method = 7,
    .configurations = true,
    .repeats = true,
    .help = "usage: mpiexec -n RANKS hybrid [OPTION]...\n\n"
            "Measures collectives that keep one copy of the data per node, in shared memory (Zhou et al. 2020),\n"
            "against those of the MPI library, in turn in every repetition.\n\n"
            "  whole  each rank writes its contribution, the collective, each rank reads all of the result\n"
            "  alone  the collective alone: within one node the hybrid one then copies nothing, and ranks only wait\n"
            "         for each other\n",
    .describe = settings_describe,
    .check_options = settings_check,
    .run = run,
    .list = print_list,
    .header = header_own_fields,
    .kinds = kinds,
    .begin = rounds_begin,
};

/* Collective. */
static struct rounds make_rounds(struct program *program, const struct settings *s, bool preset,
                                 const struct hybrid_settings *of_comm) {
    struct rounds rounds = {.program = program,
                            .between_cores = handover_create(MPI_COMM_WORLD),
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
    rounds.other_data = rounds.other_bytes > 0 ? fail_alloc(rounds.other_bytes, 1) : NULL;
    HYBRID_CHECK(hybrid_comm_create(MPI_COMM_WORLD, of_comm, &rounds.comm));
    HYBRID_CHECK(hybrid_comm_info(rounds.comm, &rounds.info));
    return rounds;
}

static const char *const axis_names[AXES + 1] = {
    [AXIS_OPERATION] = "operation", [AXIS_VARIANT] = "variant", [AXIS_MESSAGE] = "message_bytes"};

static int run(struct program *program) {
    const struct settings *s = &settings;
    const bool preset = settings_fill(&settings);
    const struct hybrid_settings of_comm = {.ranks_per_node = (int)s->virtual_node_ranks,
                                            .round_robin = s->round_robin,
                                            .split = s->numa ? HYBRID_NUMA_DOMAINS : HYBRID_NODES};
    struct rounds rounds = make_rounds(program, s, preset, &of_comm);
    struct sampler_axis axes[SAMPLER_MOST_AXES];
    char impossible[PROGRAM_MOST_REASON] = "";
    kind.points = rounds.info.nodes > 1 ? &rounds_points_of_nodes : &rounds_points;
    program_configure(program, impossible, sizeof impossible);
    if (impossible[0] == '\0') {
        program_check_nodes(program, s->virtual_node_ranks, impossible, sizeof impossible);
        rounds_check(&rounds, impossible, sizeof impossible);
    }
    struct header_own own = header_own_make(rounds.comm, &of_comm, impossible[0] == '\0');
    struct program_measurement measurement = {.context = &rounds,
                                              .plan = program_plan(program, axis_names, axes),
                                              .seed = s->seed,
                                              .sizes_given = RECORD_UNKNOWN,
                                              .own = &own,
                                              .impossible = impossible};
    if (s->method == METHOD_PAPER) {
        measurement.plan.rule.interval_relative = 0;
        measurement.plan.rule.warmup_relative = 1e9; /* every batch counts in the average */
        measurement.plan.rule.min_repetitions = PAPERS_BATCHES;
        measurement.plan.rule.max_repetitions = PAPERS_BATCHES;
    }
    const int code = program_measure(program, &measurement);
    header_own_free(&own);
    free(rounds.other_data);
    handover_destroy(rounds.between_cores);
    HYBRID_CHECK(hybrid_comm_free(&rounds.comm));
    return code;
}

int main(int argc, char **argv) {
    return program_main(&kind, argc, argv);
}
