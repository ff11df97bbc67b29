/*
 * parts - the two parts of a repetition of a pipeline, by the approach under test and by one message, and what is done
 * where wrong data arrived.
 */
#pragma once

#include "pipeline.h"

/* What each rank times in a repetition. START is a local time. The others are durations, which the receiver of a pair
 * knows: without the computation, which is no part of a transfer. A sender has 0. The two of a computation are the
 * sender's, and a receiver has 0. */
enum term { START, TIME, AFTER_LAST, DELAY, REF_TIME, COMPUTING_CPU, COMPUTING_WAITING, TERMS };

/* A transfer of the point's channel, and one of pipeline.one_message. Each follows an untimed one. */
extern const struct repetition_part parts_tested;
extern const struct repetition_part parts_reference;

/* Whether this rank has received wrong data; context: a pipeline. */
bool parts_wrong(void *context);

/* Collective: counts the words that arrived wrong, says which was the first, and writes the reproducer where it was
 * asked for. */
int64_t parts_count_faults(void *context, char *text, size_t text_size);
