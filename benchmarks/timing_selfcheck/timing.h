/*
 * timing - the section "timer": measures resolution and cost of reading the local clock, on the rank where they are
 * worst.
 */
#pragma once

#include "session.h"

/* What the record has of its points. */
extern const struct sampler_kind timing_points;

/* Collective: measures and writes the section. Returns false where the record cannot be written. */
bool timing_measure(struct session *session);
