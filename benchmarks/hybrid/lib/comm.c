#include "comm.h"

#include "error.h"

#include <dirent.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAPER_CUTOFF_BYTES = 2048 };

int comm_check(const hybrid_comm *comm) {
    return comm != NULL && handle_exists(comm)
               ? MPI_SUCCESS
               : error_set(MPI_ERR_COMM, "the hybrid_comm does not exist, or was freed");
}

static int poll_mpi(void *context) {
    const hybrid_comm *comm = context;
    int arrived = 0;
    return error_of_mpi(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm->node, &arrived, MPI_STATUS_IGNORE), "MPI_Iprobe");
}

struct flags_waiting comm_waiting(hybrid_comm *comm) {
    return (struct flags_waiting){.poll = poll_mpi, .context = comm, .yield = comm->oversubscribed};
}

int comm_share_error(MPI_Comm comm, int code) {
    int rank = 0;
    int ranks = 0;
    TRY_MPI(MPI_Comm_rank(comm, &rank));
    TRY_MPI(MPI_Comm_size(comm, &ranks));
    int first = code == MPI_SUCCESS ? ranks : rank;
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, comm));
    if (first == ranks) {
        return MPI_SUCCESS;
    }
    struct {
        int code;
        char text[512];
    } shared = {.code = code};
    hybrid_last_error(shared.text, sizeof shared.text);
    TRY_MPI(MPI_Bcast(&shared, (int)sizeof shared, MPI_BYTE, first, comm));
    return error_set(shared.code, "%s", shared.text);
}

/* ---- settings ---- */

static int check_settings(MPI_Comm all, const struct hybrid_settings *s) {
    int code = MPI_SUCCESS;
    if ((s->sync != HYBRID_SPIN && s->sync != HYBRID_BARRIER) ||
        (s->split != HYBRID_NODES && s->split != HYBRID_NUMA_DOMAINS) || s->ranks_per_node < 0 ||
        (s->round_robin && s->ranks_per_node == 0)) {
        code =
            error_set(MPI_ERR_ARG, "settings: sync and split must be one of their values, ranks_per_node at least 0, "
                                   "and above 0 with round_robin");
    } else if (s->nodes_of != NULL && (s->split != HYBRID_NODES || s->ranks_per_node > 0)) {
        code = error_set(MPI_ERR_ARG, "settings: with nodes_of the nodes are given; leave split, ranks_per_node and "
                                      "round_robin out");
    } else if (s->nodes_of != NULL) {
        code = comm_check(s->nodes_of);
    }
    TRY(comm_share_error(all, code));
    const long long own[] = {s->sync,
                             s->split,
                             s->ranks_per_node,
                             s->round_robin,
                             s->rank_table,
                             (long long)s->cutoff_bytes,
                             s->nodes_of != NULL};
    enum { SETTINGS = sizeof own / sizeof *own };
    long long most[SETTINGS];
    long long least[SETTINGS];
    TRY_MPI(MPI_Allreduce(own, most, SETTINGS, MPI_LONG_LONG, MPI_MAX, all));
    TRY_MPI(MPI_Allreduce(own, least, SETTINGS, MPI_LONG_LONG, MPI_MIN, all));
    return memcmp(most, least, sizeof most) == 0 ? MPI_SUCCESS
                                                 : error_set(MPI_ERR_ARG, "settings: they differ between ranks");
}

/* ---- splitting ---- */

/* Returns the NUMA domain of the first CPU that this process may use; 0 where the kernel does not say. */
static int numa_domain(void) {
    cpu_set_t mask;
    int domain = 0;
    CPU_ZERO(&mask);
    if (sched_getaffinity(0, sizeof mask, &mask) != 0) {
        return 0;
    }
    int cpu = 0;
    while (cpu < CPU_SETSIZE && !CPU_ISSET(cpu, &mask)) {
        cpu++;
    }
    char path[64];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d", cpu);
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return 0;
    }
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        char *end = NULL;
        if (strncmp(entry->d_name, "node", 4) == 0) {
            const long number = strtol(entry->d_name + 4, &end, 10);
            if (end != entry->d_name + 4 && *end == '\0' && number >= 0 && number < INT_MAX) {
                domain = (int)number;
                break;
            }
        }
    }
    closedir(folder);
    return domain;
}

/* Replaces *comm by its part with this color. */
static int split(MPI_Comm *comm, int color) {
    MPI_Comm part = MPI_COMM_NULL;
    TRY_MPI(MPI_Comm_split(*comm, color, 0, &part));
    const int code = error_of_mpi(MPI_Comm_free(comm), "MPI_Comm_free");
    *comm = part;
    return code;
}

