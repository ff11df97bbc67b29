/*
 * size_search_mpi - the search of size_search.h on all ranks of a communicator: rank 0 searches, all ranks measure each
 * size that it asks for, and all get the result. MPI errors end the group.
 */
#pragma once

#include "size_search.h"

#include <mpi.h>

/* Collective: measures and returns the time of a size, ns, the same on all ranks; negative: there is no more time, and
 * the search ends with what it has. */
typedef double size_search_mpi_measure(void *context, uint64_t size);

/* Collective: size_search_run. Only rank 0's request is used, without its measure and context; its go_on is called on
 * rank 0 with the context that is given here. */
struct size_search_result size_search_mpi_run(MPI_Comm comm, const struct size_search_request *request,
                                              size_search_mpi_measure *measure, void *context);

/* Collective: size_search_recheck, with the same arguments. */
struct size_search_result size_search_mpi_recheck(MPI_Comm comm, const struct size_search_request *request,
                                                  const struct size_search_result *found,
                                                  size_search_mpi_measure *measure, void *context);
