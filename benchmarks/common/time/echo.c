#include "echo.h"

#include "fail.h"
#include "timer.h"

#include <ifaddrs.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <net/if.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

/* An answer that takes longer was lost. Of several addresses, those that answer this much later are not waited for. */
enum { LOST_MS = 100, LATER_MS = 3 };
enum { ROUNDS_OF_FIND = 3 };

enum kind { QUESTION, ANSWER, FOLLOW_UP };

struct message {
    uint64_t secret;
    uint64_t number; /* of the question */
    uint64_t kind;
    int64_t reached; /* in a follow-up */
    int64_t answered;
};

struct echo {
    int socket; /* -1: none */
    uint64_t secret;
    uint64_t questions; /* asked so far */
    uint32_t messages;  /* sent so far, as the kernel counts them */
    in_port_t port;
    struct sockaddr_in partner;
    uint64_t partner_secret;
    bool found;
};

echo *echo_create(void) {
    echo *own = fail_alloc(1, sizeof *own);
    const int stamps = SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_TX_SOFTWARE |
                       SOF_TIMESTAMPING_OPT_ID | SOF_TIMESTAMPING_OPT_TSONLY;
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
    socklen_t size = sizeof any;
    own->socket = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (own->socket >= 0 && (getrandom(&own->secret, sizeof own->secret, 0) != sizeof own->secret ||
                             bind(own->socket, (struct sockaddr *)&any, size) != 0 ||
                             getsockname(own->socket, (struct sockaddr *)&any, &size) != 0 ||
                             setsockopt(own->socket, SOL_SOCKET, SO_TIMESTAMPING, &stamps, sizeof stamps) != 0)) {
        close(own->socket);
        own->socket = -1;
    }
    own->port = any.sin_port;
    return own;
}

void echo_destroy(echo *own) {
    if (own != NULL) {
        if (own->socket >= 0) {
            close(own->socket);
        }
        free(own);
    }
}

/* Adds the addresses of this machine's interfaces, those of the loopback only or all others. */
static void add_addresses(struct echo_card *card, const struct ifaddrs *all, bool loopback, in_port_t port) {
    for (const struct ifaddrs *one = all; one != NULL && card->count < ECHO_MOST_ADDRESSES; one = one->ifa_next) {
        if (one->ifa_addr != NULL && one->ifa_addr->sa_family == AF_INET && (one->ifa_flags & IFF_UP) != 0 &&
            ((one->ifa_flags & IFF_LOOPBACK) != 0) == loopback) {
            struct sockaddr_in *address = &card->addresses[card->count++];
            memcpy(address, one->ifa_addr, sizeof *address);
            address->sin_port = port;
        }
    }
}

struct echo_card echo_card_of(const echo *own) {
    struct echo_card card = {.secret = own->secret};
    struct ifaddrs *all = NULL;
    if (own->socket >= 0 && getifaddrs(&all) == 0) {
        add_addresses(&card, all, false, own->port);
        add_addresses(&card, all, true, own->port); /* of namespaces of one machine that have no other */
        freeifaddrs(all);
    }
    return card;
}

/* Sends a message, which may be lost on its way. */
static void send_message(echo *own, const struct sockaddr_in *to, const struct message *message) {
    if (sendto(own->socket, message, sizeof *message, 0, (const struct sockaddr *)to, sizeof *to) >= 0) {
        own->messages++;
    }
}

static uint64_t send_question(echo *own, const struct sockaddr_in *to, uint64_t secret) {
    const struct message question = {.secret = secret, .number = ++own->questions, .kind = QUESTION};
    send_message(own, to, &question);
    return question.number;
}

/* What the kernel says beside a message: a stamp of its own, as a local time, and which message sent it is about. */
struct beside {
    int64_t stamp; /* 0: none */
    uint32_t number;
};

/* Receives a message that is there, or with MSG_ERRQUEUE what the kernel says about one that was sent. */
static ssize_t receive_now(echo *own, int flags, struct message *message, struct sockaddr_in *from,
                           struct beside *beside) {
    union {
        struct cmsghdr aligned;
        char bytes[512];
    } control;
    struct iovec place = {.iov_base = message, .iov_len = sizeof *message};
    struct msghdr whole = {.msg_name = from,
                           .msg_namelen = sizeof *from,
                           .msg_iov = &place,
                           .msg_iovlen = 1,
                           .msg_control = control.bytes,
                           .msg_controllen = sizeof control.bytes};
    const ssize_t bytes = recvmsg(own->socket, &whole, flags | MSG_DONTWAIT);
    *beside = (struct beside){0};
    for (struct cmsghdr *part = bytes >= 0 ? CMSG_FIRSTHDR(&whole) : NULL; part != NULL;
         part = CMSG_NXTHDR(&whole, part)) {
        if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_TIMESTAMPING) {
            struct scm_timestamping stamps;
            memcpy(&stamps, CMSG_DATA(part), sizeof stamps);
            beside->stamp = timer_of_stamp(stamps.ts[0]);
        } else if (part->cmsg_level == SOL_IP && part->cmsg_type == IP_RECVERR) {
            struct sock_extended_err about;
            memcpy(&about, CMSG_DATA(part), sizeof about);
            beside->number = about.ee_data;
        }
    }
    return bytes;
}

