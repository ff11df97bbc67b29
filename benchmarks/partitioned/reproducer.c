#include "reproducer.h"

#include "fail.h"
#include "file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The program, but for its first lines, which define what differs. */
static const char program_text[] =
    "#include <mpi.h>\n"
    "#include <stdint.h>\n"
    "#include <stdio.h>\n"
    "#include <stdlib.h>\n"
    "\n"
    "static uint64_t buffer[WORDS];\n"
    "\n"
    "static uint64_t expected(int iteration, size_t word) {\n"
    "    return (uint64_t)(iteration + 1) << 32 | word;\n"
    "}\n"
    "\n"
    "/* Returns how many of the words [first, end) are not those of this iteration. */\n"
    "static size_t wrong(int iteration, size_t first, size_t end) {\n"
    "    size_t count = 0;\n"
    "    for (size_t i = first; i < end; i++) {\n"
    "        count += buffer[i] != expected(iteration, i);\n"
    "    }\n"
    "    return count;\n"
    "}\n"
    "\n"
    "static void compute(double seconds) {\n"
    "    for (double begin = MPI_Wtime(); MPI_Wtime() - begin < seconds;) {\n"
    "    }\n"
    "}\n"
    "\n"
    "static void send_all(int iteration, MPI_Request *request) {\n"
    "    for (size_t i = 0; i < WORDS; i++) {\n"
    "        buffer[i] = expected(iteration, i);\n"
    "    }\n"
    "    MPI_Start(request);\n"
    "    for (int i = 0; i < SEND_PARTITIONS; i++) {\n"
    "        if (i == SEND_PARTITIONS - 1) {\n"
    "            compute(DELAY_SECONDS);\n"
    "        }\n"
    "        MPI_Pready(i, *request);\n"
    "    }\n"
    "    MPI_Wait(request, MPI_STATUS_IGNORE);\n"
    "}\n"
    "\n"
    "static size_t receive_all(int iteration, MPI_Request *request) {\n"
    "    const size_t words = WORDS / RECEIVE_PARTITIONS;\n"
    "    size_t faults = 0;\n"
    "    MPI_Start(request);\n"
    "    for (int i = 0; ASKS && i < RECEIVE_PARTITIONS; i++) {\n"
    "        int there = 0;\n"
    "        while (!there) {\n"
    "            MPI_Parrived(*request, i, &there);\n"
    "        }\n"
    "        const size_t count = wrong(iteration, i * words, (i + 1) * words);\n"
    "        if (count > 0) {\n"
    "            printf(\"iteration %d: MPI_Parrived said yes for partition %d, %zu of its %zu words are wrong\\n\", "
    "iteration, i,\n"
    "                   count, words);\n"
    "        }\n"
    "        faults += count;\n"
    "    }\n"
    "    MPI_Wait(request, MPI_STATUS_IGNORE);\n"
    "    const size_t count = wrong(iteration, 0, WORDS);\n"
    "    if (count > 0) {\n"
    "        printf(\"iteration %d: after MPI_Wait %zu of %d words are wrong\\n\", iteration, count, WORDS);\n"
    "    }\n"
    "    return faults + count;\n"
    "}\n"
    "\n"
    "int main(int argc, char **argv) {\n"
    "    int level = 0, rank = 0, size = 0;\n"
    "    MPI_Request request;\n"
    "    size_t faults = 0;\n"
    "    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);\n"
    "    MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n"
    "    MPI_Comm_size(MPI_COMM_WORLD, &size);\n"
    "    if (size != 2) {\n"
    "        fprintf(stderr, \"start 2 ranks\\n\");\n"
    "        MPI_Abort(MPI_COMM_WORLD, 2);\n"
    "    }\n"
    "    if (rank == 0) {\n"
    "        MPI_Psend_init(buffer, SEND_PARTITIONS, WORDS / SEND_PARTITIONS, MPI_UINT64_T, 1, 0, MPI_COMM_WORLD,\n"
    "                       MPI_INFO_NULL, &request);\n"
    "    } else {\n"
    "        MPI_Precv_init(buffer, RECEIVE_PARTITIONS, WORDS / RECEIVE_PARTITIONS, MPI_UINT64_T, 0, 0, "
    "MPI_COMM_WORLD,\n"
    "                       MPI_INFO_NULL, &request);\n"
    "    }\n"
    "    for (int i = 0; i < ITERATIONS; i++) {\n"
    "        if (rank == 0) {\n"
    "            send_all(i, &request);\n"
    "        } else {\n"
    "            faults += receive_all(i, &request);\n"
    "        }\n"
    "        MPI_Barrier(MPI_COMM_WORLD);\n"
    "    }\n"
    "    MPI_Request_free(&request);\n"
    "    MPI_Finalize();\n"
    "    if (rank == 1) {\n"
    "        printf(\"%s\\n\", faults == 0 ? \"all data are right\" : \"wrong data\");\n"
    "    }\n"
    "    return faults != 0;\n"
    "}\n";

bool reproducer_write(const char *path, const struct reproducer *r, char *error, size_t error_size) {
    enum { ITERATIONS = 200, MOST_HEAD = 1024 };
    const size_t size = sizeof program_text + MOST_HEAD;
    char cause[256];
    char *text = fail_alloc(size, 1);
    const int head = snprintf(text, MOST_HEAD,
                              "/* Found by partitioned: %.400s\n"
                              "   Build: mpicc reproducer.c; run: mpiexec -n 2 ./a.out; exit code 1: wrong data. */\n"
                              "#define WORDS %zu\n"
                              "#define SEND_PARTITIONS %zu\n"
                              "#define RECEIVE_PARTITIONS %zu\n"
                              "#define ASKS %d\n"
                              "#define DELAY_SECONDS %.9f\n"
                              "#define ITERATIONS %d\n",
                              r->found, r->words, r->send_partitions, r->receive_partitions, r->asks,
                              (double)r->delay_ns / 1e9, ITERATIONS);
    snprintf(text + head, size - (size_t)head, "%s", program_text);
    const bool good = file_replace(path, text, strlen(text), cause, sizeof cause);
    if (!good) {
        snprintf(error, error_size, "the reproducer '%s' cannot be written: %s", path, cause);
    }
    free(text);
    return good;
}
