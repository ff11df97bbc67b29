/*
 * imbalance - the section "start": measures how far apart in time ranks begin after a deadline on the common clock,
 * after MPI_Barrier, and after a dissemination barrier.
 *
 * The three kinds of start take turns, so that a disturbance affects all of them.
 */
#pragma once

#include "session.h"

/* What the record has of its points. */
extern const struct sampler_kind imbalance_points;

/* Collective: measures and writes the section. Returns false where the record cannot be written. */
bool imbalance_measure(struct session *session);
