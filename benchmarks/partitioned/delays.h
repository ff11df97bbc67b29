/*
 * delays - the work that delays partitions: for each point, how long a delay is wanted and which size of the
 * computation takes so long on one thread.
 *
 * A delay is given as the dimensionless product gamma * beta (Gillis 2023, section 2.2.1): D = gamma S_part, where
 * S_part is the size of a partition and beta the bandwidth, so that D = (gamma beta) S_part / beta. beta is measured in
 * the same run. Work sizes are searched in the configuration basic and saved, so that every configuration computes the
 * same.
 */
#pragma once

#include "program.h"
#include "size_search.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct delay {
    int64_t message_bytes;
    int64_t partitions;                    /* of the sender */
    int64_t ratio_millionths;              /* gamma * beta */
    int64_t target_ns;                     /* 0: no delay */
    struct size_search_result calibration; /* its size is the work */
};

struct delays {
    struct delay *items;
    size_t count;
    bool guessed;        /* on rank 0: the targets are those of a bandwidth that was not measured */
    int64_t searched_ns; /* the time that all searches took on this rank */
};

/* Returns D in ns for a bandwidth in bytes per second. */
int64_t delays_target_ns(int64_t message_bytes, int64_t partitions, int64_t ratio_millionths, double bytes_per_second);

/* Adds a delay whose target is not known yet. */
void delays_add(struct delays *delays, int64_t message_bytes, int64_t partitions, int64_t ratio_millionths);
const struct delay *delays_find(const struct delays *delays, int64_t message_bytes, int64_t partitions,
                                int64_t ratio_millionths);
void delays_free(struct delays *delays);

/* Sets the target of every delay, for this bandwidth. */
void delays_aim(struct delays *delays, double bytes_per_second);

/* Collective: searches the work of every delay. computes: whether this rank computes later. All searches of a launch
 * together take at most 30 % of its budget. */
void delays_search(const struct program *program, struct delays *delays, bool computes);

/* Rank 0: read the work of every delay from a sizes file, and write it. Return false and one line in error on a fault.
 */
bool delays_read(const char *path, const struct program *program, struct delays *delays, char *error,
                 size_t error_size);
bool delays_write(const char *path, const struct program *program, const struct delays *delays, char *error,
                  size_t error_size);

/* Collective: gives rank 0's delays to all ranks, which have the same number of them. */
void delays_share(struct delays *delays);
