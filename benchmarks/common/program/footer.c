#include "program.h"

#include "fail.h"
#include "fail_mpi.h"
#include "timer.h"
#include "transport.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct program_cpu program_cpu_so_far(const struct program *program) {
    struct program_cpu cpu = {.helper = 0};
    cpu.mpi_threads = placement_mpi_thread_cpu(program->place, &cpu.mpi);
    if (program->helper != NULL) {
        cpu.helper = helper_cpu_ns(program->helper);
        cpu.helpers = 1;
    }
    return cpu;
}

void program_cpu_free(struct program_cpu *cpu) {
    free(cpu->mpi);
    *cpu = (struct program_cpu){0};
}

/* Of all ranks, on rank 0; NULL elsewhere. */
struct gathered {
    int64_t **mpi;
    size_t *mpi_counts;
    int64_t **helpers;
    size_t *helper_counts;
    int64_t *tcp_bytes;
};

/* Collective. */
static struct gathered gather(const struct program *program, const struct program_cpu *cpu) {
    struct gathered all = {NULL, NULL, NULL, NULL, NULL};
    placement_gather_counts(cpu->mpi, cpu->mpi_threads, &all.mpi, &all.mpi_counts);
    placement_gather_counts(&cpu->helper, cpu->helpers, &all.helpers, &all.helper_counts);
    const int64_t bytes = transport_tcp_bytes_sent();
    all.tcp_bytes = program->rank == 0 ? fail_alloc((size_t)program->ranks, sizeof *all.tcp_bytes) : NULL;
    MPI_CHECK(MPI_Gather(&bytes, 1, MPI_INT64_T, all.tcp_bytes, 1, MPI_INT64_T, 0, MPI_COMM_WORLD));
    return all;
}

static void free_gathered(struct gathered *all) {
    if (all->mpi != NULL) {
        free(all->mpi[0]);
        free(all->helpers[0]);
    }
    free(all->mpi);
    free(all->mpi_counts);
    free(all->helpers);
    free(all->helper_counts);
    free(all->tcp_bytes);
}

/* Collective. */
static struct clock_quality last_look_at_clock(const struct program *program) {
    if (program->clock == NULL) {
        return (struct clock_quality){.method = CLOCK_NONE, .refusal = "not synchronised"};
    }
    clock_synchronise(program->clock);
    return clock_quality_of(program->clock);
}

bool program_write_footer(struct program *program, const struct program_footer *own) {
    const bool clockless = program->kind->clockless;
    const struct clock_quality clock = last_look_at_clock(program);
    placement_look_again(program->place);
    struct program_cpu so_far = {.helper = 0};
    if (own->cpu == NULL) {
        so_far = program_cpu_so_far(program);
    }
    struct gathered all = gather(program, own->cpu != NULL ? own->cpu : &so_far);
    program_cpu_free(&so_far);
    const double wall_seconds = (double)(timer_now_ns() - program->began) / 1e9;
    bool good = true;
    if (program->rank == 0) {
        const int64_t points = record_points(program->record);
        const struct record_footer footer = {.complete = own->reason[0] == '\0',
                                             .reason = own->reason,
                                             .points = points,
                                             .wall_seconds = wall_seconds,
                                             .measured_seconds = own->measured_seconds,
                                             .spent_seconds = own->spent,
                                             .clock_residual_ns = clock.method != CLOCK_NONE ? clock.residual_ns : NAN,
                                             .clock_synchronisations =
                                                 clockless ? RECORD_UNKNOWN : clock.synchronisations,
                                             .clock_synchronisation_seconds = clockless ? NAN : clock.seconds,
                                             .clock_refusal = clockless ? "" : clock.refusal,
                                             .ranks = (size_t)program->ranks,
                                             .mpi_thread_cpu_ns = (const int64_t *const *)all.mpi,
                                             .mpi_thread_counts = all.mpi_counts,
                                             .helper_thread_cpu_ns = (const int64_t *const *)all.helpers,
                                             .helper_thread_counts = all.helper_counts,
                                             .tcp_bytes_sent = all.tcp_bytes};
        good = record_write_footer(program->record, &footer);
    }
    free_gathered(&all);
    return program_agree(good);
}
