/*
 * residual - the section "clock": measures how far the ranks' common time is off, at once and after a while, with the
 * drift taken into account and without it (Denis 2022, section 4.2).
 */
#pragma once

#include "session.h"

/* What the record has of its points. */
extern const struct sampler_kind residual_points;

/* Collective: measures and writes the section; ranks sleep while they wait. Returns false where the record cannot be
 * written. */
bool residual_measure(struct session *session);
