/*
 * helper - the application's own progress thread, as users write one where the MPI library has none (configuration
 * apphelper).
 *
 * The thread is bound to one CPU and sleeps without using it until the main thread hands it an open request; then it
 * calls MPI_Test until the request is complete, and tells the main thread. Where the requests are many, or are others'
 * business, helper_progress lets it call MPI_Iprobe instead. From helper_take to the end of helper_wait
 * the request belongs to the helper, so that no two threads touch it at once. MPI must provide MPI_THREAD_MULTIPLE. An
 * MPI error in the helper ends the group like any other.
 */
#pragma once

#include "topology.h"

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

typedef struct helper helper;

/* Starts the thread, bound to one CPU. Returns NULL and one line in error where the system refuses. */
helper *helper_create(int cpu, char *error, size_t error_size);

/* Ends and joins the thread. Call it before MPI_Finalize and with no request open. */
void helper_destroy(helper *h);

/* Hands an open request to the helper. Never blocks. */
void helper_take(helper *h, MPI_Request *request);

/* Returns once the request is complete: *request is then MPI_REQUEST_NULL, or inactive where it is persistent. */
void helper_wait(helper *h);

/* helper_progress: from now on, until helper_rest, the helper calls MPI_Iprobe on its own communicator, so that the
 * library makes progress on requests that the main thread keeps. helper_rest returns when the helper has left MPI. No
 * request may be handed over meanwhile. Both are called by the main thread; the communicator stays the caller's. */
void helper_progress(helper *h, MPI_Comm comm);
void helper_rest(helper *h);

/* Returns the thread as the kernel sees it: its id, its name and the CPUs that it may use. */
struct topology_thread helper_thread(const helper *h);

/* Returns the CPU time that the thread has used, ns. */
int64_t helper_cpu_ns(const helper *h);
