/*
 * messages - the messages of a pipeline: channels between the ranks of a pair or of neighbours, their contents, the
 * work before partitions, and transfers.
 */
#pragma once

#include "pipeline.h"

/* What a channel is made of, for each neighbour. */
struct messages_shape {
    size_t neighbours;
    int64_t message_bytes;
    int64_t send_partitions;
    int64_t receive_partitions;
    int64_t aggregation_bytes;
};

/* In transfers that look for wrong data the last partition is so late. */
enum { MESSAGES_PROVOKING_NS = 1000000 };

/* Collective over the ranks of a channel: make it, with a first transfer, which makes connections and buffers; and
 * close it, where it is open. */
void messages_open(struct pipeline *o, struct channel *c, const struct approach *approach, struct messages_shape shape);
void messages_close(struct channel *c);

/* The single steps of a transfer, which all ranks of the channel make: its contents and its work; the transfer, from a
 * common start (line NULL: at once); then the receivers learn what their senders timed, and check what arrived. */
void messages_prepare(struct pipeline *o, const struct channel *c);
void messages_run(struct pipeline *o, struct channel *c, start_line *line);
void messages_settle(struct pipeline *o, const struct channel *c);

/* All of them, apart from other transfers. */
void messages_transfer(struct pipeline *o, struct channel *c);

/* Makes room for the largest work that noise can choose for the point. */
void messages_reserve_work(struct pipeline *o);
