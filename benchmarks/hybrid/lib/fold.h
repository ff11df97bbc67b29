/*
 * fold - reduces rows of a node's memory in their order: row 0 op (row 1 op (... op the last row)).
 */
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

struct fold {
    const char *rows;
    size_t stride; /* bytes from one row to the next */
    int count;     /* rows */
    size_t element_bytes;
    MPI_Datatype type;
    MPI_Op op;
    bool apart; /* the result is none of the rows */
};

/* Reduces the elements begin ... end - 1 of all rows into the same elements of result, which may be one of the rows
 * unless `apart`. Returns an MPI error code. */
int fold_rows(const struct fold *fold, size_t begin, size_t end, char *result);
