#include "header_own.h"

#include "fail.h"
#include "fail_hybrid.h"
#include "record.h"

#include <stdlib.h>

const struct field header_own_fields[] = {
    FIELD(struct header_own, shared_nodes, "groups of ranks that share a copy"),
    FIELD(struct header_own, virtual_node_ranks,
          "most ranks of a virtual node, of which the MPI library does not know; 0: there are none"),
    FIELD(struct header_own, numa, "whether a group is a NUMA domain"),
    FIELD(struct header_own, blocks, "whether the ranks of each group are consecutive"),
    FIELD_LIST_OF(struct header_own, node_ranks, nodes, "the ranks of each group, in the order of groups"),
    FIELD(struct header_own, cutoff_bytes,
          "up to so many bytes the leader of a node reduces alone, in the variants spin, untuned, barrier and paper"),
    FIELD_STRUCT(struct header_own, one_off, one_off_fields,
                 "what is paid once (Zhou et al. 2020, table 2), on the slowest rank, a value per repetition"),
    FIELD_STRUCTS(struct header_own, one_off_of_fewer, fewer, one_off_fields,
                  "the same of the first 2, 4, 8 ... ranks alone"),
    FIELDS_END,
};

static int64_t *ranks_of_nodes(const hybrid_comm *comm, const struct hybrid_info *info) {
    int64_t *ranks = fail_alloc((size_t)info->nodes, sizeof *ranks);
    for (int rank = 0; rank < info->ranks; rank++) {
        int node = 0;
        int node_rank = 0;
        HYBRID_CHECK(hybrid_comm_translate(comm, rank, &node, &node_rank));
        ranks[node]++;
    }
    return ranks;
}

struct header_own header_own_make(const hybrid_comm *comm, const struct hybrid_settings *settings, bool measures) {
    struct hybrid_info info;
    HYBRID_CHECK(hybrid_comm_info(comm, &info));
    struct header_own own = {.shared_nodes = info.nodes,
                             .virtual_node_ranks = settings->ranks_per_node,
                             .numa = settings->split == HYBRID_NUMA_DOMAINS,
                             .blocks = info.blocks,
                             .node_ranks = info.rank == 0 ? ranks_of_nodes(comm, &info) : NULL,
                             .nodes = (size_t)info.nodes,
                             .cutoff_bytes = info.cutoff_bytes,
                             .one_off.ranks = RECORD_UNKNOWN};
    for (int ranks = 2; measures && ranks < info.ranks; ranks *= 2) {
        own.one_off_of_fewer = fail_realloc(own.one_off_of_fewer, own.fewer + 1, sizeof *own.one_off_of_fewer);
        own.one_off_of_fewer[own.fewer++] = one_off_measure(settings, ranks);
    }
    if (measures) {
        own.one_off = one_off_measure(settings, info.ranks);
    }
    return own;
}

void header_own_free(struct header_own *own) {
    for (size_t i = 0; i < own->fewer; i++) {
        free(own->one_off_of_fewer[i].times);
    }
    free(own->one_off_of_fewer);
    free(own->one_off.times);
    free(own->node_ranks);
}
