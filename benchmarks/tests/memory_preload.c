/*
 * Counts memory for tests: LD_PRELOAD this, and in MPI_Finalize each rank says on standard error the most memory that
 * the program itself held at one time. Allocations of the libraries that the program calls, MPI among them, do not
 * count. It needs the GNU C library.
 *
 * What counts are the bytes that the program asked for. The block that it gets can have 16 bytes more: that depends on
 * what MPI has freed before, which is not the same in every run.
 */
#include <link.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The GNU C library's own names of these functions. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *memory);

static uintptr_t code_begin; /* of the program, without its libraries */
static uintptr_t code_end;
static atomic_llong held;
static atomic_llong most;

static int find_program(struct dl_phdr_info *info, size_t size, void *context) {
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) != 0) {
            code_begin = info->dlpi_addr + segment->p_vaddr;
            code_end = code_begin + segment->p_memsz;
        }
    }
    return 1; /* the program is the first */
}

__attribute__((constructor)) static void begin(void) {
    dl_iterate_phdr(find_program, NULL);
}

static bool by_program(const void *caller) {
    return (uintptr_t)caller >= code_begin && (uintptr_t)caller < code_end;
}

static void count(long long bytes) {
    const long long now = atomic_fetch_add(&held, bytes) + bytes;
    long long before = atomic_load(&most);
    while (now > before && !atomic_compare_exchange_weak(&most, &before, now)) {
    }
}

/* The blocks of the program: where each one is, and the bytes that were asked for. A block is at the place that its
   address chooses, or at one of the places after it. */
enum { PLACES = 1 << 16, BLOCK_ALIGNMENT = 16 };
static struct block {
    const void *memory; /* NULL: nothing was ever here; &removed: a block was here */
    size_t asked;
} blocks[PLACES];
static const char removed;
static atomic_flag busy = ATOMIC_FLAG_INIT;

static void enter(void) {
    while (atomic_flag_test_and_set(&busy)) {
    }
}

static void leave(void) {
    atomic_flag_clear(&busy);
}

static struct block *place_after(const void *memory, int steps) {
    return &blocks[((uintptr_t)memory / BLOCK_ALIGNMENT + (uintptr_t)steps) % PLACES];
}

static void add_block(const void *memory, size_t asked) {
    enter();
    int steps = 0;
    struct block *place = place_after(memory, steps);
    while (place->memory != NULL && place->memory != &removed) {
        if (++steps == PLACES) {
            fprintf(stderr, "memory_preload: the program holds more than %d blocks\n", PLACES);
            abort();
        }
        place = place_after(memory, steps);
    }
    *place = (struct block){.memory = memory, .asked = asked};
    leave();
    count((long long)asked);
}

/* The bytes that were asked for; 0 for a block that is not the program's. */
static size_t remove_block(const void *memory) {
    size_t asked = 0;
    enter();
    for (int steps = 0; memory != NULL && steps < PLACES; steps++) {
        struct block *place = place_after(memory, steps);
        if (place->memory == memory) {
            asked = place->asked;
            *place = (struct block){.memory = &removed};
        }
        if (asked > 0 || place->memory == NULL) {
            break;
        }
    }
    leave();
    count(-(long long)asked);
    return asked;
}

static void *counted(void *memory, size_t asked, const void *caller) {
    if (memory != NULL && asked > 0 && by_program(caller)) {
        add_block(memory, asked);
    }
    return memory;
}

void *malloc(size_t size) {
    return counted(__libc_malloc(size), size, __builtin_return_address(0));
}

void *calloc(size_t number, size_t size) {
    return counted(__libc_calloc(number, size), number * size, __builtin_return_address(0));
}

void *aligned_alloc(size_t alignment, size_t size) {
    return counted(__libc_memalign(alignment, size), size, __builtin_return_address(0));
}

void *realloc(void *memory, size_t size) {
    const size_t before = remove_block(memory);
    void *grown = __libc_realloc(memory, size);
    if (grown == NULL && size > 0 && before > 0) {
        add_block(memory, before);
        return NULL;
    }
    return counted(grown, size, __builtin_return_address(0));
}

void free(void *memory) {
    remove_block(memory);
    __libc_free(memory);
}

int MPI_Finalize(void) {
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fprintf(stderr, "memory_preload: rank %d held at most %lld bytes\n", rank, atomic_load(&most));
    return PMPI_Finalize();
}