/* Returns when the latest message left; `otherwise` where the kernel does not say so. */
static int64_t left_at(echo *own, int64_t otherwise) {
    struct message none;
    struct sockaddr_in nobody;
    struct beside beside;
    int64_t left = otherwise;
    while (receive_now(own, MSG_ERRQUEUE, &none, &nobody, &beside) >= 0) {
        if (beside.stamp != 0 && beside.number == own->messages - 1) {
            left = beside.stamp;
        }
    }
    return left;
}

/* Receives a message, if one comes in time. *arrived: when it reached this machine. */
static bool receive(echo *own, int milliseconds, struct message *message, struct sockaddr_in *from, int64_t *arrived) {
    struct pollfd wanted = {.fd = own->socket, .events = POLLIN};
    struct beside beside;
    if (poll(&wanted, 1, milliseconds) <= 0) {
        return false;
    }
    if ((wanted.revents & POLLERR) != 0) {
        left_at(own, 0); /* a stamp that came too late, which would end every wait at once */
    }
    if ((wanted.revents & POLLIN) == 0 || receive_now(own, 0, message, from, &beside) != sizeof *message) {
        return false;
    }
    *arrived = beside.stamp != 0 ? beside.stamp : timer_now_ns();
    return true;
}

/* Waits for the answer to one of the questions from number `first` on and for what follows it. Fills all of the trip
 * but `sent`, and returns the number of the question; 0: there is no answer in time. */
static uint64_t receive_answer(echo *own, int milliseconds, uint64_t secret, uint64_t first, struct echo_trip *trip) {
    const int64_t end = timer_now_ns() + INT64_C(1000000) * milliseconds;
    uint64_t answered = 0;
    for (int64_t left = milliseconds; left >= 0; left = (end - timer_now_ns()) / 1000000) {
        struct message message;
        struct sockaddr_in from;
        int64_t arrived = 0;
        if (receive(own, (int)left, &message, &from, &arrived) && message.secret == secret && message.number >= first &&
            message.number <= own->questions) {
            if (message.kind == ANSWER) {
                answered = message.number;
                trip->received = arrived;
            } else if (message.kind == FOLLOW_UP && message.number == answered) {
                trip->reached = message.reached;
                trip->answered = message.answered;
                return answered;
            }
        }
        if (end <= timer_now_ns()) {
            break;
        }
    }
    return 0;
}

void echo_find(echo *own, const struct echo_card *partner) {
    int64_t shortest = INT64_MAX;
    for (int round = 0; own->socket >= 0 && round < ROUNDS_OF_FIND; round++) {
        const uint64_t first = own->questions + 1;
        int64_t sent[ECHO_MOST_ADDRESSES];
        for (int i = 0; i < partner->count; i++) {
            sent[i] = timer_now_ns();
            send_question(own, &partner->addresses[i], partner->secret);
        }
        struct echo_trip trip;
        uint64_t number = receive_answer(own, LOST_MS, partner->secret, first, &trip);
        for (; number != 0; number = receive_answer(own, LATER_MS, partner->secret, first, &trip)) {
            const int64_t length = trip.received - sent[number - first] - (trip.answered - trip.reached);
            if (length < shortest) {
                shortest = length;
                own->partner = partner->addresses[number - first];
            }
        }
    }
    own->partner_secret = partner->secret;
    own->found = shortest < INT64_MAX;
}

bool echo_found(const echo *own) {
    return own->found;
}

bool echo_ask(echo *own, struct echo_trip *trip) {
    const int64_t before = timer_now_ns();
    const uint64_t number = send_question(own, &own->partner, own->partner_secret);
    trip->sent = left_at(own, before);
    return receive_answer(own, LOST_MS, own->partner_secret, number, trip) != 0;
}

bool echo_wait(echo *own, int milliseconds, struct echo_question *question) {
    struct message message;
    if (!receive(own, milliseconds, &message, &question->from, &question->reached) || message.kind != QUESTION ||
        message.secret != own->secret) {
        return false;
    }
    question->number = message.number;
    return true;
}

static void send_back(echo *own, const struct echo_question *question, enum kind kind, int64_t reached,
                      int64_t answered) {
    const struct message message = {own->secret, question->number, kind, reached, answered};
    send_message(own, &question->from, &message);
}

int64_t echo_answer(echo *own, const struct echo_question *question) {
    const int64_t before = timer_now_ns();
    send_back(own, question, ANSWER, 0, 0);
    return left_at(own, before);
}

void echo_follow_up(echo *own, const struct echo_question *question, int64_t reached, int64_t answered) {
    send_back(own, question, FOLLOW_UP, reached, answered);
    left_at(own, 0);
}
