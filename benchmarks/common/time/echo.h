/*
 * echo - round trips between two processes through UDP sockets of their own, stamped by the kernel.
 *
 * The kernel notes when a message leaves and when one arrives, so that neither a process that waits for a core, nor the
 * MPI library, is in the times. As it is known only afterwards when the answer left, that follows in a message of its
 * own (as in IEEE 1588). A process tells its card to those that will ask it, by any other way; each of them finds out
 * which address on the card answers, and soonest. All times are local times (timer_now_ns), in ns.
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

enum { ECHO_MOST_ADDRESSES = 8 };

/* Where a process can be asked. It holds for processes of one byte order. */
struct echo_card {
    uint64_t secret; /* of the one that is asked: no other process answers for it */
    struct sockaddr_in addresses[ECHO_MOST_ADDRESSES];
    int count; /* 0: nowhere, it has no socket */
};

/* A question and its answer. sent, received: on the clock of the one that asks.  reached, answered: as the other says.
 */
struct echo_trip {
    int64_t sent;
    int64_t reached;
    int64_t answered;
    int64_t received;
};

/* A question that has come, and when. */
struct echo_question {
    struct sockaddr_in from;
    uint64_t number;
    int64_t reached;
};

typedef struct echo echo;

/* Opens a socket. Where that is not possible, nobody can be asked, and echo_card_of has no addresses. */
echo *echo_create(void);
void echo_destroy(echo *own);

struct echo_card echo_card_of(const echo *own);

/* Chooses the address of the process to be asked, which must meanwhile answer. */
void echo_find(echo *own, const struct echo_card *partner);

/* Returns whether echo_find found an address. */
bool echo_found(const echo *own);

/* Asks the process that was found. Returns false if there is no answer in a tenth of a second. */
bool echo_ask(echo *own, struct echo_trip *trip);

/* Waits so long for a question. Returns whether there is one. */
bool echo_wait(echo *own, int milliseconds, struct echo_question *question);

/* Answers, and returns when the answer left. */
int64_t echo_answer(echo *own, const struct echo_question *question);

/* Tells the one that asked when the question came and the answer left. */
void echo_follow_up(echo *own, const struct echo_question *question, int64_t reached, int64_t answered);
