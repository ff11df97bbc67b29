/* Stands for OSU's programs where there are none: what it does depends on what it is called.
 *
 * osu_ibcast prints a row as OSU 7 does, of times that it does not measure; osu_iallgather prints what is not OSU's;
 * osu_iallreduce is killed before it prints its row, the first time that it is launched in a folder. All of them start
 * MPI, and communicate once.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    const char *name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
    long bytes = 0;
    int rank;
    for (int i = 1; i + 1 < argc; i++) {
        if (strcmp(argv[i], "-m") == 0) {
            bytes = strtol(argv[i + 1], NULL, 10);
        }
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0 && strcmp(name, "osu_iallgather") == 0) {
        printf("%ld bottles of beer\n", bytes);
    } else if (rank == 0) {
        printf("\n# OSU MPI Non-blocking Broadcast Latency Test v7.4\n"
               "# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait\n\n# Datatype: MPI_CHAR.\n"
               "%-10s%18s%18s%18s%18s\n",
               "# Size", "Overall(us)", "Compute(us)", "Pure Comm.(us)", "Overlap(%)");
        fflush(stdout);
    }
    FILE *launched = strcmp(name, "osu_iallreduce") == 0 && rank == 0 ? fopen("launched", "wx") : NULL;
    if (launched != NULL) {
        raise(SIGKILL);
    }
    if (rank == 0 && strcmp(name, "osu_iallgather") != 0) {
        printf("%-10ld%18.2f%18.2f%18.2f%18.2f\n", bytes, 120.0, 100.0, 100.0, 80.0);
    }
    MPI_Finalize();
    return 0;
}
