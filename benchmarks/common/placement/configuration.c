#include "configuration.h"

#include <mpi.h>
#include <stddef.h>

const struct configuration configuration_table[CONFIGURATION_COUNT] = {
    [CONFIGURATION_BASIC] = {.name = "basic", .help = "no thread", .thread_level = MPI_THREAD_FUNNELED},
    [CONFIGURATION_ASYNC] = {.name = "async",
                             .help = "a thread of the MPI library",
                             .source = PROGRESS_LIBRARY,
                             .thread_level = MPI_THREAD_FUNNELED},
    [CONFIGURATION_DEDICATED] = {.name = "dedicated",
                                 .help = "such a thread on a core that does not compute",
                                 .source = PROGRESS_LIBRARY,
                                 .gives_up_core = true,
                                 .bound = true,
                                 .thread_level = MPI_THREAD_FUNNELED},
    /* its thread tests a request while the main thread is free to call MPI */
    [CONFIGURATION_APPHELPER] = {.name = "apphelper",
                                 .help = "a thread of this program on such a core",
                                 .source = PROGRESS_APPLICATION,
                                 .gives_up_core = true,
                                 .bound = true,
                                 .thread_level = MPI_THREAD_MULTIPLE},
    /* the controls: what binding is worth (section 7.3.1), and what the lost core costs */
    [CONFIGURATION_DEDICATED_UNBOUND] = {.name = "dedicated_unbound",
                                         .help = "control: the library's thread bound to no core, one core idle",
                                         .source = PROGRESS_LIBRARY,
                                         .gives_up_core = true,
                                         .thread_level = MPI_THREAD_FUNNELED},
    [CONFIGURATION_BASIC_REDUCED] = {.name = "basic_reduced",
                                     .help = "control: no thread, one core idle",
                                     .gives_up_core = true,
                                     .thread_level = MPI_THREAD_FUNNELED},
};

OPTION_CHOICES_FROM(configuration_choices, configuration_table, CONFIGURATION_COUNT, help)

const char *configuration_source_name(enum progress_source source) {
    static const char *const names[] = {
        [PROGRESS_NONE] = "none", [PROGRESS_LIBRARY] = "library", [PROGRESS_APPLICATION] = "application"};
    return names[source];
}
