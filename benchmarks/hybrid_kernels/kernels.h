/*
 * kernels - the points of hybrid_kernels: a kernel of one size, solved by every variant in each repetition. The order
 * changes from repetition to repetition (turns.h). Pure MPI is solved once more, with the same data: the control, whose
 * ratio to pure MPI is 1 in truth.
 */
#pragma once

#include "handover.h"
#include "kernel.h"
#include "memory_use.h"
#include "program.h"

/* The first two make the points, the others have the same value in all of them. */
enum { AXIS_KERNEL, AXIS_SIZE, AXES };
enum { KERNELS = 3 };

extern const struct kernel *const kernel_table[KERNELS];

/* Returns the table as the choices of an option. */
const struct option_choice *kernel_choices(void);

/* The parts of a repetition: a solve in each way, then the control. */
enum { CONTROL = WAYS, SOLVES };

/* What a variant needs of memory, on the node where it needs most, bytes; -1: the kernel does not tell. */
struct way_memory {
    struct memory_use before; /* without data of a kernel */
    int64_t growth;           /* by the data of the kernel, and a solve */
    int64_t shared;           /* then: pages that several processes of the node have */
    int64_t replicated;       /* what was allocated for data that several ranks need */
    int64_t dropped;          /* what less there is of them when these data are freed */
};

struct kernels {
    struct program *program;
    struct crew crew;
    handover *between_cores;
    struct problem problem; /* without the size */
    const int64_t *chosen;  /* [chosen_count]: numbers in kernel_table */
    size_t chosen_count;
    const int64_t *sizes; /* [size_count]: those of all kernels */
    size_t size_count;
    const struct option_list *of_kernel; /* [KERNELS]: which of them each kernel has */
    bool memory_only;                    /* points are not repeated: their memory is measured, and no time */

    struct {
        const struct kernel *kernel;
        struct problem problem;
        void *states[WAYS]; /* NULL: this rank takes no part */
        struct kernel_end expected;
        struct way_memory memory[WAYS];
        int64_t copy_bytes;
        bool pinned;
        struct handover_range handovers;
    } point;
    int64_t faults;
    char fault[512];
};

/* Collective: one line in error, the same on all ranks, where a kernel of a size that was asked for does not fit these
 * ranks, their memory or the shared memory of their nodes. */
void kernels_check(const struct kernels *o, char *error, size_t error_size);

extern const struct sampler_kind kernels_points;
