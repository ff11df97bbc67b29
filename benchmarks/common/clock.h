/*
 * clock - one time for all ranks: that of rank 0 (Denis 2022, section 4.2).
 *
 * Ranks that share rank 0's clock (the same boot of the same kernel, the same time namespace, and no offset that the exchange could
 * see) are not corrected, even with a network between them. Every other clock's leader measures its offset to rank 0 by round trips, the best of many; its group uses that. Timestamps are interpolated
 * between the two synchronisations around them; deadlines are extrapolated from the last.
 *
 * Times in ns, int64_t: "local" is timer_now_ns of this process, "global" is rank 0's.
 */
#ifndef CAMPAIGN_CLOCK_H
#define CAMPAIGN_CLOCK_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct clock_model clock_model;

/* Collective over world; node and host: whose ranks share a clock where the kernel has no boot_id. Synchronises once. */
clock_model *clock_create(MPI_Comm world, MPI_Comm node, const char *host);
void clock_destroy(clock_model *model);

/*
 * Collective: measures the offsets again. Returns the residual on all ranks: the largest disagreement, over ranks, between what the
 * model predicted for this moment and what was measured; for ranks that share a clock, the offset that
 * the exchange saw beyond what its round trips leave open (0 unless the clocks are two after all).
 */
double clock_synchronise(clock_model *model);

/* Global time of a local timestamp by the model as of now (for decisions while a point runs). */
int64_t clock_to_global(const clock_model *model, int64_t local);

/* Global time of a local timestamp that lies between the last two synchronisations. */
int64_t clock_interpolate(const clock_model *model, int64_t local);

/* Local time at which the global clock will show this. */
int64_t clock_to_local(const clock_model *model, int64_t global);

/* "shared" where no rank is corrected, else "interpolated". */
const char *clock_method(const clock_model *model);

#endif
