#include "group.h"

#include "fail_mpi.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* FNV-1a: a colour that all ranks compute alike. */
static int colour_of(const char *text) {
    uint32_t hash = UINT32_C(2166136261);
    for (; *text != '\0'; text++) {
        hash = (hash ^ (unsigned char)*text) * UINT32_C(16777619);
    }
    return (int)(hash & INT_MAX);
}

void group_split(MPI_Comm comm, const char *text, MPI_Comm *out) {
    int rank = 0;
    int own_number = 0;
    int size = 0;
    char own[GROUP_MOST_TEXT] = "";
    MPI_Comm alike = MPI_COMM_NULL;
    snprintf(own, sizeof own, "%s", text);
    MPI_CHECK(MPI_Comm_rank(comm, &rank));
    /* By hash first, then by the texts themselves, one after the other: ranks of one hash nearly always have one text.
     * So no rank keeps the texts of others, however many they are. */
    MPI_CHECK(MPI_Comm_split(comm, colour_of(own), rank, &alike));
    MPI_CHECK(MPI_Comm_set_errhandler(alike, MPI_ERRORS_RETURN));
    MPI_CHECK(MPI_Comm_rank(alike, &own_number));
    MPI_CHECK(MPI_Comm_size(alike, &size));
    int colour = size; /* not known yet */
    for (;;) {
        char first[GROUP_MOST_TEXT] = "";
        int teller = colour == size ? own_number : size;
        MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &teller, 1, MPI_INT, MPI_MIN, alike));
        if (teller == size) {
            break;
        }
        snprintf(first, sizeof first, "%s", own);
        MPI_CHECK(MPI_Bcast(first, sizeof first, MPI_CHAR, teller, alike));
        if (colour == size && strcmp(first, own) == 0) {
            colour = teller;
        }
    }
    MPI_CHECK(MPI_Comm_split(alike, colour, rank, out));
    MPI_CHECK(MPI_Comm_set_errhandler(*out, MPI_ERRORS_RETURN));
    MPI_CHECK(MPI_Comm_free(&alike));
}

bool group_share_error(char *error, size_t error_size) {
    int rank = 0;
    int ranks = 0;
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    int first = error[0] != '\0' ? rank : ranks;
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    if (first < ranks) {
        MPI_CHECK(MPI_Bcast(error, (int)error_size, MPI_CHAR, first, MPI_COMM_WORLD));
    }
    return first == ranks;
}

int64_t group_share_faults(int64_t faults, char *text, size_t text_size) {
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &faults, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
    group_share_error(text, text_size);
    return faults;
}
