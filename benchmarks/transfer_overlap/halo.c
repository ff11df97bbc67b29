#include "halo.h"

#include "fail.h"
#include "fail_mpi.h"

#include <stdlib.h>
#include <string.h>

enum { TAG = 1 };

/* ---- making ---- */

static struct halo_layout make_layout(int count) {
    const size_t places = count > 0 ? (size_t)count : 1;
    return (struct halo_layout){.sent = fail_alloc(places, sizeof(int)),
                                .sent_at = fail_alloc(places, sizeof(int)),
                                .received = fail_alloc(places, sizeof(int)),
                                .received_at = fail_alloc(places, sizeof(int))};
}

static void free_layout(struct halo_layout *layout) {
    free(layout->sent);
    free(layout->sent_at);
    free(layout->received);
    free(layout->received_at);
}

/* Fills in the place of a neighbour for the points [first, end) of what it gets, and likewise of what it sends. */
static void set_place(struct halo_layout *layout, int place, const struct domain_neighbour *n, int unknowns,
                      int sent_first, int sent_end, int received_first, int received_end) {
    layout->sent[place] = (sent_end - sent_first) * unknowns;
    layout->sent_at[place] = (n->first_sent + sent_first) * unknowns;
    layout->received[place] = (received_end - received_first) * unknowns;
    layout->received_at[place] = (n->first_received + received_first) * unknowns;
}

static double *ghosts_of(const struct halo *h) {
    return h->values + (size_t)h->domain->rows * (size_t)h->unknowns;
}

/* Two requests for each neighbour: requests[2 * k] receives, requests[2 * k + 1] sends. */
static void make_persistent(struct halo *h) {
    const struct halo_layout *all = &h->by_neighbour;
    for (int k = 0; k < h->domain->neighbour_count; k++) {
        const int rank = h->domain->neighbours[k].rank;
        MPI_CHECK(MPI_Recv_init(ghosts_of(h) + all->received_at[k], all->received[k], MPI_DOUBLE, rank, TAG, h->comm,
                                &h->persistent[2 * k]));
        MPI_CHECK(MPI_Send_init(h->packed + all->sent_at[k], all->sent[k], MPI_DOUBLE, rank, TAG, h->comm,
                                &h->persistent[2 * k + 1]));
    }
}

/* Its edges weigh as much as goes over them. */
static void make_neighbourhood(struct halo *h) {
    const int count = h->domain->neighbour_count;
    int *ranks = fail_alloc(count > 0 ? (size_t)count : 1, sizeof *ranks);
    for (int k = 0; k < count; k++) {
        ranks[k] = h->domain->neighbours[k].rank;
    }
    MPI_CHECK(MPI_Dist_graph_create_adjacent(h->comm, count, ranks, h->by_neighbour.received, count, ranks,
                                             h->by_neighbour.sent, MPI_INFO_NULL, 0, &h->neighbourhood));
    free(ranks);
}

struct halo halo_make(const struct domain *d, int unknowns, double *values, MPI_Comm comm) {
    int ranks = 0;
    const size_t requests = 2 * (size_t)d->neighbour_count + DOMAIN_CHUNKS;
    struct halo h = {.domain = d,
                     .unknowns = unknowns,
                     .values = values,
                     .packed = fail_alloc((size_t)(d->sent > 0 ? d->sent : 1) * (size_t)unknowns, sizeof *h.packed),
                     .requests = fail_alloc(requests, sizeof *h.requests),
                     .persistent = fail_alloc(requests, sizeof *h.persistent),
                     .by_neighbour = make_layout(d->neighbour_count)};
    MPI_CHECK(MPI_Comm_dup(comm, &h.comm));
    MPI_CHECK(MPI_Comm_dup(MPI_COMM_SELF, &h.probed));
    MPI_CHECK(MPI_Comm_size(comm, &ranks));
    for (int c = 0; c < DOMAIN_CHUNKS; c++) {
        h.chunks[c] = make_layout(ranks);
    }
    for (int k = 0; k < d->neighbour_count; k++) {
        const struct domain_neighbour *n = &d->neighbours[k];
        set_place(&h.by_neighbour, k, n, unknowns, 0, n->sent, 0, n->received);
        for (int c = 0; c < DOMAIN_CHUNKS; c++) {
            set_place(&h.chunks[c], n->rank, n, unknowns, domain_chunk_first(n->sent, c),
                      domain_chunk_first(n->sent, c + 1), domain_chunk_first(n->received, c),
                      domain_chunk_first(n->received, c + 1));
        }
    }
    make_persistent(&h);
    make_neighbourhood(&h);
    return h;
}

