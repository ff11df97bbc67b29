/*
 * noise - the section "noise": measures how often and how long something else runs on the cores of computing threads.
 *
 * Every computing thread reads the timer without pause, all at the same time, each on its core. A gap between two
 * readings that is longer than a threshold is a detour: something else ran there (the selfish detour benchmark:
 * Hoefler, Schneider and Lumsdaine 2010).
 */
#pragma once

#include "session.h"

/* What the record has of its points. */
extern const struct sampler_kind noise_points;

/* Collective: measures and writes the section. Returns false where the record cannot be written. */
bool noise_measure(struct session *session);
