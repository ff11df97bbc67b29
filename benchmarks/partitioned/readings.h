/*
 * readings - a pipeline reads latency and bandwidth of the network, and plans and searches the delays by them.
 */
#pragma once

#include "pipeline.h"

/* The message from which beta is measured: large enough for the bandwidth to prevail. */
enum { READINGS_LEAST_BYTES = 4 << 20 };

/* Collective: opens the channels of the readings, for this long message; and closes them. */
void readings_open(struct pipeline *o, int64_t long_bytes);
void readings_close(struct pipeline *o);

/* Collective: one more reading, where there is time for it. No point is open. */
void readings_add(struct pipeline *o);

/* Returns beta, bytes per second; a guess where it is not known: for shares of the budget, and for delays. */
double readings_bandwidth(const struct pipeline *o);

/* Collective: the delays of all points, searched where they were not read; saved where that was asked for. Returns
 * false and one line in reason where they could not be saved. */
bool readings_find_delays(struct pipeline *o, char *reason, size_t reason_size);
