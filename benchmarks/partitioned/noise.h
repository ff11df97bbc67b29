/*
 * noise - which partitions are late, and by how much: the computation for a partition relative to the average.
 *
 * NOISE_LAST: the last one, by the delay (Gillis 2023, section 4.3). With the others a thread computes for each
 * partition, on average as long as the delay, with the noise of appendix A and of Temucin et al. 2022: none; uniform
 * and normal, around the average; single, where one partition takes longer.
 */
#pragma once

#include "options.h"

#include <stddef.h>
#include <stdint.h>

enum noise_kind { NOISE_LAST, NOISE_NONE, NOISE_UNIFORM, NOISE_NORMAL, NOISE_SINGLE, NOISES };
extern const struct option_choice noise_choices[];

/* From which the noise of a transfer follows. */
struct noise {
    enum noise_kind kind;
    double relative; /* sigma: standard deviation of the computation of a partition, relative */
    uint64_t seed;
    uint64_t transfer;
    int pair;
};

/* Returns how long the computation for a partition takes, relative to the average. */
double noise_factor(const struct noise *noise, size_t partition, size_t partitions);