void halo_free(struct halo *h) {
    for (int k = 0; k < 2 * h->domain->neighbour_count; k++) {
        MPI_CHECK(MPI_Request_free(&h->persistent[k]));
    }
    MPI_CHECK(MPI_Comm_free(&h->neighbourhood));
    MPI_CHECK(MPI_Comm_free(&h->probed));
    MPI_CHECK(MPI_Comm_free(&h->comm));
    free_layout(&h->by_neighbour);
    for (int c = 0; c < DOMAIN_CHUNKS; c++) {
        free_layout(&h->chunks[c]);
    }
    free(h->packed);
    free(h->requests);
    free(h->persistent);
    *h = (struct halo){.domain = NULL};
}

/* ---- an exchange ---- */

/* Packs the values of the points [first, end) of what a neighbour gets. */
static void pack(struct halo *h, const struct domain_neighbour *n, int first, int end) {
    const size_t unknowns = (size_t)h->unknowns;
    for (int i = n->first_sent + first; i < n->first_sent + end; i++) {
        const double *from = h->values + (size_t)h->domain->send_rows[i] * unknowns;
        double *to = h->packed + (size_t)i * unknowns;
        for (size_t a = 0; a < unknowns; a++) {
            to[a] = from[a];
        }
    }
}

static void pack_all(struct halo *h) {
    for (int k = 0; k < h->domain->neighbour_count; k++) {
        pack(h, &h->domain->neighbours[k], 0, h->domain->neighbours[k].sent);
    }
}

static void start_point_to_point(struct halo *h) {
    const struct halo_layout *all = &h->by_neighbour;
    const struct domain_neighbour *neighbours = h->domain->neighbours;
    for (int k = 0; k < h->domain->neighbour_count; k++) {
        MPI_CHECK(MPI_Irecv(ghosts_of(h) + all->received_at[k], all->received[k], MPI_DOUBLE, neighbours[k].rank, TAG,
                            h->comm, &h->requests[h->open++]));
    }
    for (int k = 0; k < h->domain->neighbour_count; k++) {
        pack(h, &neighbours[k], 0, neighbours[k].sent);
        MPI_CHECK(MPI_Isend(h->packed + all->sent_at[k], all->sent[k], MPI_DOUBLE, neighbours[k].rank, TAG, h->comm,
                            &h->requests[h->open++]));
    }
}

static void start_persistent(struct halo *h) {
    pack_all(h);
    h->open = 2 * h->domain->neighbour_count;
    memcpy(h->requests, h->persistent, (size_t)h->open * sizeof *h->requests);
    if (h->open > 0) {
        MPI_CHECK(MPI_Startall(h->open, h->requests));
    }
}

static void start_neighbourhood(struct halo *h) {
    const struct halo_layout *all = &h->by_neighbour;
    pack_all(h);
    MPI_CHECK(MPI_Ineighbor_alltoallv(h->packed, all->sent, all->sent_at, MPI_DOUBLE, ghosts_of(h), all->received,
                                      all->received_at, MPI_DOUBLE, h->neighbourhood, &h->requests[h->open++]));
}

static void start_collective(struct halo *h, int chunk) {
    const struct halo_layout *part = &h->chunks[chunk];
    for (int k = 0; k < h->domain->neighbour_count; k++) {
        const struct domain_neighbour *n = &h->domain->neighbours[k];
        pack(h, n, domain_chunk_first(n->sent, chunk), domain_chunk_first(n->sent, chunk + 1));
    }
    MPI_CHECK(MPI_Ialltoallv(h->packed, part->sent, part->sent_at, MPI_DOUBLE, ghosts_of(h), part->received,
                             part->received_at, MPI_DOUBLE, h->comm, &h->requests[h->open++]));
}

void halo_start_chunk(struct halo *h, enum halo_way way, int chunk) {
    switch (way) {
    case HALO_NOTHING:
        break;
    case HALO_POINT_TO_POINT:
        start_point_to_point(h);
        break;
    case HALO_PERSISTENT:
        start_persistent(h);
        break;
    case HALO_NEIGHBOURHOOD:
        start_neighbourhood(h);
        break;
    case HALO_COLLECTIVE:
        start_collective(h, chunk);
        break;
    }
}

void halo_start(struct halo *h, enum halo_way way) {
    halo_start_chunk(h, way, 0);
    for (int c = 1; way == HALO_COLLECTIVE && c < DOMAIN_CHUNKS; c++) {
        halo_start_chunk(h, way, c);
    }
}

bool halo_test(struct halo *h) {
    int complete = 0;
    MPI_CHECK(MPI_Testall(h->open, h->requests, &complete, MPI_STATUSES_IGNORE));
    return complete != 0;
}

void halo_wait(struct halo *h) {
    if (h->open > 0) {
        MPI_CHECK(MPI_Waitall(h->open, h->requests, MPI_STATUSES_IGNORE));
    }
    h->open = 0;
}
