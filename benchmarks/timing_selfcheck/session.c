#include "session.h"

#include "fail_mpi.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const struct field session_plan_fields[] = {
    FIELD(struct settings, hold_seconds, "clock: after so long the residual is measured again"),
    FIELD(struct settings, starts, "start: the number of starts of each method"),
    FIELD(struct settings, noise_seconds, "noise: how long all threads read the timer"),
    FIELD(struct settings, detour_ns, "noise: a gap between two readings of the timer above this is a detour"),
    FIELDS_END,
};

bool session_write_point(struct session *session, const struct sampler_kind *kind, const void *row,
                         struct record_point record) {
    if (session->program->rank == 0) {
        char *parameters = fields_text(kind->parameters, row);
        char *own = fields_text(kind->own, row);
        record.parameters = parameters;
        record.own = own;
        record.interval_relative_reached = NAN;
        if (!record_write_point(session->program->record, &record)) {
            session->unwritable = true;
            snprintf(session->reason, sizeof session->reason, "%s", record_error(session->program->record));
        }
        free(parameters);
        free(own);
    }
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
