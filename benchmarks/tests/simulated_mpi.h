/*
 * simulated_mpi - what SimGrid's MPI lacks of the calls that programs make; included before every source where tests
 * build them for it. Its ranks are threads of one process, of which one runs at a time.
 *
 * There is no tool interface: MPI_T_init_thread fails, so that nothing else of it is called. Ranks of one thread get
 * any level of thread support.
 */
#pragma once

#include <mpi.h>
#include <simgrid/host.h>
#include <stdio.h>
#include <unistd.h>

/* The simulated host that this rank is on. */
static inline int simulated_hostname(char *name, size_t size) {
    return snprintf(name, size, "%s", sg_host_self_get_name()) < 0 ? -1 : 0;
}
#define gethostname(name, size) simulated_hostname((name), (size))

#define WORK_SIMULATED
#define MPI_Init_thread(argc, argv, required, provided) (*(provided) = (required), MPI_Init((argc), (argv)))
#define MPI_Query_thread(provided) (*(provided) = MPI_THREAD_FUNNELED, MPI_SUCCESS)

/* Only neighbourhood collectives use such a communicator. */
#define MPI_Dist_graph_create_adjacent(comm, indegree, sources, sourceweights, outdegree, destinations, destweights,   \
                                       info, reorder, ring)                                                            \
    ((void)(sources), (void)(sourceweights), (void)(destinations), (void)(destweights), MPI_Comm_dup((comm), (ring)))

#define MPI_T_enum int
#define MPI_T_ENUM_NULL 0
#define MPI_T_cvar_handle int
#define MPI_T_CVAR_HANDLE_NULL 0
#define MPI_T_BIND_NO_OBJECT 0
#define MPI_T_init_thread(level, provided) ((void)(level), (void)(provided), MPI_ERR_OTHER)
#define MPI_T_finalize() MPI_SUCCESS
#define MPI_T_cvar_get_num(count) ((void)(count), MPI_ERR_OTHER)
#define MPI_T_cvar_get_info(...) (__VA_ARGS__, MPI_ERR_OTHER)
#define MPI_T_cvar_handle_alloc(...) (__VA_ARGS__, MPI_ERR_OTHER)
#define MPI_T_cvar_read(...) (__VA_ARGS__, MPI_ERR_OTHER)
#define MPI_T_cvar_handle_free(handle) ((void)(handle), MPI_ERR_OTHER)
#define MPI_T_enum_get_info(...) (__VA_ARGS__, MPI_ERR_OTHER)
#define MPI_T_enum_get_item(...) (__VA_ARGS__, MPI_ERR_OTHER)
