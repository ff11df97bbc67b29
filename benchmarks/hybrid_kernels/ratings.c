#include "ratings.h"

#include "fail.h"
#include "philox.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Purposes of streams of random numbers; those of the sampler begin at 16. */
enum { OF_ROW_FACTORS, OF_COLUMN_FACTORS, OF_PLACES, OF_NOISE, OF_TEST };

enum { TESTS = 10, MOST_NAME = 256 };

static int by_place(const void *left, const void *right) {
    const struct rating *a = left;
    const struct rating *b = right;
    return a->row != b->row ? (a->row > b->row) - (a->row < b->row) : (a->column > b->column) - (a->column < b->column);
}

void ratings_free(struct ratings *r) {
    free(r->items);
    *r = (struct ratings){0};
}

bool ratings_tests(uint64_t seed, int32_t row, int32_t column) {
    struct philox_stream stream = philox_stream_of(seed, OF_TEST, (uint32_t)row, (uint32_t)column);
    return philox_below(&stream, TESTS) == 0;
}

/* ---- Matrix Market ---- */

/* A file that is read line by line. */
struct reading {
    FILE *file;
    const char *path;
    char *line;
    size_t size;
    int64_t number; /* of the line, from 1 */
    int problem;    /* of the operating system: an errno; 0 without */
    char *error;
    size_t error_size;
};

/* Always returns false. */
static bool refuse(const struct reading *in, const char *what) {
    snprintf(in->error, in->error_size, "--ratings: %.*s, line %" PRId64 ": %s", MOST_NAME, in->path, in->number, what);
    return false;
}

/* Reads the next line. Returns false at the end of the file, and where it cannot be read. */
static bool next_line(struct reading *in) {
    errno = 0;
    if (getline(&in->line, &in->size, in->file) < 0) {
        in->problem = ferror(in->file) ? errno : 0;
        return false;
    }
    in->number++;
    return true;
}

/* Reads the next line that is no comment and not blank. */
static bool next_filled(struct reading *in) {
    while (next_line(in)) {
        if (in->line[0] != '%' && in->line[strspn(in->line, " \t\r\n")] != '\0') {
            return true;
        }
    }
    return false;
}

/* Reads a whole number from 1 to most, and moves *at behind it. */
static bool read_whole(char **at, int64_t most, int64_t *value) {
    char *after = NULL;
    errno = 0;
    const long long read = strtoll(*at, &after, 10);
    if (after == *at || errno != 0 || read < 1 || read > most || (*after != '\0' && !isspace((unsigned char)*after))) {
        return false;
    }
    *at = after;
    *value = read;
    return true;
}

static bool is_blank(const char *text) {
    return text[strspn(text, " \t\r\n")] == '\0';
}

static bool read_banner(struct reading *in) {
    char object[16];
    char format[16];
    char field[16];
    char symmetry[24];
    char rest[2];
    if (!next_line(in)) {
        return refuse(in, "the file is empty");
    }
    if (sscanf(in->line, "%%%%MatrixMarket %15s %15s %15s %23s %1s", object, format, field, symmetry, rest) != 4) {
        return refuse(in, "it must be '%%MatrixMarket matrix coordinate real general'");
    }
    if (strcasecmp(object, "matrix") != 0 || strcasecmp(format, "coordinate") != 0 ||
        (strcasecmp(field, "real") != 0 && strcasecmp(field, "integer") != 0) || strcasecmp(symmetry, "general") != 0) {
        return refuse(in, "only 'matrix coordinate real general' and 'matrix coordinate integer general' can be read");
    }
    return true;
}

static bool read_sizes(struct reading *in, int64_t *rows, int64_t *columns, int64_t *entries) {
    if (!next_filled(in)) {
        return refuse(in, "the file is truncated: the line with rows, columns and entries is missing");
    }
    char *at = in->line;
    if (!read_whole(&at, INT32_MAX, rows) || !read_whole(&at, INT32_MAX, columns) ||
        !read_whole(&at, INT_MAX, entries) || !is_blank(at)) {
        return refuse(in, "it must have the numbers of rows, columns and entries, each from 1 to 2147483647");
    }
    return true;
}

static bool read_entry(struct reading *in, int64_t rows, int64_t columns, struct rating *entry) {
    char what[160];
    char *at = in->line;
    char *after = NULL;
    int64_t row = 0;
    int64_t column = 0;
    if (!read_whole(&at, rows, &row)) {
        snprintf(what, sizeof what, "the row must be a whole number from 1 to %" PRId64, rows);
        return refuse(in, what);
    }
    if (!read_whole(&at, columns, &column)) {
        snprintf(what, sizeof what, "the column must be a whole number from 1 to %" PRId64, columns);
        return refuse(in, what);
    }
    const double value = strtod(at, &after);
    if (after == at || !isfinite(value) || !is_blank(after)) {
        return refuse(in, "the third word must be a finite number, and the last one");
    }
    *entry = (struct rating){(int32_t)(row - 1), (int32_t)(column - 1), value};
    return true;
}

