#include "noise.h"

#include "bits.h"

#include <math.h>

const struct option_choice noise_choices[] = {
    [NOISE_LAST] = {"last", "the last one, by the delay"},
    [NOISE_NONE] = {"none", "a computation before each partition, on average as long as the delay, always as long"},
    [NOISE_UNIFORM] = {"uniform", "the same with uniform noise"},
    [NOISE_NORMAL] = {"normal", "the same with normal noise"},
    [NOISE_SINGLE] = {"single", "the same where one partition takes longer, another one in each repetition"},
    {NULL, NULL},
};

/* Returns a number in [0, 1) that follows from the seed, the pair, the transfer and the partition. */
static double random_share(const struct noise *noise, uint64_t partition) {
    const uint64_t key = noise->seed + BITS_STEP * (noise->transfer + 1);
    return bits_share(bits_mix(key ^ (((uint64_t)noise->pair << 40) + partition)));
}

double noise_factor(const struct noise *noise, size_t partition, size_t partitions) {
    const double sigma = noise->relative;
    switch (noise->kind) {
    case NOISE_UNIFORM:
        return 1 + sqrt(3) * sigma * (2 * random_share(noise, partition) - 1);
    case NOISE_NORMAL: {
        const double u = 1 - random_share(noise, 2 * partition);
        const double v = random_share(noise, 2 * partition + 1);
        return fmax(1 + sigma * sqrt(-2 * log(u)) * cos(2 * acos(-1) * v), 0);
    }
    case NOISE_SINGLE:
        return partition == (size_t)(random_share(noise, partitions) * (double)partitions) ? 1 + sigma : 1;
    case NOISE_LAST:
        return partition + 1 == partitions;
    case NOISE_NONE:
    case NOISES:
        break;
    }
    return 1;
}
