#include "flags.h"

#include <sched.h>
#include <string.h>

/* Looks at a flag between two polls, and between two offers of the CPU where ranks share cores or where it takes long.
 * A look takes a few ns to a few tens of ns: so a poll of MPI, of about a microsecond, adds about a fifth, and
 * after a few hundred microseconds the rank that is waited for has probably lost its core. */
enum { LOOKS_PER_POLL = 256, LOOKS_PER_YIELD = 8, LOOKS_BEFORE_YIELD = 65536 };

static inline void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

size_t flags_bytes(int ranks) {
    return sizeof(struct node_flags) + (size_t)ranks * sizeof(struct rank_flags);
}

void flags_clear(struct node_flags *flags, int ranks) {
    atomic_init(&flags->released.number, 0);
    atomic_init(&flags->failed, 0);
    for (int i = 0; i < ranks; i++) {
        atomic_init(&flags->ranks[i].arrived.number, 0);
        atomic_init(&flags->ranks[i].done.number, 0);
    }
}

size_t notes_bytes(int ranks) {
    return (size_t)ranks * NOTE_LINES * sizeof(struct note_line);
}

void notes_clear(struct note_line *notes, int ranks) {
    for (int i = 0; i < ranks * NOTE_LINES; i++) {
        atomic_init(&notes[i].number, 0);
    }
}

void flag_set(struct flag *flag, uint64_t number) {
    atomic_store_explicit(&flag->number, number, memory_order_release);
}

uint64_t flag_number(struct flag *flag) {
    return atomic_load_explicit(&flag->number, memory_order_acquire);
}

static int wait_for(_Atomic uint64_t *number, uint64_t least, const struct flags_waiting *waiting) {
    for (uint64_t looks = 1; atomic_load_explicit(number, memory_order_acquire) < least; looks++) {
        relax();
        if (looks % LOOKS_PER_POLL == 0) {
            const int code = waiting->poll(waiting->context);
            if (code != 0) {
                return code;
            }
        }
        if ((waiting->yield || looks > LOOKS_BEFORE_YIELD) && looks % LOOKS_PER_YIELD == 0) {
            sched_yield();
        }
    }
    return 0;
}

int flag_wait(struct flag *flag, uint64_t least, const struct flags_waiting *waiting) {
    return wait_for(&flag->number, least, waiting);
}

void note_write(struct note_line *own, uint64_t number, const void *bytes, size_t size) {
    struct note_line *line = &own[number % NOTE_LINES];
    memcpy(line->bytes, bytes, size);
    atomic_store_explicit(&line->number, number, memory_order_release);
}

int note_read(struct note_line *from, uint64_t number, void *bytes, size_t size, const struct flags_waiting *waiting) {
    struct note_line *line = &from[number % NOTE_LINES];
    const int code = wait_for(&line->number, number, waiting);
    if (code == 0) {
        memcpy(bytes, line->bytes, size);
    }
    return code;
}
