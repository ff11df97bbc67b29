/*
 * imbalance - the section "start": how far apart ranks begin after a deadline on the common clock, after MPI_Barrier,
 * and after a dissemination barrier.
 *
 * The three take turns, so that what disturbs one disturbs the others as well.
 */
#ifndef CAMPAIGN_IMBALANCE_H
#define CAMPAIGN_IMBALANCE_H

#include "session.h"

/* Collective. false: the record cannot be written. */
bool imbalance_measure(struct session *session);

#endif
