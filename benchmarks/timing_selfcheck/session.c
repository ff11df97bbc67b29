#include "session.h"

#include "fail.h"
#include "fail_mpi.h"

#include <limits.h>
#include <stdio.h>

bool session_agree(bool good) {
    int verdict = good;
    MPI_CHECK(MPI_Bcast(&verdict, 1, MPI_INT, 0, MPI_COMM_WORLD));
    return verdict != 0;
}

bool session_all_good(const char *error) {
    char text[1024] = "";
    int rank = 0;
    int ranks = 0;
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    int first = error[0] != '\0' ? rank : ranks;
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    if (first == ranks) {
        return true;
    }
    snprintf(text, sizeof text, "%s", error);
    MPI_CHECK(MPI_Bcast(text, sizeof text, MPI_CHAR, first, MPI_COMM_WORLD));
    if (rank == 0) {
        fail_report("%s", text);
    }
    return false;
}

bool session_write(struct session *session, const json_line *line) {
    if (session->rank == 0 && !record_write_text(session->record, json_line_text(line))) {
        session->unwritable = true;
        snprintf(session->reason, sizeof session->reason, "%s", record_error(session->record));
    }
    return session_agree(!session->unwritable);
}

bool session_prints(const struct session *session) {
    return session->rank == 0 && !session->settings->quiet;
}

void session_reduce_largest(const struct session *session, int64_t *numbers, size_t count) {
    while (count > 0) {
        int part = count < INT_MAX / 2 ? (int)count : INT_MAX / 2;
        MPI_CHECK(MPI_Reduce(session->rank == 0 ? MPI_IN_PLACE : numbers, session->rank == 0 ? numbers : NULL, part, MPI_INT64_T, MPI_MAX, 0,
                             MPI_COMM_WORLD));
        numbers += part;
        count -= (size_t)part;
    }
}
