/*
 * blocks - the lengths of the blocks that ranks exchange in a collective whose blocks may differ in length (the v and w
 * forms).
 *
 * There is one share per rank, in a cycle: even shares have ceil(count / 2) elements, odd ones count + floor(count /
 * 2), and the last of an odd number has count. So the mean is exactly count, the shortest is at least half of it, the
 * longest at most one and a half of it, and any n consecutive shares have fewer than (n + 1) count elements together.
 *
 * Block j of rank r is share (r + j) mod ranks: the blocks that a rank sends to all ranks are the whole cycle, and so
 * are the blocks that it receives from all.
 */
#pragma once

#include <stddef.h>

/* Returns the number of elements of a share. index may exceed ranks: the cycle goes on. */
size_t blocks_share(size_t count, size_t index, size_t ranks);

/* Returns the number of elements of n shares from `first` on, together; n is at most ranks. */
size_t blocks_sum(size_t count, size_t first, size_t n, size_t ranks);