/* Reads the entries. The memory grows with them: the number that the file says may be wrong. */
static bool read_entries(struct reading *in, int64_t entries, struct ratings *r) {
    size_t room = 0;
    while (r->count < (size_t)entries) {
        if (!next_filled(in)) {
            char what[160];
            snprintf(what, sizeof what, "the file is truncated: it has %zu of %" PRId64 " entries", r->count, entries);
            return refuse(in, what);
        }
        if (r->count == room) {
            room = room > 0 ? 2 * room : 1024;
            r->items = fail_realloc(r->items, room, sizeof *r->items);
        }
        if (!read_entry(in, r->rows, r->columns, &r->items[r->count])) {
            return false;
        }
        r->count++;
    }
    return !next_filled(in) || refuse(in, "there are more entries than the file says");
}

static bool check_places(const struct reading *in, const struct ratings *r) {
    for (size_t i = 1; i < r->count; i++) {
        if (by_place(&r->items[i - 1], &r->items[i]) == 0) {
            snprintf(in->error, in->error_size, "--ratings: %.*s: row %d, column %d is there twice", MOST_NAME,
                     in->path, r->items[i].row + 1, r->items[i].column + 1);
            return false;
        }
    }
    return true;
}

static bool read_all(struct reading *in, struct ratings *r) {
    int64_t rows = 0;
    int64_t columns = 0;
    int64_t entries = 0;
    if (!read_banner(in) || !read_sizes(in, &rows, &columns, &entries)) {
        return false;
    }
    r->rows = (int32_t)rows;
    r->columns = (int32_t)columns;
    if (!read_entries(in, entries, r)) {
        return false;
    }
    qsort(r->items, r->count, sizeof *r->items, by_place);
    return check_places(in, r);
}

bool ratings_read(const char *path, struct ratings *r, char *error, size_t error_size) {
    struct reading in = {.file = fopen(path, "r"), .path = path, .error = error, .error_size = error_size};
    *r = (struct ratings){0};
    if (in.file == NULL) {
        snprintf(error, error_size, "--ratings: %.*s: %s", MOST_NAME, path, strerror(errno));
        return false;
    }
    const bool good = read_all(&in, r) && in.problem == 0;
    if (in.problem != 0) {
        snprintf(error, error_size, "--ratings: %.*s: %s", MOST_NAME, path, strerror(in.problem));
    }
    if (!good) {
        ratings_free(r);
    }
    free(in.line);
    fclose(in.file);
    return good;
}

/* ---- generated ---- */

static double factor_product(uint64_t seed, uint32_t row, uint32_t column) {
    struct philox_stream left = philox_stream_of(seed, OF_ROW_FACTORS, row, 0);
    struct philox_stream right = philox_stream_of(seed, OF_COLUMN_FACTORS, column, 0);
    double sum = 0;
    for (int k = 0; k < RATINGS_RANK; k++) {
        sum += philox_normal(&left) * philox_normal(&right);
    }
    return sum;
}

/* Fills in the columns of a row's ratings, all different. taken: [rows], the last row in which a column was taken. */
static void choose_columns(struct rating *items, int32_t count, int32_t row, int32_t rows, int32_t *taken,
                           uint64_t seed) {
    struct philox_stream stream = philox_stream_of(seed, OF_PLACES, (uint32_t)row, 0);
    for (int32_t i = 0; i < count; i++) {
        int32_t column = count == rows ? i : (int32_t)philox_below(&stream, (uint32_t)rows);
        while (taken[column] == row) {
            column = (column + 1) % rows;
        }
        taken[column] = row;
        items[i].row = row;
        items[i].column = column;
    }
}

void ratings_generate(struct ratings *r, int32_t rows, double noise, uint64_t seed) {
    const int32_t per_row = rows < RATINGS_PER_ROW ? rows : RATINGS_PER_ROW;
    int32_t *taken = fail_alloc((size_t)rows, sizeof *taken);
    *r = (struct ratings){.rows = rows, .columns = rows, .count = (size_t)rows * (size_t)per_row};
    r->items = fail_alloc(r->count, sizeof *r->items);
    memset(taken, 0xff, (size_t)rows * sizeof *taken);
    for (int32_t row = 0; row < rows; row++) {
        struct rating *items = r->items + (size_t)row * (size_t)per_row;
        choose_columns(items, per_row, row, rows, taken, seed);
        qsort(items, (size_t)per_row, sizeof *items, by_place);
        for (int32_t i = 0; i < per_row; i++) {
            struct philox_stream stream = philox_stream_of(seed, OF_NOISE, (uint32_t)row, (uint32_t)items[i].column);
            items[i].value =
                factor_product(seed, (uint32_t)row, (uint32_t)items[i].column) + noise * philox_normal(&stream);
        }
    }
    free(taken);
}
