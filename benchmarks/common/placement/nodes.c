#include "placement_internal.h"

#include "fail.h"
#include "fail_mpi.h"
#include "group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Nodes in the order of their lowest rank, so that node 0 is rank 0's. */
static void number_nodes(placement *place) {
    int leader = 0;
    MPI_CHECK(MPI_Comm_rank(place->node_comm, &leader));
    int first = leader == 0;
    int before = 0;
    MPI_CHECK(MPI_Exscan(&first, &before, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    place->node_index = place->rank == 0 ? 0 : before;
    MPI_CHECK(MPI_Bcast(&place->node_index, 1, MPI_INT, 0, place->node_comm));
    MPI_CHECK(MPI_Allreduce(&first, &place->node_count, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
}

/* Finds the ranks of this node. Where the kernel does not tell its boot, MPI's shared memory decides. */
static void find_node(placement *place) {
    char boot[64];
    char text[GROUP_MOST_TEXT];
    int leader = place->rank;
    MPI_Comm shared = MPI_COMM_NULL;
    MPI_CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, place->rank, MPI_INFO_NULL, &shared));
    MPI_CHECK(MPI_Comm_set_errhandler(shared, MPI_ERRORS_RETURN));
    MPI_CHECK(MPI_Bcast(&leader, 1, MPI_INT, 0, shared));
    MPI_CHECK(MPI_Comm_free(&shared));
    if (topology_boot_id(boot, sizeof boot)) {
        snprintf(text, sizeof text, "boot %s of %s", boot, place->host);
    } else {
        snprintf(text, sizeof text, "memory of rank %d on %s", leader, place->host);
    }
    group_split(MPI_COMM_WORLD, text, &place->node_comm);
}

static void find_twins(placement *place) {
    int size = 0;
    int own = 0;
    MPI_CHECK(MPI_Comm_size(place->node_comm, &size));
    MPI_CHECK(MPI_Comm_rank(place->node_comm, &own));
    struct topology_cpus *all = fail_alloc((size_t)size, sizeof *all);
    MPI_CHECK(
        MPI_Allgather(&place->cpus, TOPOLOGY_WORDS, MPI_UINT64_T, all, TOPOLOGY_WORDS, MPI_UINT64_T, place->node_comm));
    for (int i = 0; i < size; i++) {
        if (memcmp(&all[i], &place->cpus, sizeof *all) == 0) {
            place->twins++;
            place->twin_rank += i < own;
        }
    }
    free(all);
}

void placement_find_nodes(placement *place) {
    find_node(place);
    number_nodes(place);
    find_twins(place);
}

char *placement_clock_identity(const placement *place) {
    char id[128];
    char text[GROUP_MOST_TEXT];
    if (topology_clock_id(id, sizeof id)) {
        snprintf(text, sizeof text, "clock %s", id);
    } else {
        snprintf(text, sizeof text, "node %d", place->node_index);
    }
    return fail_strdup(text);
}

uint64_t placement_memory_share(const placement *place) {
    int node_ranks = 0;
    MPI_CHECK(MPI_Comm_size(place->node_comm, &node_ranks));
    const uint64_t available = topology_available_memory();
    uint64_t share = available / (uint64_t)node_ranks;
    if (available > 0 && share == 0) {
        share = 1; /* 0 would mean that it is not known */
    }
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &share, 1, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD));
    return share;
}

void placement_unite(const placement *place, struct topology_cpus *cpus) {
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, cpus, TOPOLOGY_WORDS, MPI_UINT64_T, MPI_BOR, place->node_comm));
}
