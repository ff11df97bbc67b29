/* What a library tells of an error, as MPICH, Intel MPI and Open MPI did. */
#include "check.h"
#include "fail.h"

static void check_cause(const char *text, const char *expected) {
    char cause[256];
    fail_cause(text, cause, sizeof cause);
    CHECK_TEXT(cause, expected);
}

int main(void) {
    check_cause("Unknown error class, error stack:\n"
                "internal_Iallgather(6580).....................: MPI_Iallgather(sendbuf=0x7f7d8917f040) failed\n"
                "MPIDI_Iallgather_intra_composition_alpha(4585): \n"
                "MPIDI_NM_mpi_iallgather(1321).................:  \n"
                "MPIDU_Sched_start(692)........................: Out of memory",
                "Out of memory");
    check_cause("Invalid count, error stack:\n"
                "internal_Send(55627): MPI_Send(buf=0x1, count=-1) failed\n"
                "internal_Send(55562): Negative count, value is -1\n",
                "Negative count, value is -1");
    check_cause("Other MPI error, error stack:\nPMPI_Send(1): MPI_Send(buf=0x1) failed\n",
                "Other MPI error, error stack:\nPMPI_Send(1): MPI_Send(buf=0x1) failed\n");
    check_cause("Other MPI error, error stack:\n"
                "internal_Init(43633).......: MPI_Init(argc=0x7ffd775b226c, argv=0x7ffd775b2260) failed\n"
                "MPII_Init_thread(175)......:\n"
                "MPID_Init_async_thread(724): MPID_Thread_create failed\n"
                "(unknown)(): Other MPI error",
                "MPID_Thread_create failed");
    check_cause("MPI_ERR_COUNT: invalid count argument", "MPI_ERR_COUNT: invalid count argument");
    check_cause("", "");
    return 0;
}
