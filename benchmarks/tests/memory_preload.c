/*
 * Counts memory for tests: LD_PRELOAD this, and in MPI_Finalize each rank says on standard error the most memory that
 * the program itself held at one time. Allocations of the libraries that the program calls, MPI among them, do not
 * count. It needs the GNU C library.
 */
#include <link.h>
#include <malloc.h>
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
    (void)size;
    (void)context;
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

static long long size_of(void *memory) {
    return memory != NULL ? (long long)malloc_usable_size(memory) : 0;
}

static void count(long long bytes) {
    const long long now = atomic_fetch_add(&held, bytes) + bytes;
    long long before = atomic_load(&most);
    while (now > before && !atomic_compare_exchange_weak(&most, &before, now)) {
    }
}

static void *counted(void *memory, const void *caller) {
    if (by_program(caller)) {
        count(size_of(memory));
    }
    return memory;
}

void *malloc(size_t size) {
    return counted(__libc_malloc(size), __builtin_return_address(0));
}

void *calloc(size_t number, size_t size) {
    return counted(__libc_calloc(number, size), __builtin_return_address(0));
}

void *aligned_alloc(size_t alignment, size_t size) {
    return counted(__libc_memalign(alignment, size), __builtin_return_address(0));
}

void *realloc(void *memory, size_t size) {
    const bool counts = by_program(__builtin_return_address(0));
    const long long before = counts ? size_of(memory) : 0;
    void *grown = __libc_realloc(memory, size);
    if (counts && grown != NULL) {
        count(size_of(grown) - before);
    }
    return grown;
}

void free(void *memory) {
    if (by_program(__builtin_return_address(0))) {
        count(-size_of(memory));
    }
    __libc_free(memory);
}

int MPI_Finalize(void) {
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fprintf(stderr, "memory_preload: rank %d held at most %lld bytes\n", rank, atomic_load(&most));
    return PMPI_Finalize();
}
