#include "philox.h"

#include <math.h>

enum { ROUNDS = 10 };

void philox_block(const uint32_t counter[4], const uint32_t key[2], uint32_t words[4]) {
    uint32_t x[4] = {counter[0], counter[1], counter[2], counter[3]};
    uint32_t k[2] = {key[0], key[1]};
    for (int round = 0; round < ROUNDS; round++) {
        const uint64_t first = (uint64_t)UINT32_C(0xD2511F53) * x[0];
        const uint64_t second = (uint64_t)UINT32_C(0xCD9E8D57) * x[2];
        const uint32_t next[4] = {(uint32_t)(second >> 32) ^ x[1] ^ k[0], (uint32_t)second,
                                  (uint32_t)(first >> 32) ^ x[3] ^ k[1], (uint32_t)first};
        for (int i = 0; i < 4; i++) {
            x[i] = next[i];
        }
        k[0] += UINT32_C(0x9E3779B9);
        k[1] += UINT32_C(0xBB67AE85);
    }
    for (int i = 0; i < 4; i++) {
        words[i] = x[i];
    }
}

struct philox_stream philox_stream_of(uint64_t seed, uint32_t purpose, uint32_t first, uint32_t second) {
    return (struct philox_stream){.key = {(uint32_t)seed, (uint32_t)(seed >> 32)},
                                  .counter = {0, purpose, first, second}};
}

/* The next two numbers, each of 53 bits. */
static void next_pair(struct philox_stream *s, double pair[2]) {
    uint32_t words[4];
    philox_block(s->counter, s->key, words);
    s->counter[0]++;
    for (int i = 0; i < 2; i++) {
        const uint64_t bits = ((uint64_t)words[2 * i] << 32 | words[2 * i + 1]) >> 11;
        pair[i] = ((double)bits + 0.5) * 0x1p-53;
    }
}

double philox_uniform(struct philox_stream *s) {
    double pair[2];
    next_pair(s, pair);
    return pair[0];
}

uint32_t philox_below(struct philox_stream *s, uint32_t count) {
    const uint32_t drawn = (uint32_t)(philox_uniform(s) * count);
    return drawn < count ? drawn : count - 1;
}

double philox_normal(struct philox_stream *s) {
    double pair[2];
    if (s->has_normal) {
        s->has_normal = 0;
        return s->normal;
    }
    next_pair(s, pair);
    const double length = sqrt(-2 * log(pair[0]));
    const double angle = 2 * acos(-1) * pair[1];
    s->normal = length * sin(angle);
    s->has_normal = 1;
    return length * cos(angle);
}

double philox_gamma(struct philox_stream *s, double shape) {
    const double d = shape - 1.0 / 3;
    const double c = 1 / sqrt(9 * d);
    for (;;) {
        const double x = philox_normal(s);
        const double base = 1 + c * x;
        const double v = base * base * base;
        if (base > 0 && log(philox_uniform(s)) < 0.5 * x * x + d - d * v + d * log(v)) {
            return d * v;
        }
    }
}
