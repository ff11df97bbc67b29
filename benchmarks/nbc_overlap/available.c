#include "available.h"

#include "collectives.h"

#include <stdio.h>

void available_list(void) {
    for (int i = 0; i < COLLECTIVE_COUNT; i++) {
        const struct collective *collective = &collective_table[i];
        if (collective->available) {
            printf("%s\n", collective->name);
        } else {
            printf("%-26s this MPI library has no %s\n", collective->name, collective->mpi_name);
        }
    }
}

void available_check(const struct option_list *collectives, char *error, size_t error_size) {
    for (size_t i = 0; i < collectives->count && error[0] == '\0'; i++) {
        const struct collective *collective = &collective_table[collectives->values[i]];
        if (!collective->available) {
            snprintf(error, error_size, "this MPI library has no %s; --list shows which collectives it has",
                     collective->mpi_name);
        }
    }
}
