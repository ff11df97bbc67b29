/*
 * timing - the section "timer": what one reading of the local clock is worth, on the rank where it is worth least.
 */
#ifndef CAMPAIGN_TIMING_H
#define CAMPAIGN_TIMING_H

#include "session.h"

/* Collective. false: the record cannot be written. */
bool timing_measure(struct session *session);

#endif
