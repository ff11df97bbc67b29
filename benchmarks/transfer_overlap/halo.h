/*
 * halo - the exchange of the values at the interfaces: each rank sends those of its points that other ranks need, and
 * receives its ghosts'. There are several ways to call MPI for it.
 *
 * An exchange is started in one step, or in DOMAIN_CHUNKS steps of a chunk each, and then waited for. The array of
 * values is the same for all exchanges, as persistent requests need it.
 */
#pragma once

#include "domain.h"

#include <mpi.h>
#include <stdbool.h>

enum halo_way {
    HALO_NOTHING,        /* nothing is sent */
    HALO_POINT_TO_POINT, /* MPI_Irecv, MPI_Isend */
    HALO_PERSISTENT,     /* MPI_Recv_init, MPI_Send_init, MPI_Startall */
    HALO_NEIGHBOURHOOD,  /* MPI_Ineighbor_alltoallv */
    HALO_COLLECTIVE      /* MPI_Ialltoallv */
};

/* One collective of a chunk: counts and displacements by rank (HALO_COLLECTIVE) or by neighbour, in values. */
struct halo_layout {
    int *sent;
    int *sent_at;
    int *received;
    int *received_at;
};

struct halo {
    const struct domain *domain;
    int unknowns;
    double *values; /* [(rows + ghosts) * unknowns] */
    double *packed; /* [sent * unknowns] */
    MPI_Comm comm;
    MPI_Comm neighbourhood;
    MPI_Comm probed;       /* on which a helper may call MPI_Iprobe: nothing is sent there */
    MPI_Request *requests; /* those of the exchange that is open */
    MPI_Request *persistent;
    int open;
    struct halo_layout by_neighbour;
    struct halo_layout chunks[DOMAIN_CHUNKS];
};

/* Collective: makes the exchange of an array of values. The domain and the values must outlive it. Free with halo_free,
 * which is collective too. */
struct halo halo_make(const struct domain *d, int unknowns, double *values, MPI_Comm comm);
void halo_free(struct halo *h);

/* Starts the exchange of all values, or of one chunk; the interface rows that it needs must have been computed. With
 * HALO_POINT_TO_POINT and HALO_PERSISTENT there is one chunk: all. */
void halo_start(struct halo *h, enum halo_way way);
void halo_start_chunk(struct halo *h, enum halo_way way, int chunk);

/* Calls MPI_Testall. Returns whether the exchange is complete. */
bool halo_test(struct halo *h);

/* Returns when the exchange is complete: the ghosts have their values. */
void halo_wait(struct halo *h);