/* Finds out whether the ranks of comm->node may use fewer CPUs than there are ranks. */
static int find_crowd(hybrid_comm *comm) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    if (sched_getaffinity(0, sizeof mask, &mask) != 0) {
        CPU_ZERO(&mask); /* more CPUs than cpu_set_t has: nothing is known */
    }
    TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, &mask, (int)sizeof mask, MPI_BYTE, MPI_BOR, comm->node));
    int ranks = 0;
    TRY_MPI(MPI_Comm_size(comm->node, &ranks));
    const int cpus = CPU_COUNT(&mask);
    comm->oversubscribed = cpus > 0 && cpus < ranks;
    return MPI_SUCCESS;
}

/* Makes comm->node as the settings say. */
static int find_node(hybrid_comm *comm, const struct hybrid_settings *s) {
    if (s->nodes_of != NULL) {
        comm->oversubscribed = s->nodes_of->oversubscribed; /* its other ranks use the same CPUs */
        TRY_MPI(MPI_Comm_split(comm->all, s->nodes_of->node_index, 0, &comm->node));
        return MPI_SUCCESS;
    }
    TRY_MPI(MPI_Comm_split_type(comm->all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm->node));
    TRY(find_crowd(comm)); /* before virtual nodes, which share the CPUs of one */
    if (s->split == HYBRID_NUMA_DOMAINS) {
        TRY(split(&comm->node, numa_domain()));
    }
    if (s->ranks_per_node > 0) {
        int rank = 0;
        int ranks = 0;
        TRY_MPI(MPI_Comm_rank(comm->node, &rank));
        TRY_MPI(MPI_Comm_size(comm->node, &ranks));
        const int parts = ranks / s->ranks_per_node + (ranks % s->ranks_per_node != 0);
        TRY(split(&comm->node, s->round_robin ? rank % parts : rank / s->ranks_per_node));
    }
    return MPI_SUCCESS;
}

static int split_nodes(hybrid_comm *comm, const struct hybrid_settings *s) {
    TRY(find_node(comm, s));
    TRY_MPI(MPI_Comm_rank(comm->node, &comm->node_rank));
    TRY_MPI(MPI_Comm_size(comm->node, &comm->node_ranks));
    TRY_MPI(MPI_Comm_split(comm->all, comm_leads(comm) ? 0 : MPI_UNDEFINED, 0, &comm->bridge));
    return MPI_SUCCESS;
}

static int find_layout(hybrid_comm *comm, bool table) {
    int node[2] = {0, 1}; /* this node's number, and how many nodes there are */
    if (comm_leads(comm)) {
        TRY_MPI(MPI_Comm_rank(comm->bridge, &node[0]));
        TRY_MPI(MPI_Comm_size(comm->bridge, &node[1]));
    }
    TRY_MPI(MPI_Bcast(node, 2, MPI_INT, 0, comm->node));
    comm->node_index = node[0];
    comm->nodes = node[1];
    int *node_of = calloc((size_t)comm->ranks, sizeof *node_of);
    int code =
        node_of == NULL ? error_set(MPI_ERR_NO_MEM, "no memory for a table of %d ranks", comm->ranks) : MPI_SUCCESS;
    code = comm_share_error(comm->all, code);
    if (code == MPI_SUCCESS) {
        code =
            error_of_mpi(MPI_Allgather(&comm->node_index, 1, MPI_INT, node_of, 1, MPI_INT, comm->all), "MPI_Allgather");
    }
    if (code == MPI_SUCCESS) {
        comm->layout = layout_create(node_of, comm->ranks, comm->nodes, table);
        code = comm->layout == NULL ? error_set(MPI_ERR_NO_MEM, "no memory for the layout of %d ranks", comm->ranks)
                                    : MPI_SUCCESS;
        code = comm_share_error(comm->all, code);
    }
    free(node_of);
    return code;
}

/* ---- making and freeing ---- */

static int release(hybrid_comm *comm) {
    MPI_Comm *const comms[] = {&comm->bridge, &comm->node, &comm->all};
    int code = MPI_SUCCESS;
    for (size_t i = 0; i < sizeof comms / sizeof *comms; i++) {
        if (*comms[i] != MPI_COMM_NULL) {
            const int freed = error_of_mpi(MPI_Comm_free(comms[i]), "MPI_Comm_free");
            code = code == MPI_SUCCESS ? freed : code;
        }
    }
    layout_destroy(comm->layout);
    free(comm);
    return code;
}

static int build(hybrid_comm *comm, const struct hybrid_settings *s) {
    TRY_MPI(MPI_Comm_set_errhandler(comm->all, MPI_ERRORS_RETURN)); /* communicators made of it inherit this */
    TRY_MPI(MPI_Comm_rank(comm->all, &comm->rank));
    TRY_MPI(MPI_Comm_size(comm->all, &comm->ranks));
    TRY(check_settings(comm->all, s));
    TRY(split_nodes(comm, s));
    TRY(find_layout(comm, s->rank_table));
    comm->sync = s->sync;
    comm->cutoff_bytes = s->cutoff_bytes > 0 ? s->cutoff_bytes : PAPER_CUTOFF_BYTES;
    const int code = handle_add(comm) ? MPI_SUCCESS : error_set(MPI_ERR_NO_MEM, "no memory for a handle");
    return comm_share_error(comm->all, code);
}

