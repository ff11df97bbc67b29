/*
 * artificial_clock - the timer_now_ns of sources compiled with TIMER_ARTIFICIAL: a clock whose true time is known.
 *
 * All ranks run on one machine and read one real clock; each is shown instead
 *
 *     local = real (1 + rank drift_ppm 1e-6) + rank offset_s 1e9 + step + error of reading,
 *
 * so that rank 0's clock is the real one and the true global time of any moment is known to every rank. The faults come
 * from the environment variable ARTIFICIAL_CLOCK, e.g. "offset_s=3,drift_ppm=40,jitter_ns=50":
 *
 *     offset_s, drift_ppm          times the rank
 *     jitter_ns                    each reading is off by up to half of this either way, but never below the one before
 *     step_ns, step_after_s        ranks above 0: this much is added from so long after the start of the process
 *     rate_ppm, rate_after_s       times the rank: the drift is larger by this from so long after the start on
 *     backwards_ns                 ranks above 0: one reading of 1000 falls back by this
 *     nodes                        ranks in so many blocks have a clock each, rank stands for the block above
 */
#pragma once

#include <stdint.h>

/* Returns the machine's clock: the true global time, ns. */
int64_t artificial_clock_real_ns(void);

/* Returns what this rank's clock shows at a real time, ns, without the error of reading. */
int64_t artificial_clock_at(int64_t real_ns);
