/*
 * helper - a progress thread of the application's own: what users do by hand where the MPI library has none
 * (configuration apphelper).
 *
 * It is bound to one CPU and sleeps, without using it, until the main thread hands it an open request; then it calls
 * MPI_Test until that is complete, and says so. The request belongs to the helper from helper_take to the end of
 * helper_wait: no two threads ever touch it at once. MPI must have been asked for MPI_THREAD_MULTIPLE. An MPI error in
 * the helper ends the group like any other.
 */
#ifndef CAMPAIGN_HELPER_H
#define CAMPAIGN_HELPER_H

#include "topology.h"

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

typedef struct helper helper;

/* Starts the thread, bound to one CPU. NULL and one line in error where the system refuses. */
helper *helper_create(int cpu, char *error, size_t error_size);

/* Ends and joins the thread: before MPI_Finalize, and with no request open. */
void helper_destroy(helper *h);

/* Hands an open request over. Never blocks. */
void helper_take(helper *h, MPI_Request *request);

/* Returns once the request is complete: *request is then MPI_REQUEST_NULL, or inactive where it is persistent. */
void helper_wait(helper *h);

/* The thread as the kernel sees it: its name and where it may run. */
struct topology_thread helper_thread(const helper *h);

/* CPU time that it has had, ns. */
int64_t helper_cpu_ns(const helper *h);

#endif
