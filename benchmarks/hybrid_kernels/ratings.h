/*
 * ratings - a sparse matrix of ratings: read from a file in the Matrix Market format, or generated from known factors.
 *
 * No MPI.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rating {
    int32_t row; /* from 0, as column */
    int32_t column;
    double value;
};

struct ratings {
    int32_t rows;
    int32_t columns;
    size_t count;
    struct rating *items; /* [count], by rows, then columns */
};

/* Each row of a generated matrix has so many ratings. */
enum { RATINGS_PER_ROW = 40, RATINGS_RANK = 4 };

/*
 * Reads a file: "%%MatrixMarket matrix coordinate real general" or "... integer general", comments, a line with rows,
 * columns and entries, then the entries, whose indices begin at 1. Returns false and one line in error where the file
 * cannot be read, is of another kind, is truncated, has more entries than it says, an entry twice, an index out of
 * range, or a value that is not finite. *r is then empty.
 */
bool ratings_read(const char *path, struct ratings *r, char *error, size_t error_size);

/*
 * Makes a square matrix of so many rows from factors of RATINGS_RANK normal numbers per row and per column: each row
 * has RATINGS_PER_ROW ratings in different columns (all columns where there are fewer), each the scalar product of its
 * factors and a normal error of standard deviation `noise`.
 */
void ratings_generate(struct ratings *r, int32_t rows, double noise, uint64_t seed);

void ratings_free(struct ratings *r);

/* Returns whether a rating is left out of the fit and tests it: one of ten, by its place and the seed. */
bool ratings_tests(uint64_t seed, int32_t row, int32_t column);
