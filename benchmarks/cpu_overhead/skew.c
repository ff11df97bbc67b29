#include "skew.h"

#include "bits.h"

#include <math.h>
#include <stddef.h>

struct skew skew_of(int rank, uint64_t seed) {
    struct skew skew = {{0}};
    double sum = 0;
    for (size_t i = 0; i < SKEW_CALLS; i++) {
        skew.shares[i] = -log(1 - ((double)i + 0.5) / SKEW_CALLS);
        sum += skew.shares[i];
    }
    for (size_t i = 0; i < SKEW_CALLS; i++) {
        skew.shares[i] *= SKEW_CALLS / sum;
    }
    const uint64_t key = bits_mix(seed * BITS_STEP + (uint64_t)rank + 1);
    for (size_t i = SKEW_CALLS; i > 1; i--) { /* Fisher and Yates */
        const size_t other = (size_t)(bits_mix(key + i) % i);
        const double share = skew.shares[i - 1];
        skew.shares[i - 1] = skew.shares[other];
        skew.shares[other] = share;
    }
    return skew;
}
