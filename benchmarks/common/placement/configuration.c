#include "configuration.h"

#include <mpi.h>
#include <stddef.h>

const struct configuration configuration_table[CONFIGURATION_COUNT] = {
    [CONFIGURATION_BASIC] = {.name = "basic", .thread_level = MPI_THREAD_FUNNELED},
    [CONFIGURATION_ASYNC] = {.name = "async", .source = PROGRESS_LIBRARY, .thread_level = MPI_THREAD_FUNNELED},
    [CONFIGURATION_DEDICATED] = {.name = "dedicated",
                                 .source = PROGRESS_LIBRARY,
                                 .gives_up_core = true,
                                 .bound = true,
                                 .thread_level = MPI_THREAD_FUNNELED},
    /* its thread tests a request while the main thread is free to call MPI */
    [CONFIGURATION_APPHELPER] = {.name = "apphelper",
                                 .source = PROGRESS_APPLICATION,
                                 .gives_up_core = true,
                                 .bound = true,
                                 .thread_level = MPI_THREAD_MULTIPLE},
    /* the controls: what binding is worth (section 7.3.1), and what the lost core costs */
    [CONFIGURATION_DEDICATED_UNBOUND] = {.name = "dedicated_unbound",
                                         .source = PROGRESS_LIBRARY,
                                         .gives_up_core = true,
                                         .thread_level = MPI_THREAD_FUNNELED},
    [CONFIGURATION_BASIC_REDUCED] = {.name = "basic_reduced",
                                     .gives_up_core = true,
                                     .thread_level = MPI_THREAD_FUNNELED},
};

const char *const *configuration_names(void) {
    static const char *names[CONFIGURATION_COUNT + 1];
    for (int i = 0; i < CONFIGURATION_COUNT; i++) {
        names[i] = configuration_table[i].name;
    }
    return names;
}

const char *configuration_source_name(enum progress_source source) {
    static const char *const names[] = {
        [PROGRESS_NONE] = "none", [PROGRESS_LIBRARY] = "library", [PROGRESS_APPLICATION] = "application"};
    return names[source];
}
