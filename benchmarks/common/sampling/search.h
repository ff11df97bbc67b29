/*
 * search - calibrate over MPI: rank 0 searches, all ranks measure what it asks for, all have the result.
 */
#ifndef CAMPAIGN_SEARCH_H
#define CAMPAIGN_SEARCH_H

#include "calibrate.h"

#include <mpi.h>

/* Collective: time of a size in ns, the same on all ranks; negative: the search ends with what it has. */
typedef double search_measure(void *context, uint64_t size);

/* Collective. request: rank 0's counts; its measure is not used, its go_on is called on rank 0 with this context. */
struct calibrate_result search_run(MPI_Comm comm, const struct calibrate_request *request, search_measure *measure,
                                   void *context);

/* Collective. A second look at what a search found: calibrate_recheck. */
struct calibrate_result search_again(MPI_Comm comm, const struct calibrate_request *request,
                                     const struct calibrate_result *found, search_measure *measure, void *context);

#endif
