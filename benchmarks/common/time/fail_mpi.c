#include "fail_mpi.h"

#include "fail.h"

#include <string.h>

static void abort_group(int exit_code) {
    MPI_Abort(MPI_COMM_WORLD, exit_code);
}

void fail_mpi_setup(const char *program, int rank) {
    fail_setup(program, rank, abort_group);
    MPI_CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MPI_CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
}

void fail_mpi_check(int code, const char *call, const char *file, int line) {
    if (code == MPI_SUCCESS) {
        return;
    }
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) {
        strcpy(text, "unknown error");
    }
    char cause[MPI_MAX_ERROR_STRING] = "";
    fail_cause(text, cause, sizeof cause);
    const char *base = strrchr(file, '/');
    int name_length = (int)strcspn(call, "(");
    fail_die("%.*s failed: %s (%s:%d)", name_length, call, cause, base != NULL ? base + 1 : file, line);
}
