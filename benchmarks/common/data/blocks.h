/*
 * blocks - how long the blocks are that ranks exchange where a collective lets them differ.
 *
 * There is one share per rank, in a cycle: even ones have ceil(count / 2) elements, odd ones count + floor(count / 2),
 * and the last of an odd number has count. So count is their mean, exactly; the shortest is at least half of it, the
 * longest at most one and a half of it, and any run of n of them has less than n + 1 counts.
 *
 * Block j of rank r is share (r + j) mod ranks: what a rank sends to all, and what it receives from all, is the whole
 * cycle.
 */
#ifndef CAMPAIGN_BLOCKS_H
#define CAMPAIGN_BLOCKS_H

#include <stddef.h>

/* Elements of a share. index may be anything that is not negative: the cycle goes on. */
size_t blocks_share(size_t count, size_t index, size_t ranks);

/* Elements of n shares from first on, together; n at most ranks. */
size_t blocks_sum(size_t count, size_t first, size_t n, size_t ranks);

#endif
