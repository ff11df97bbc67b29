/*
 * For tests: LD_PRELOAD this, and every call of MPI_T_init_thread ends the process that asks for a lower thread level
 * than MPI was started with, which some libraries take for all of MPI from then on.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int MPI_T_init_thread(int required, int *provided) {
    int level = 0;
    union {
        void *object;
        int (*function)(int required, int *provided);
    } next = {dlsym(RTLD_NEXT, "MPI_T_init_thread")};
    if (next.object == NULL || MPI_Query_thread(&level) != MPI_SUCCESS || required < level) {
        fprintf(stderr, "tool_preload: the thread level of MPI is %d, MPI_T_init_thread is asked for %d\n", level,
                required);
        abort();
    }
    return next.function(required, provided);
}
