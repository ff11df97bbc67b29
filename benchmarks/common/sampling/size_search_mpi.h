/*
 * search - calibrate over MPI: rank 0 searches, all ranks measure what it asks for, all have the result.
 */
#ifndef CAMPAIGN_SIZE_SEARCH_MPI_H
#define CAMPAIGN_SIZE_SEARCH_MPI_H

#include "size_search.h"

#include <mpi.h>

/* Collective: time of a size in ns, the same on all ranks; negative: the search ends with what it has. */
typedef double size_search_mpi_measure(void *context, uint64_t size);

/* Collective. request: rank 0's counts; its measure is not used, its go_on is called on rank 0 with this context. */
struct size_search_result size_search_mpi_run(MPI_Comm comm, const struct size_search_request *request,
                                              size_search_mpi_measure *measure, void *context);

/* Collective. A second look at what a search found: size_search_recheck. */
struct size_search_result size_search_mpi_recheck(MPI_Comm comm, const struct size_search_request *request,
                                                  const struct size_search_result *found,
                                                  size_search_mpi_measure *measure, void *context);

#endif
