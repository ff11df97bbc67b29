/*
 * sample - one timed piece of fixed work, on all ranks at once.
 */
#ifndef CAMPAIGN_SAMPLE_H
#define CAMPAIGN_SAMPLE_H

#include "session.h"

enum work_kind { WORK_COMPUTATION, WORK_COMMUNICATION };

/* "computation", "communication". */
const char *work_kind_name(enum work_kind kind);

typedef struct sampler sampler;

sampler *sampler_create(const struct session *session);
void sampler_destroy(sampler *s);

/* Collective, before samples of a kind and a size that take about this long, which says how late a rank may be. Synchronises the clock where
 * that is due. */
void sampler_begin(sampler *s, enum work_kind kind, uint64_t size, int64_t target_ns);

struct sample {
    int64_t time_ns; /* over all ranks; the common clock extrapolated: good enough to decide */
    bool late;       /* a rank missed the start: it does not count */
    bool wrong_data; /* on some rank; sampler_fault_text */
    int64_t begin;   /* of this rank, local */
    int64_t end;
};

/* Collective. All but begin and end are the same on all ranks. */
struct sample sampler_take(sampler *s);

/* Collective: one line about the first wrong data, of the lowest rank that saw some. Owned by the sampler. */
const char *sampler_fault_text(sampler *s);

#endif
