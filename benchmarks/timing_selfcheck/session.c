#include "session.h"

#include "fail.h"
#include "fail_mpi.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>

struct session_point session_open_point(const char *section) {
    struct session_point point = {.parameters = json_line_create(), .own = json_line_create()};
    point.record.interval_relative_reached = NAN;
    json_open_object(point.parameters, NULL);
    json_put_string(point.parameters, "section", section);
    json_open_object(point.own, NULL);
    return point;
}

bool session_write_point(struct session *session, struct session_point *point) {
    json_close_object(point->parameters);
    json_close_object(point->own);
    point->record.parameters = json_line_text(point->parameters);
    point->record.own = json_line_text(point->own);
    if (session->program->rank == 0 && !record_write_point(session->program->record, &point->record)) {
        session->unwritable = true;
        snprintf(session->reason, sizeof session->reason, "%s", record_error(session->program->record));
    }
    json_line_destroy(point->parameters);
    json_line_destroy(point->own);
    return program_agree(!session->unwritable);
}

bool session_prints(const struct session *session) {
    return program_prints(session->program);
}

void session_reduce_largest(const struct session *session, int64_t *numbers, size_t count) {
    while (count > 0) {
        int part = count < INT_MAX / 2 ? (int)count : INT_MAX / 2;
        MPI_CHECK(MPI_Reduce(session->program->rank == 0 ? MPI_IN_PLACE : numbers,
                             session->program->rank == 0 ? numbers : NULL, part, MPI_INT64_T, MPI_MAX, 0,
                             MPI_COMM_WORLD));
        numbers += part;
        count -= (size_t)part;
    }
}
