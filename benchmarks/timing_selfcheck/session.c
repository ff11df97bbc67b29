#include "session.h"

#include "fail.h"
#include "fail_mpi.h"

#include <limits.h>
#include <stdio.h>

bool session_write(struct session *session, enum record_kind kind, const json_line *line) {
    if (session->program->rank == 0 && !record_write_text(session->program->record, kind, json_line_text(line))) {
        session->unwritable = true;
        snprintf(session->reason, sizeof session->reason, "%s", record_error(session->program->record));
    }
    return program_agree(!session->unwritable);
}

bool session_prints(const struct session *session) {
    return program_prints(session->program);
}

void session_reduce_largest(const struct session *session, int64_t *numbers, size_t count) {
    while (count > 0) {
        int part = count < INT_MAX / 2 ? (int)count : INT_MAX / 2;
        MPI_CHECK(MPI_Reduce(session->program->rank == 0 ? MPI_IN_PLACE : numbers, session->program->rank == 0 ? numbers : NULL, part, MPI_INT64_T, MPI_MAX, 0,
                             MPI_COMM_WORLD));
        numbers += part;
        count -= (size_t)part;
    }
}
