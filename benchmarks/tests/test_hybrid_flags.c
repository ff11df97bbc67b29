/*
 * Unit test of flags: threads take the place of ranks, and play the contract for the one copy. Built with
 * ThreadSanitizer where the compiler has it, which finds a data race even where this machine's processor hides it.
 *
 * In every round one thread writes the buffer of that round, as in hybrid_broadcast, with another writer each time. A
 * writer waits for the readers of the last round with the same buffer: with two buffers that is the round before the
 * last one, with one buffer the last one.
 */
#include "check.h"
#include "flags.h"

#include <pthread.h>
#include <sched.h>

enum { THREADS = 4, ROUNDS = 300, MOST_BUFFERS = 2, ELEMENTS = 64 };

static struct node_flags *flags;
static struct note_line notes[THREADS * NOTE_LINES];
static uint64_t used_buffers;
static uint64_t buffers[MOST_BUFFERS][ELEMENTS]; /* plain memory: it is the flags that order its accesses */
static _Atomic int wrong;

static int poll_nothing(void *context) {
    return 0;
}

static const struct flags_waiting waiting = {.poll = poll_nothing, .yield = true};

static void *play(void *argument) {
    const int own = (int)(intptr_t)argument;
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        uint64_t *buffer = buffers[round % used_buffers];
        const int writer = (int)(round * 7 % THREADS);
        if (round > used_buffers) {
            for (int i = 0; i < THREADS; i++) {
                flag_wait(&flags->ranks[i].done, round - used_buffers, &waiting);
            }
        }
        if (own == writer) {
            for (int i = 0; i < ELEMENTS; i++) {
                buffer[i] = round;
            }
            flag_set(&flags->ranks[own].arrived, round);
        }
        flag_wait(&flags->ranks[writer].arrived, round, &waiting);
        if ((round + (uint64_t)own) % 16 == 0) {
            sched_yield(); /* a slow reader */
        }
        for (int i = 0; i < ELEMENTS; i++) {
            wrong += buffer[i] != round;
        }
        flag_set(&flags->ranks[own].done, round);
    }
    return NULL;
}

static void run_threads(void *(*body)(void *)) {
    pthread_t threads[THREADS];
    flags = aligned_alloc(FLAGS_LINE, flags_bytes(THREADS));
    CHECK(flags != NULL);
    flags_clear(flags, THREADS);
    notes_clear(notes, THREADS);
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, body, (void *)(intptr_t)i) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    CHECK(wrong == 0);
    free(flags);
}

static void test_contract(uint64_t buffer_count) {
    used_buffers = buffer_count;
    run_threads(play);
}

/* ---- notes ---- */

enum { LONGEST = NOTE_BYTES, NOTES = 400 };

static void *tell(void *argument) {
    const int own = (int)(intptr_t)argument;
    for (uint64_t number = 1; number <= NOTES; number++) {
        unsigned char note[LONGEST];
        const size_t size = 1 + (size_t)number % LONGEST;
        memset(note, (int)(number * 3 + (uint64_t)own), size);
        note_write(notes + own * NOTE_LINES, number, note, size);
        for (int from = 0; from < THREADS; from++) {
            unsigned char got[LONGEST];
            if ((number + (uint64_t)own) % 16 == 0) {
                sched_yield(); /* a slow reader */
            }
            wrong += note_read(notes + from * NOTE_LINES, number, got, size, &waiting) != 0;
            wrong += got[0] != (unsigned char)(number * 3 + (uint64_t)from);
            wrong += got[size - 1] != got[0];
        }
    }
    return NULL;
}

/* One rank gives a note in a round, as the root of a short broadcast: it waits for the readers of the round before the
 * last one, whose note may lie in the same line. */
static void *tell_in_turn(void *argument) {
    const int own = (int)(intptr_t)argument;
    for (uint64_t round = 1; round <= NOTES; round++) {
        unsigned char note[LONGEST];
        const int writer = (int)(round / 3 % THREADS);
        if (own == writer) {
            for (int i = 0; i < THREADS && round > NOTE_LINES; i++) {
                flag_wait(&flags->ranks[i].done, round - NOTE_LINES, &waiting);
            }
            memset(note, (int)round, sizeof note);
            note_write(notes + own * NOTE_LINES, round, note, sizeof note);
        } else {
            if ((round + (uint64_t)own) % 16 == 0) {
                sched_yield();
            }
            wrong += note_read(notes + writer * NOTE_LINES, round, note, sizeof note, &waiting) != 0;
            wrong += note[0] != (unsigned char)round || note[LONGEST - 1] != note[0];
        }
        flag_set(&flags->ranks[own].done, round);
    }
    return NULL;
}

/* Where all tell all, nothing but the notes themselves keeps a rank from writing over one that another still reads. */
static void test_notes(void) {
    run_threads(tell);
    run_threads(tell_in_turn);
    CHECK(sizeof(struct note_line) == FLAGS_LINE);
    CHECK(notes_bytes(THREADS) == sizeof notes);
    CHECK(offsetof(struct note_line, bytes) + NOTE_BYTES == 64); /* the number and the bytes are one cache line */
}

/* ---- waiting ---- */

/* A rank that looks late sees a number that is far beyond the one it waits for, and goes on. */
static void test_number_far_ahead(void) {
    struct flag flag;
    atomic_init(&flag.number, 0);
    flag_set(&flag, 1000000);
    CHECK(flag_wait(&flag, 3, &waiting) == 0);
}

static int polls;

static int poll_then_fail(void *context) {
    return ++polls == 3 ? 7 : 0;
}

/* An error of poll ends the waiting. */
static void test_error_while_waiting(void) {
    struct flag flag;
    atomic_init(&flag.number, 0);
    CHECK(flag_wait(&flag, 1, &(struct flags_waiting){.poll = poll_then_fail}) == 7);
    CHECK(polls == 3);
}

static void test_lines(void) {
    CHECK(sizeof(struct flag) == FLAGS_LINE);
    CHECK(offsetof(struct rank_flags, done) - offsetof(struct rank_flags, arrived) >= FLAGS_LINE);
    CHECK(flags_bytes(3) % FLAGS_LINE == 0);
}

int main(void) {
    test_lines();
    test_number_far_ahead();
    test_error_while_waiting();
    test_contract(1);
    test_contract(2);
    test_notes();
    return 0;
}