int hybrid_comm_create(MPI_Comm parent, const struct hybrid_settings *settings, hybrid_comm **comm) {
    const struct hybrid_settings defaults = {.sync = HYBRID_SPIN};
    if (comm == NULL) {
        return error_set(MPI_ERR_ARG, "there is no place for the hybrid_comm");
    }
    *comm = NULL;
    if (parent == MPI_COMM_NULL) {
        return error_set(MPI_ERR_COMM, "the parent is MPI_COMM_NULL");
    }
    int inter = 0;
    TRY_MPI(MPI_Comm_test_inter(parent, &inter));
    if (inter) {
        return error_set(MPI_ERR_COMM, "the parent is an intercommunicator, whose two groups cannot share one copy");
    }
    hybrid_comm *made = calloc(1, sizeof *made);
    TRY(comm_share_error(parent,
                         made == NULL ? error_set(MPI_ERR_NO_MEM, "no memory for a hybrid_comm") : MPI_SUCCESS));
    made->all = made->node = made->bridge = MPI_COMM_NULL;
    int code = error_of_mpi(MPI_Comm_dup(parent, &made->all), "MPI_Comm_dup");
    if (code == MPI_SUCCESS) {
        code = build(made, settings != NULL ? settings : &defaults);
    }
    if (code != MPI_SUCCESS) {
        char reason[512];
        hybrid_last_error(reason, sizeof reason);
        handle_remove(made);
        release(made);
        return error_set(code, "%s", reason);
    }
    *comm = made;
    return MPI_SUCCESS;
}

int hybrid_comm_free(hybrid_comm **comm) {
    if (comm == NULL) {
        return error_set(MPI_ERR_COMM, "there is no hybrid_comm");
    }
    TRY(comm_check(*comm));
    if ((*comm)->memories > 0) {
        return error_set(MPI_ERR_COMM, "the hybrid_comm still has memories (%d), which must be freed first",
                         (*comm)->memories);
    }
    handle_remove(*comm);
    const int code = release(*comm);
    *comm = NULL;
    return code;
}

/* ---- questions and settings ---- */

int hybrid_comm_info(const hybrid_comm *comm, struct hybrid_info *info) {
    TRY(comm_check(comm));
    if (info == NULL) {
        return error_set(MPI_ERR_ARG, "there is no place for the answer");
    }
    *info = (struct hybrid_info){.rank = comm->rank,
                                 .ranks = comm->ranks,
                                 .node = comm->node_index,
                                 .nodes = comm->nodes,
                                 .node_rank = comm->node_rank,
                                 .node_ranks = comm->node_ranks,
                                 .blocks = layout_blocks(comm->layout),
                                 .oversubscribed = comm->oversubscribed,
                                 .sync = comm->sync,
                                 .cutoff_bytes = comm->cutoff_bytes,
                                 .layout_bytes = layout_bytes(comm->layout)};
    return MPI_SUCCESS;
}

int hybrid_comm_node(const hybrid_comm *comm, MPI_Comm *node) {
    TRY(comm_check(comm));
    *node = comm->node;
    return MPI_SUCCESS;
}

int hybrid_comm_bridge(const hybrid_comm *comm, MPI_Comm *bridge) {
    TRY(comm_check(comm));
    *bridge = comm->bridge;
    return MPI_SUCCESS;
}

int hybrid_comm_translate(const hybrid_comm *comm, int rank, int *node, int *node_rank) {
    TRY(comm_check(comm));
    if (rank < 0 || rank >= comm->ranks) {
        return error_set(MPI_ERR_RANK, "rank %d: the parent has ranks 0 to %d", rank, comm->ranks - 1);
    }
    layout_translate(comm->layout, rank, node, node_rank);
    return MPI_SUCCESS;
}

int hybrid_comm_set_sync(hybrid_comm *comm, enum hybrid_sync sync) {
    TRY(comm_check(comm));
    if (sync != HYBRID_SPIN && sync != HYBRID_BARRIER) {
        return error_set(MPI_ERR_ARG, "sync %d: it is HYBRID_SPIN or HYBRID_BARRIER", (int)sync);
    }
    comm->sync = sync;
    return MPI_SUCCESS;
}

int hybrid_comm_set_cutoff(hybrid_comm *comm, size_t cutoff_bytes) {
    TRY(comm_check(comm));
    comm->cutoff_bytes = cutoff_bytes;
    return MPI_SUCCESS;
}
